# What gradient must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
from fractions import Fraction

import numpy as np

from binary32 import F32, STORAGES, colsum, nearest_binary32, rowsum_fma

BLOCK = 2048


def block_sums(values):
    """The sums of squares of a tensor's blocks, in order: whole ones, then what is left."""
    whole = len(values) // BLOCK * BLOCK
    parts = [values[:whole].reshape(-1, BLOCK), values[whole:].reshape(1, -1)]
    return np.concatenate([rowsum_fma(rows, rows) for rows in parts if rows.size] or [np.zeros(0, np.float32)])


def gradient_norm(storage, operands, options):
    """A list of tensors, each of a type of its own."""
    own = {kind.dtype: kind for kind in STORAGES}
    widened = [own[grad.dtype].widen(grad.reshape(-1)) for grad in operands["grad"]]
    blocks = np.concatenate([block_sums(values) for values in widened])
    total = colsum(blocks[:, None]) if len(blocks) else np.zeros(1, np.float32)
    max_norm, grad_scale = (nearest_binary32(Fraction(options.get(name, "1"))) for name in ("max_norm", "grad_scale"))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        norm = np.sqrt(total) * grad_scale
        s = max_norm / (norm + np.float32(float.fromhex("0x1.0c6f7ap-20")))
    return {"norm": F32.round(norm), "scale": F32.round(np.where(s > 1, np.float32(1), s))}


PROBLEMS = {"gradient.norm": lambda data: ({"grad": [data.storage(40), data.storage(3000)]}, {"max_norm": "0.5"})}
