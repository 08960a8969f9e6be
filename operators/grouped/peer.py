# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it: its grouped product where it
# has one for the device and the type, else one product per group, from sizes that the host knows.
import torch


def grouped_forward(p, make):
    s = p["sizes"]
    return products(p, make, make.tensor(s["m"], s["k"]), make.tensor(s["groups"], s["k"], s["n"]))


def grouped_grad_a(p, make):
    s = p["sizes"]
    return products(p, make, make.tensor(s["m"], s["n"]), make.tensor(s["groups"], s["k"], s["n"]).transpose(1, 2))


def grouped_grad_b(p, make):
    s = p["sizes"]
    return products(p, make, make.tensor(s["m"], s["k"]).T, make.tensor(s["m"], s["n"]))


def products(p, make, a, b):
    s = p["sizes"]
    owners = torch.arange(s["m"], device=a.device) * s["groups"] // s["m"]
    if p["spread"] != "equal":
        owners = make.indices(s["m"], s["groups"], p["spread"])
        owners -= (owners % 4 == 3).long()
    sizes = torch.bincount(owners, minlength=s["groups"])
    if make.gpu:
        grouped = getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm
        ends = sizes.cumsum(0).to(torch.int32)
        try:
            grouped(a, b, offs=ends)
            return lambda: grouped(a, b, offs=ends), "grouped_mm"
        except RuntimeError:
            pass
    counts = sizes.tolist()
    if b.dim() == 3:
        pairs = list(zip(a.split(counts), b))
    else:
        pairs = list(zip(a.split(counts, dim=1), b.split(counts)))
    return lambda: [x @ y for x, y in pairs], "a product per group"
