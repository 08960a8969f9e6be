# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch


def gemm_forward(p, make):
    s = p["sizes"]
    return product(p, make, (s["m"], s["k"]), (s["k"], s["n"]), lambda a, b: a @ b)


def gemm_grad_a(p, make):
    s = p["sizes"]
    return product(p, make, (s["m"], s["n"]), (s["k"], s["n"]), lambda dc, b: dc @ b.T)


def gemm_grad_b(p, make):
    s = p["sizes"]
    return product(p, make, (s["m"], s["n"]), (s["m"], s["k"]), lambda dc, a: a.T @ dc)


def product(p, make, left, right, multiply):
    a, b = make.tensor(*left), make.tensor(*right)
    if not make.gpu:
        return lambda: multiply(a, b)
    seconds, host = make.times(lambda: multiply(a, b))
    a, b = make.tensor(*left, dtype=torch.float32), make.tensor(*right, dtype=torch.float32)
    single = make.times(lambda: multiply(a, b))[0]
    flops = 2 * p["sizes"]["m"] * p["sizes"]["n"] * p["sizes"]["k"]
    return {"seconds": seconds, "host_seconds": host,
            "remark": f"{p['type']} on tensor cores {flops / seconds / 1e12:.0f} TFLOP/s; "
                      f"f32 without TF32 {single * 1e6:.0f} us, {flops / single / 1e12:.1f} TFLOP/s"}
