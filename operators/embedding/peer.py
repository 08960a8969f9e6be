# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch
import torch.nn.functional as F


def embedding_forward(p, make):
    s = p["sizes"]
    weight, index = make.tensor(s["vocab"], s["dim"]), make.indices(s["queries"], s["vocab"], p["spread"])
    return lambda: F.embedding(index, weight)


def embedding_backward(p, make):
    s = p["sizes"]
    dy, index = make.tensor(s["queries"], s["dim"]), make.indices(s["queries"], s["vocab"], p["spread"])
    return lambda: torch.ops.aten.embedding_dense_backward(dy, index, s["vocab"], -1, False)
