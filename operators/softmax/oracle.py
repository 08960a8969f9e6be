# What softmax must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import enclose, exp_enclosure, rowmax, rowsum, rowsum_fma
from formula import ONE, column


def softmax_forward(storage, operands, options):
    x = storage.widen(operands["x"])
    e = exp_enclosure(x - column(rowmax(x)))
    reciprocal = enclose(np.divide, ONE, e.map(rowsum))
    y = enclose(np.multiply, e, column(reciprocal))
    return {"y": y.map(storage.round)}


def softmax_backward(storage, operands, options):
    dy, y = storage.widen(operands["dy"]), storage.widen(operands["y"])
    return {"dx": storage.round(y * (dy - column(rowsum_fma(dy, y))))}


PROBLEMS = {
    "softmax.forward": lambda data: ({"x": data.storage(6, 40)}, {}),
    "softmax.backward": lambda data: ({"dy": data.storage(6, 40), "y": data.storage(6, 40)}, {}),
}
