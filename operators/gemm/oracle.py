# What gemm must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import fma


def fma_chain(left, right):
    """out[i, j] = one chain over k of left[i, k] * right[k, j], from +0, k ascending."""
    out = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for k in range(left.shape[1]):
        out = fma(left[:, k, None], right[None, k], out)
    return out


def gemm_forward(storage, operands, options):
    a, b = storage.widen(operands["a"]), storage.widen(operands["b"])
    return {"c": storage.round(fma_chain(a, b))}


def gemm_grad_a(storage, operands, options):
    dc, b = storage.widen(operands["dc"]), storage.widen(operands["b"])
    return {"da": storage.round(fma_chain(dc, b.T))}


def gemm_grad_b(storage, operands, options):
    dc, a = storage.widen(operands["dc"]), storage.widen(operands["a"])
    return {"db": storage.round(fma_chain(a.T, dc))}


PROBLEMS = {
    "gemm.forward": lambda data: ({"a": data.storage(6, 40), "b": data.storage(40, 50)}, {}),
    "gemm.grad_a": lambda data: ({"dc": data.storage(6, 50), "b": data.storage(40, 50)}, {}),
    "gemm.grad_b": lambda data: ({"dc": data.storage(6, 50), "a": data.storage(6, 40)}, {}),
}
