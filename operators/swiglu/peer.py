# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch
import torch.nn.functional as F


def swiglu_forward(p, make):
    shape = p["sizes"]["rows"], p["sizes"]["cols"]
    return make.best_of(lambda gate, up: F.silu(gate) * up, make.tensor(*shape), make.tensor(*shape))


def swiglu_backward(p, make):
    def backward(dh, gate, up):
        s = torch.sigmoid(gate)
        return dh * up * (s * (1 + gate * (1 - s))), dh * (gate * s)

    shape = p["sizes"]["rows"], p["sizes"]["cols"]
    return make.best_of(backward, *(make.tensor(*shape) for _ in range(3)))
