# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def cast_forward(p, make):
    to = TYPES[p.get("to", p["type"])]
    return make.best_of(lambda x: x.to(to, copy=True), make.tensor(p["sizes"]["rows"], p["sizes"]["cols"]))
