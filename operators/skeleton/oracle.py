# What skeleton must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F32, rowsum_fma
from formula import ONE, column, scalar


def skeleton_forward(storage, operands, options):
    x = storage.widen(operands["x"])
    rstd = ONE / np.sqrt(rowsum_fma(x, x) / np.float32(x.shape[1]) + scalar(options, "eps", "1e-5"))
    return {"y": storage.round(x * column(rstd)), "rstd": F32.round(rstd)}


PROBLEMS = {
    "skeleton.forward": lambda data: ({"x": data.storage(6, 40)}, {"eps": "1e-5"}),
}
