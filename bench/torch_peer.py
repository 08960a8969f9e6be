# Times PyTorch's CPU operators on the problems given on standard input, one JSON object a line:
#   {"key": ..., "operator": ..., "sizes": {...}, "list": [...], "type": "f16", "spread": "uniform"}
# The first output line names the version; then one line a problem: {"key": ..., "seconds": ...} or an error.
import json
import sys
import time

import torch
import torch.nn.functional as F

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def tensor(*shape, dtype):
    """Random normal data; large tensors repeat a million deviates."""
    count = 1
    for n in shape:
        count *= n
    block = torch.randn(min(count, 1 << 20)).to(dtype)
    return block.repeat(-(-count // block.numel()))[:count].reshape(shape)


def indices(count, limit, spread):
    if spread == "equal":
        return torch.full((count,), limit // 3)
    u = torch.rand(count, dtype=torch.float64)
    v = u * limit if spread == "uniform" else torch.tensor(float(limit)).double() ** u - 1
    return v.long().clamp(0, limit - 1)


def prepare(p):
    """The call to time, as a function of no arguments, and a remark where it is not the same work."""
    s, dtype, op = p["sizes"], TYPES[p["type"]], p["operator"]
    t = lambda *shape: tensor(*shape, dtype=dtype)
    aten = torch.ops.aten
    if op == "layernorm.forward":
        x, g, b = t(s["rows"], s["cols"]), t(s["cols"]), t(s["cols"])
        return lambda: F.layer_norm(x, (s["cols"],), g, b, 1e-5), ""
    if op == "layernorm.backward":
        dy, x, g = t(s["rows"], s["cols"]), t(s["rows"], s["cols"]), t(s["cols"])
        _, mean, rstd = aten.native_layer_norm(x, [s["cols"]], g, g, 1e-5)
        return lambda: aten.native_layer_norm_backward(dy, x, [s["cols"]], mean, rstd, g, g, [True] * 3), ""
    if op == "softmax.forward":
        x = t(s["rows"], s["cols"])
        return lambda: torch.softmax(x, -1), ""
    if op == "softmax.backward":
        dy, y = t(s["rows"], s["cols"]), torch.softmax(t(s["rows"], s["cols"]), -1)
        return lambda: aten._softmax_backward_data(dy, y, -1, dtype), ""
    if op == "cross_entropy.forward_backward":
        x = t(s["rows"], s["cols"]).requires_grad_()
        labels = indices(s["rows"], s["cols"], "uniform")

        def both():
            x.grad = None
            F.cross_entropy(x, labels).backward()

        return both, ""
    if op == "embedding.forward":
        weight, index = t(s["vocab"], s["dim"]), indices(s["queries"], s["vocab"], p["spread"])
        return lambda: F.embedding(index, weight), ""
    if op == "embedding.backward":
        dy, index = t(s["queries"], s["dim"]), indices(s["queries"], s["vocab"], p["spread"])
        return lambda: aten.embedding_dense_backward(dy, index, s["vocab"], -1, False), ""
    if op == "adamw.step":
        parameters = [torch.nn.Parameter(t(n)) for n in p["list"]]
        for parameter in parameters:
            parameter.grad = t(parameter.numel()).to(dtype)
        optimizer = torch.optim.AdamW(parameters, fused=True)
        optimizer.step()
        moment = next(iter(optimizer.state.values()))["exp_avg"]
        element = parameters[0].element_size()  # read and written; so is each moment, and the gradient is read
        name = str(moment.dtype).replace("torch.bfloat", "bf").replace("torch.float", "f")
        return optimizer.step, (f"moments in {name}: {3 * element + 4 * moment.element_size()} bytes a parameter; "
                                f"ours in f32: {3 * element + 16}")
    if op == "gemm.forward":
        a, b = t(s["m"], s["k"]), t(s["k"], s["n"])
        return lambda: a @ b, ""
    if op == "gemm.grad_a":
        dc, b = t(s["m"], s["n"]), t(s["k"], s["n"])
        return lambda: dc @ b.T, ""
    if op == "gemm.grad_b":
        dc, a = t(s["m"], s["n"]), t(s["m"], s["k"])
        return lambda: a.T @ dc, ""
    raise ValueError("no such operator in torch")


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(1)
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        p = json.loads(line)
        try:
            call, remark = prepare(p)
            call()
            seconds = []
            while len(seconds) < 5 or (sum(seconds) < 1 and len(seconds) < 50):
                begin = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - begin)
                if seconds[-1] > 20:
                    break
            answer = {"key": p["key"], "seconds": sorted(seconds)[len(seconds) // 2], "remark": remark}
        except Exception as error:
            answer = {"key": p["key"], "error": str(error)[:200]}
        print(json.dumps(answer), flush=True)


main()
