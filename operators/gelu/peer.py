# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch
import torch.nn.functional as F


def way(p):
    return "tanh" if dict(p.get("options", {})).get("tanh") == "1" else "none"


def gelu_forward(p, make):
    x = make.tensor(p["sizes"]["rows"], p["sizes"]["cols"])
    return make.best_of(lambda x: F.gelu(x, approximate=way(p)), x)


def gelu_backward(p, make):
    shape = p["sizes"]["rows"], p["sizes"]["cols"]
    return make.best_of(lambda dy, x: torch.ops.aten.gelu_backward(dy, x, approximate=way(p)), make.tensor(*shape),
                 make.tensor(*shape))
