# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it. With a residual it adds first,
# as PyTorch has no operator of both; on a GPU torch.compile fuses the two.
import torch
import torch.nn.functional as F


def rmsnorm_forward(p, make):
    rows, cols = p["sizes"]["rows"], p["sizes"]["cols"]
    x, gamma = make.tensor(rows, cols), make.tensor(cols)
    if not p.get("optional"):
        return lambda: F.rms_norm(x, (cols,), gamma, 1e-5)
    residual = make.tensor(rows, cols)

    def both(x, residual, gamma):
        total = x + residual
        return total, F.rms_norm(total, (cols,), gamma, 1e-5)

    if make.gpu:
        both = torch.compile(both)
    return lambda: both(x, residual, gamma)


def rmsnorm_backward(p, make):
    rows, cols = p["sizes"]["rows"], p["sizes"]["cols"]
    dy, x, gamma = make.tensor(rows, cols), make.tensor(rows, cols).requires_grad_(), make.tensor(cols).requires_grad_()
    y = F.rms_norm(x, (cols,), gamma, 1e-5)
    if not p.get("optional"):
        return lambda: torch.autograd.grad(y, (x, gamma), dy, retain_graph=True)
    dsum = make.tensor(rows, cols)

    def both():
        dx, dgamma = torch.autograd.grad(y, (x, gamma), dy, retain_graph=True)
        return dx.add_(dsum), dgamma

    return both
