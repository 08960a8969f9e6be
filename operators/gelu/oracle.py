# What gelu must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import math

import numpy as np

from binary32 import Enclosure, enclose, exp_enclosure, fma, within_one_ulp

ONE, HALF = np.float32(1), np.float32(0.5)
C0, C1, C3 = (np.float32(math.sqrt(2 / math.pi) * factor) for factor in (1, 0.044715, 3 * 0.044715))


def sigmoidal(x, function, one_from):
    """An odd function that is exactly 1 from there on (docs/numerics.md) and never beyond."""
    bounds = within_one_ulp(function(x.astype(np.float64)))
    ones = np.where(x < 0, -ONE, ONE)
    return bounds.map(lambda side: np.where(abs(x) >= one_from, ones, np.clip(side, -ONE, ONE)))


def erf_enclosure(x):
    return sigmoidal(x, np.vectorize(math.erf, otypes=[np.float64]), 3.97)


def tanh_enclosure(x):
    return sigmoidal(x, np.tanh, 10)


def held(x):
    return np.where(x > 32, np.float32(32), np.where(x < -32, np.float32(-32), x))


def inner(x, options):
    if options.get("tanh", "0") == "1":
        v = held(x)
        return tanh_enclosure(v * fma(v * v, C1, C0))
    return erf_enclosure(x * np.float32(float.fromhex("0x1.6a09e6p-1")))


def gelu_forward(storage, operands, options):
    x = storage.widen(operands["x"])
    y = enclose(np.multiply, HALF * x, enclose(np.add, ONE, inner(x, options)))
    return {"y": y.map(storage.round)}


def gelu_backward(storage, operands, options):
    dy, x = storage.widen(operands["dy"]), storage.widen(operands["x"])
    t = inner(x, options)
    half = enclose(np.multiply, HALF, enclose(np.add, ONE, t))
    if options.get("tanh", "0") == "1":
        v = held(x)
        # fma(-t, t, 1) descends in |t|: its ends are those of |t|.
        near, far = np.minimum(abs(t.lo), abs(t.hi)), np.maximum(abs(t.lo), abs(t.hi))
        square = Enclosure(fma(-far, far, ONE), fma(-near, near, ONE))
        rest = enclose(np.multiply, HALF * v, enclose(np.multiply, square, fma(v * v, C3, C0)))
        slope = enclose(np.add, half, rest)
    else:
        density = enclose(np.multiply, exp_enclosure(np.float32(-0.5) * (x * x)),
                          np.float32(float.fromhex("0x1.988454p-2")))
        slope = enclose(fma, x, density, half)
    return {"dx": enclose(np.multiply, dy, slope).map(storage.round)}


def problem(operands, number=[0]):
    """erf and tanh in turns."""
    number[0] += 1
    return operands, {"tanh": str(number[0] % 2)}


PROBLEMS = {
    "gelu.forward": lambda data: problem({"x": data.storage(6, 40)}),
    "gelu.backward": lambda data: problem({"dy": data.storage(6, 40), "x": data.storage(6, 40)}),
}
