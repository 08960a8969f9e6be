# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch


def gradient_norm(p, make):
    """What torch.nn.utils.clip_grad_norm_ does before it multiplies: the norm, and the factor."""
    grads = [make.tensor(n) for n in p["list"] if n > 0]

    def call():
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, 2.0)))
        return norm, torch.clamp(1.0 / (norm + 1e-6), max=1.0)

    return call
