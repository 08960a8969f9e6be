# What embedding must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F16, F32, colsum
from formula import equals_option, column


def embedding_forward(storage, operands, options):
    weight, index = operands["weight"], operands["index"]
    padding = column(equals_option(index, options, "padding_index"))
    return {"y": np.where(padding, storage.from_bits([0])[0], weight[index])}


def exact_sum_f16(terms):
    """Sum of f16 rows as a float64 that rounds to f16 or f32 exactly as the exact sum would.

    In units of 2^-24 every term is an integer. Beyond 2^53 the last 11 bits are folded into one
    sticky bit, which leaves enough bits above it for any rounding to 24 or fewer.
    """
    wide = terms.astype(np.float64)
    finite = np.isfinite(wide)
    units = np.where(finite, wide * 2.0**24, 0).astype(np.int64).sum(axis=0)
    folded = (units >> 11 | ((units & 2047) != 0)) * 2048.0
    total = np.where(abs(units) < 2**53, units.astype(np.float64), folded) * 2.0**-24
    return total + np.where(finite, 0, wide).sum(axis=0)


def embedding_backward(storage, operands, options):
    dy, index = operands["dy"], operands["index"]
    accumulate = "dweight" in operands
    if accumulate:
        target, dweight = F32, operands["dweight"].copy()
    else:
        target, dweight = storage, np.zeros((int(options["vocab"]), dy.shape[1]), storage.dtype)
    for row in np.unique(index[~equals_option(index, options, "padding_index")]):
        terms = dy[index == row]
        total = exact_sum_f16(terms) if storage is F16 else colsum(storage.widen(terms))
        if accumulate:
            total = dweight[row] + total.astype(np.float32)
        dweight[row] = target.round(total)
    return {"dweight": dweight}


PROBLEMS = {
    "embedding.forward": lambda data: (
        {"weight": data.storage(30, 12), "index": data.integers(7, 30)}, {}),
    "embedding.backward": lambda data: (
        {"dy": data.storage(7, 12), "index": data.integers(7, 30)}, {"vocab": "30"}),
}
