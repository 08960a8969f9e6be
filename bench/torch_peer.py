# Times PyTorch's CPU operators on the problems given on standard input, one JSON object a line:
#   {"key": ..., "operator": ..., "sizes": {...}, "options": {...}, "list": [...], "type": "f16", "to": "f32", "spread": "uniform"}
# The first output line names the version; then one line a problem: {"key": ..., "seconds": ...} or an error.
#
# What is timed is in operators/FAMILY/peer.py, which lies beside this file as peer_FAMILY.py: a function
# FAMILY_OPERATOR(p, make) of the problem and a Make that returns the call to time, as a function of no arguments, or that
# and a remark where it is not the same work.
import importlib
import json
import sys
import time

import torch

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Make:
    """Tensors of a problem's type."""
    gpu = False

    def __init__(self, p):
        self.dtype = TYPES[p["type"]]

    def tensor(self, *shape, dtype=None):
        """Random normal data; large tensors repeat a million deviates."""
        count = 1
        for n in shape:
            count *= n
        block = torch.randn(min(count, 1 << 20)).to(dtype or self.dtype)
        return block.repeat(-(-count // block.numel()))[:count].reshape(shape)

    def indices(self, count, limit, spread):
        if spread == "equal":
            return torch.full((count,), limit // 3)
        u = torch.rand(count, dtype=torch.float64)
        v = u * limit if spread == "uniform" else torch.tensor(float(limit)).double() ** u - 1
        return v.long().clamp(0, limit - 1)

    def best_of(self, function, *arguments):
        """The call to time of a function that torch.compile could make faster: on a GPU it is asked to."""
        return lambda: function(*arguments)


def prepare(p):
    family, name = p["operator"].split(".")
    prepared = getattr(importlib.import_module(f"peer_{family}"), f"{family}_{name}")(p, Make(p))
    return prepared if isinstance(prepared, tuple) else (prepared, "")


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
