# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch
import torch.nn.functional as F

aten = torch.ops.aten


def layernorm_forward(p, make):
    rows, cols = p["sizes"]["rows"], p["sizes"]["cols"]
    x, gamma, beta = make.tensor(rows, cols), make.tensor(cols), make.tensor(cols)
    if make.gpu:
        return lambda: aten.native_layer_norm(x, [cols], gamma, beta, 1e-5)
    return lambda: F.layer_norm(x, (cols,), gamma, beta, 1e-5)


def layernorm_backward(p, make):
    rows, cols = p["sizes"]["rows"], p["sizes"]["cols"]
    dy, x, gamma = make.tensor(rows, cols), make.tensor(rows, cols), make.tensor(cols)
    _, mean, rstd = aten.native_layer_norm(x, [cols], gamma, gamma, 1e-5)
    return lambda: aten.native_layer_norm_backward(dy, x, [cols], mean, rstd, gamma, gamma, [True] * 3)
