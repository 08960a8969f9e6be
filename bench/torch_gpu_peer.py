# Times PyTorch's operators on an NVIDIA GPU on the problems given on standard input, one JSON object a line:
#   {"key": ..., "operator": ..., "sizes": {...}, "options": {...}, "list": [...], "type": "f16", "to": "f32", "spread": "uniform"}
# Argument: the device's number. The first output line names the version; then one line a problem, with "seconds",
# "host_seconds" from a call to its return, "bytes" where the peer moves other bytes than we do, and a "remark"; or with an error.
#
# What is timed is in operators/FAMILY/peer.py, as torch_peer.py says. Here a function may also return the answer itself,
# a dictionary, where it has timed several calls by Make.times.
import importlib
import json
import sys
import time

import torch

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Make:
    """Tensors of a problem's type, on the device."""
    gpu = True

    def __init__(self, p):
        self.dtype = TYPES[p["type"]]

    def tensor(self, *shape, dtype=None):
        return torch.randn(shape, device="cuda", dtype=dtype or self.dtype)

    def indices(self, count, limit, spread):
        if spread == "equal":
            return torch.full((count,), limit // 3, device="cuda")
        u = torch.rand(count, dtype=torch.float64, device="cuda")
        v = u * limit if spread == "uniform" else float(limit) ** u - 1
        return v.long().clamp(0, limit - 1)

    def best_of(self, function, *arguments):
        """The faster of eager mode and what torch.compile makes of the function."""
        compiled = torch.compile(function)
        eager = self.times(lambda: function(*arguments))
        fused = self.times(lambda: compiled(*arguments))
        seconds, host = min(eager, fused)
        return {"seconds": seconds, "host_seconds": host,
                "remark": f"eager {eager[0] * 1e6:.0f} us, torch.compile {fused[0] * 1e6:.0f} us"}

    def times(self, call):
        """Each call between two events, none waited for; medians of 20 to 200 calls, about half a second: of the
        device's time, and of the host's until the call returns."""
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


def answer_to(p):
    family, name = p["operator"].split(".")
    make = Make(p)
    prepared = getattr(importlib.import_module(f"peer_{family}"), f"{family}_{name}")(p, make)
    if isinstance(prepared, dict):
        return prepared
    call, remark = prepared if isinstance(prepared, tuple) else (prepared, "")
    seconds, host = make.times(call)
    return {"seconds": seconds, "host_seconds": host, "remark": remark}


def main():
    torch.cuda.set_device(int(sys.argv[1]))
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps({"version": f"{torch.__version__} on {torch.cuda.get_device_name()}"}), flush=True)
    for line in sys.stdin:
        p = json.loads(line)
        try:
            answer = answer_to(p)
        except Exception as error:
            answer = {"error": str(error)[:200]}
        torch.cuda.empty_cache()
        print(json.dumps(dict(answer, key=p["key"])), flush=True)


main()
