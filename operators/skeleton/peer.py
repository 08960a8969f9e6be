# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch.nn.functional as F


def skeleton_forward(p, make):
    x = make.tensor(p["sizes"]["rows"], p["sizes"]["cols"])
    return lambda: F.rms_norm(x, x.shape[1:], eps=1e-5)
