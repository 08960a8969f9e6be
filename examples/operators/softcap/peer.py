# PyTorch's way to the same work, for tokitai bench --peer torch.
import torch


def tensors(p, make, count):
    return [make.tensor(p["sizes"]["rows"], p["sizes"]["cols"]) for _ in range(count)]


def softcap_forward(p, make):
    return make.best_of(lambda x: 50 * torch.tanh(x / 50), *tensors(p, make, 1))


def softcap_backward(p, make):
    return make.best_of(lambda dy, x: dy * (1 - torch.tanh(x / 50) ** 2), *tensors(p, make, 2))
