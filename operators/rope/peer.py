# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch


def arguments(p, make):
    s = p["sizes"]
    half = s["half"]
    x = make.tensor(s["tokens"], s["width"] // (2 * half), 2 * half)
    position = torch.arange(s["tokens"], device=x.device) % s["positions"]
    table = make.tensor(s["positions"], half, dtype=torch.float32)
    return x, table[position][:, None], table[position][:, None]


def turn(x, cos, sin):
    one, two = x.float().chunk(2, dim=-1)
    return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1).to(x.dtype)


def rope_forward(p, make):
    return make.best_of(turn, *arguments(p, make))


def rope_backward(p, make):
    return make.best_of(lambda dy, cos, sin: turn(dy, cos, -sin), *arguments(p, make))
