# What rmsnorm must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F32, colsum_fma, fma, rowsum_fma
from formula import ONE, column, scalar, type_of


def widened(storage, array):
    return type_of(storage, array).widen(array)


def rmsnorm_forward(storage, operands, options):
    s, written = storage.widen(operands["x"]), {}
    if "residual" in operands:
        kept = type_of(storage, operands["residual"])
        written["sum"] = kept.round(s + kept.widen(operands["residual"]))
        s = kept.widen(written["sum"])
    rstd = ONE / np.sqrt(rowsum_fma(s, s) / np.float32(s.shape[1]) + scalar(options, "eps"))
    y = (s * column(rstd)) * widened(storage, operands["gamma"])
    return {"y": storage.round(y), "rstd": F32.round(rstd), **written}


def rmsnorm_backward(storage, operands, options):
    dy, rstd = storage.widen(operands["dy"]), column(operands["rstd"])
    xhat = widened(storage, operands["x"]) * rstd
    h = dy * widened(storage, operands["gamma"])
    c = column(rowsum_fma(h, xhat) / np.float32(dy.shape[1]))
    dx = fma(-xhat, c, h)
    dx = fma(rstd, dx, widened(storage, operands["dsum"])) if "dsum" in operands else rstd * dx
    return {"dx": storage.round(dx), "dgamma": F32.round(colsum_fma(dy, xhat))}


PROBLEMS = {
    "rmsnorm.forward": lambda data: (
        {"x": data.storage(6, 40), "gamma": data.storage(40)}, {"eps": "1e-5"}),
    "rmsnorm.backward": lambda data: (
        {"dy": data.storage(6, 40), "x": data.storage(6, 40), "gamma": data.storage(40),
         "rstd": data.positive(6)}, {}),
}
