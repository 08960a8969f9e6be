# What layernorm must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F32, colsum, colsum_fma, fma, rowsum, rowsum_fma
from formula import ONE, column, scalar, type_of


def layernorm_forward(storage, operands, options):
    x, gamma, beta = (storage.widen(operands[name]) for name in ("x", "gamma", "beta"))
    written = {}
    if "residual" in operands:
        kept = type_of(storage, operands["residual"])
        written["sum"] = kept.round(x + kept.widen(operands["residual"]))
        x = kept.widen(written["sum"])
    n = np.float32(x.shape[1])
    mean = rowsum(x) / n
    d = x - column(mean)
    var = rowsum_fma(d, d) / n
    rstd = ONE / np.sqrt(var + scalar(options, "eps"))
    y = fma(d * column(rstd), gamma, beta)
    return {"y": storage.round(y), "mean": F32.round(mean), "rstd": F32.round(rstd), **written}


def layernorm_backward(storage, operands, options):
    dy, gamma = (storage.widen(operands[name]) for name in ("dy", "gamma"))
    x = type_of(storage, operands["x"]).widen(operands["x"])
    mean, rstd = column(operands["mean"]), column(operands["rstd"])
    n = np.float32(x.shape[1])
    xhat = (x - mean) * rstd
    h = dy * gamma
    c1 = column(rowsum(h) / n)
    c2 = column(rowsum_fma(h, xhat) / n)
    dx = fma(-xhat, c2, h - c1)
    if "dsum" in operands:
        dx = fma(rstd, dx, type_of(storage, operands["dsum"]).widen(operands["dsum"]))
    else:
        dx = rstd * dx
    return {"dx": storage.round(dx), "dgamma": F32.round(colsum_fma(dy, xhat)),
            "dbeta": F32.round(colsum(dy))}


PROBLEMS = {
    "layernorm.forward": lambda data: (
        {"x": data.storage(6, 40), "gamma": data.storage(40), "beta": data.storage(40)},
        {"eps": "1e-5"}),
    "layernorm.backward": lambda data: (
        {"dy": data.storage(6, 40), "x": data.storage(6, 40), "gamma": data.storage(40),
         "mean": data.positive(6), "rstd": data.positive(6)}, {}),
}
