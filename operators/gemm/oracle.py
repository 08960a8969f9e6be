# What gemm must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F16, fma

BLOCK = 128
GROUP = 16


def chain(left, right, out, storage):
    """One fma chain over k of left[i, k] * right[k, j], k ascending."""
    for k in range(left.shape[1]):
        out = fma(left[:, k, None], right[None, k], out)
    return out


def block_integers(x):
    """hi, lo and the power of two of rows of one block; NaN where a row holds what is no number."""
    x = x.astype(np.float64)
    top = np.abs(x).max(axis=1, keepdims=True)
    bad = ~(top < 2.0**64)  # a NaN, too
    exponent = np.maximum(np.frexp(np.where(bad | (top == 0), 1.0, top))[1] - 1, -63)
    q = np.clip(np.rint(np.ldexp(np.where(bad, 0.0, x), 13 - exponent)), -16383, 16383)
    hi = np.clip(np.rint(q / 128), -127, 127)  # NumPy rounds half to even
    return hi, q - 128 * hi, np.where(bad, np.nan, np.ldexp(1.0, exponent))


def block15(left, right, out, storage):
    """Blocks of 128 as exact sums of integers, one fma each."""
    for k in range(0, left.shape[1], BLOCK):
        hi_a, lo_a, power_a = block_integers(left[:, k:k + BLOCK])
        hi_b, lo_b, power_b = block_integers(right[k:k + BLOCK].T)
        total = 128 * (hi_a @ hi_b.T) + hi_a @ lo_b.T + lo_a @ hi_b.T  # integers below 2^53
        out = fma(total.astype(np.float32), np.float32(power_a * power_b.T * 2.0**-19), out)
    return out + np.float32(0)


def toward_zero(x):
    """float64 to binary32, toward zero; beyond its range an infinity, nothing left +0."""
    near = np.abs(x).astype(np.float32)
    near = np.where(near.astype(np.float64) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    near = np.where(np.abs(x) >= 2.0**128, np.float32(np.inf), near)
    return np.where((x < 0) & (near != 0), -near, near).astype(np.float32)


def hopper(left, right, out, storage):
    """Groups of 16, each term cut 25 bits below the largest exponent, the sum cut to binary32."""
    smallest = -14 if storage is F16 else -126

    def exponent(x, least):
        return np.where(x == 0, -10**6, np.maximum(np.frexp(x)[1] - 1, least))

    for k in range(0, left.shape[1], GROUP):
        a = left[:, None, k:k + GROUP].astype(np.float64)
        b = right[k:k + GROUP].T[None].astype(np.float64)
        c = out.astype(np.float64)[..., None]
        terms = np.concatenate([a * b, c], axis=2)
        exponents = np.concatenate([exponent(a, smallest) + exponent(b, smallest),
                                    exponent(c, -126)], axis=2)
        largest = np.maximum(exponents.max(axis=2, keepdims=True), -133)
        finite = np.isfinite(terms).all(axis=2)
        shift = np.where(finite[..., None], 25 - largest, 0)
        kept = np.trunc(np.ldexp(np.where(np.isfinite(terms), terms, 0.0), shift))
        total = toward_zero(np.ldexp(kept.sum(axis=2), -shift[..., 0]))
        out = np.where(finite, total, terms.sum(axis=2)).astype(np.float32)
    return out


ARITHMETICS = {"chain": chain, "block15": block15, "hopper": hopper}


def product(storage, left, right, start, bias, options):
    out = np.zeros((left.shape[0], right.shape[1]), np.float32) if start is None else start
    out = ARITHMETICS[options.get("arithmetic", "chain")](left, right, out, storage)
    return storage.round(out if bias is None else out + storage.widen(bias))


def gemm_forward(storage, operands, options):
    a, b = storage.widen(operands["a"]), storage.widen(operands["b"])
    return {"c": product(storage, a, b, operands.get("c0"), operands.get("bias"), options)}


def gemm_grad_a(storage, operands, options):
    dc, b = storage.widen(operands["dc"]), storage.widen(operands["b"])
    return {"da": product(storage, dc, b.T, operands.get("da0"), None, options)}


def gemm_grad_b(storage, operands, options):
    dc, a = storage.widen(operands["dc"]), storage.widen(operands["a"])
    return {"db": product(storage, a.T, dc, operands.get("db0"), None, options)}


PROBLEMS = {
    "gemm.forward": lambda data: ({"a": data.storage(6, 40), "b": data.storage(40, 50)}, {}),
    "gemm.grad_a": lambda data: ({"dc": data.storage(6, 50), "b": data.storage(40, 50)}, {}),
    "gemm.grad_b": lambda data: ({"dc": data.storage(6, 50), "a": data.storage(6, 40)}, {}),
}
