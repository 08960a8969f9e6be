# Times PyTorch's operators on an NVIDIA GPU on the problems given on standard input, one JSON object a line:
#   {"key": ..., "operator": ..., "sizes": {...}, "list": [...], "type": "f16", "spread": "uniform"}
# Argument: the device's number. The first output line names the version; then one line a problem, with "seconds",
# "host_seconds" from a call to its return, "bytes" where the peer moves other bytes than we do, and a "remark"; or with an error.
import json
import sys
import time

import torch
import torch.nn.functional as F

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def tensor(*shape, dtype):
    return torch.randn(shape, device="cuda", dtype=dtype)


def indices(count, limit, spread):
    if spread == "equal":
        return torch.full((count,), limit // 3, device="cuda")
    u = torch.rand(count, dtype=torch.float64, device="cuda")
    v = u * limit if spread == "uniform" else float(limit) ** u - 1
    return v.long().clamp(0, limit - 1)


def median_times(call):
    """Each call between two events, none waited for; medians of 20 to 200 calls, about half a second: of the device's
    time, and of the host's until the call returns."""
    for _ in range(3):
        call()

    def timed(count):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        host = []
        events[0].record()
        for event in events[1:]:
            begin = time.perf_counter()
            call()
            host.append(time.perf_counter() - begin)
            event.record()
        torch.cuda.synchronize()
        times = sorted(a.elapsed_time(b) * 1e-3 for a, b in zip(events, events[1:]))
        return times[count // 2], sorted(host)[count // 2]

    return timed(max(20, min(200, int(0.5 / max(timed(3)[0], 1e-6)))))


def prepare(p):
    """The call to time, as a function of no arguments."""
    s, dtype, op = p["sizes"], TYPES[p["type"]], p["operator"]
    t = lambda *shape: tensor(*shape, dtype=dtype)
    aten = torch.ops.aten
    if op == "layernorm.forward":
        x, g, b = t(s["rows"], s["cols"]), t(s["cols"]), t(s["cols"])
        return lambda: aten.native_layer_norm(x, [s["cols"]], g, b, 1e-5)
    if op == "layernorm.backward":
        dy, x, g = t(s["rows"], s["cols"]), t(s["rows"], s["cols"]), t(s["cols"])
        _, mean, rstd = aten.native_layer_norm(x, [s["cols"]], g, g, 1e-5)
        return lambda: aten.native_layer_norm_backward(dy, x, [s["cols"]], mean, rstd, g, g, [True] * 3)
    if op == "softmax.forward":
        x = t(s["rows"], s["cols"])
        return lambda: aten._softmax(x, -1, False)
    if op == "softmax.backward":
        dy, y = t(s["rows"], s["cols"]), torch.softmax(t(s["rows"], s["cols"]), -1)
        return lambda: aten._softmax_backward_data(dy, y, -1, dtype)
    if op == "cross_entropy.forward_backward":
        x, labels = t(s["rows"], s["cols"]).requires_grad_(), indices(s["rows"], s["cols"], "uniform")
        return lambda: torch.autograd.grad(F.cross_entropy(x, labels), x)
    if op == "embedding.forward":
        weight, index = t(s["vocab"], s["dim"]), indices(s["queries"], s["vocab"], p["spread"])
        return lambda: F.embedding(index, weight)
    if op == "embedding.backward":
        dy, index = t(s["queries"], s["dim"]), indices(s["queries"], s["vocab"], p["spread"])
        return lambda: aten.embedding_dense_backward(dy, index, s["vocab"], -1, False)
    if op == "gemm.forward":
        a, b = t(s["m"], s["k"]), t(s["k"], s["n"])
        return lambda: a @ b
    if op == "gemm.grad_a":
        dc, b = t(s["m"], s["n"]), t(s["k"], s["n"])
        return lambda: dc @ b.T
    if op == "gemm.grad_b":
        dc, a = t(s["m"], s["n"]), t(s["m"], s["k"])
        return lambda: a.T @ dc
    raise ValueError("no such operator in torch")


def times_of(p):
    seconds, host = median_times(prepare(p))
    return {"seconds": seconds, "host_seconds": host}


def adamw(p):
    """Fused AdamW keeps its moments in the parameters' type: all of them in f16, then all of them in f32."""
    count, found, remarks = sum(p["list"]), [], []
    for name, dtype, bytes_each in (("f16", torch.float16, 14), ("f32", torch.float32, 28)):
        make = lambda: [tensor(n, dtype=dtype) for n in p["list"] if n > 0]
        theta, grads, m, v = make(), make(), make(), [x.abs_() for x in make()]
        steps = [torch.tensor(10.0, device="cuda") for _ in theta]
        call = lambda: torch._fused_adamw_(theta, grads, m, v, [], steps, lr=1e-3, beta1=0.9, beta2=0.999,
                                           weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False)
        seconds, host = median_times(call)
        rate = count * bytes_each / seconds
        found.append((rate, seconds, host, count * bytes_each))
        remarks.append(f"all {name}: {seconds * 1e6:.0f} us, {bytes_each} B per parameter, {rate / 1e9:.0f} GB/s")
        del theta, grads, m, v, steps, call
        torch.cuda.empty_cache()
    _, seconds, host, moved = max(found)
    return {"seconds": seconds, "host_seconds": host, "bytes": moved, "remark": "; ".join(remarks) + "; the ratio is that of GB/s"}


def gemm(p):
    s = p["sizes"]
    answer = times_of(p)
    seconds = median_times(prepare(dict(p, type="f32")))[0]
    flops = 2 * s["m"] * s["n"] * s["k"]
    answer["remark"] = (f"{p['type']} on tensor cores {flops / answer['seconds'] / 1e12:.0f} TFLOP/s; "
                        f"f32 without TF32 {seconds * 1e6:.0f} us, {flops / seconds / 1e12:.1f} TFLOP/s")
    return answer


def main():
    torch.cuda.set_device(int(sys.argv[1]))
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps({"version": f"{torch.__version__} on {torch.cuda.get_device_name()}"}), flush=True)
    for line in sys.stdin:
        p = json.loads(line)
        try:
            if p["operator"] == "adamw.step":
                answer = adamw(p)
            elif p["operator"].startswith("gemm."):
                answer = gemm(p)
            else:
                answer = times_of(p)
        except Exception as error:
            answer = {"error": str(error)[:200]}
        torch.cuda.empty_cache()
        print(json.dumps(dict(answer, key=p["key"])), flush=True)


main()
