# What swiglu must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import enclose, exp_enclosure, fma

ONE = np.float32(1)


def sigmoid(g):
    return enclose(np.divide, ONE, enclose(np.add, ONE, exp_enclosure(-g)))


def swiglu_forward(storage, operands, options):
    g, u = storage.widen(operands["gate"]), storage.widen(operands["up"])
    h = enclose(np.multiply, enclose(np.multiply, g, sigmoid(g)), u)
    return {"h": h.map(storage.round)}


def swiglu_backward(storage, operands, options):
    dh, g, u = (storage.widen(operands[name]) for name in ("dh", "gate", "up"))
    s = sigmoid(g)
    dup = enclose(np.multiply, dh, enclose(np.multiply, g, s))
    slope = enclose(np.multiply, s, enclose(fma, g, enclose(np.subtract, ONE, s), ONE))
    dgate = enclose(np.multiply, dh * u, slope)
    return {"dgate": dgate.map(storage.round), "dup": dup.map(storage.round)}


PROBLEMS = {
    "swiglu.forward": lambda data: ({"gate": data.storage(6, 40), "up": data.storage(6, 40)}, {}),
    "swiglu.backward": lambda data: ({"dh": data.storage(6, 40), "gate": data.storage(6, 40),
                                      "up": data.storage(6, 40)}, {}),
}
