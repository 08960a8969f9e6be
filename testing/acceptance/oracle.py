# The operators, written from their specification in NumPy and independent of the library.
# Each takes a storage type, the stored operands and the options as decimal texts, and returns what
# must be stored: exact bits, or an Enclosure where exp or log (1 ulp, not fixed here) take part.
import importlib.util
import pathlib
from fractions import Fraction

import numpy as np

from binary32 import (F16, F32, Enclosure, colsum, colsum_fma, enclose, exp_enclosure, fma,
                      log_enclosure, nearest_binary32, rowmax, rowsum, rowsum_fma)

ONE = np.float32(1)


def scalar(options, name, default="0"):
    """A hyperparameter: its decimal text rounded once to binary32."""
    return nearest_binary32(Fraction(options.get(name, default)))


def equals_option(values, options, name):
    """Where integer values equal an optional option; nowhere if it is not given."""
    return values == int(options[name]) if name in options else np.zeros(len(values), bool)


def column(per_row):
    if isinstance(per_row, Enclosure):
        return per_row.map(column)
    return per_row[:, None]


def power(base, exponent):
    """base^exponent in binary64 by repeated squaring, least significant bit first."""
    base, result = np.float64(base), np.float64(1)
    while exponent:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result


def adamw_step(storage, operands, options):
    """Every operand is a list of tensors; so is every result."""
    lr, eps, weight_decay = (scalar(options, name) for name in ("lr", "eps", "weight_decay"))
    beta1, beta2 = scalar(options, "beta1"), scalar(options, "beta2")
    c1, c2 = (np.float32(1 - np.float64(beta)) for beta in (beta1, beta2))
    t = int(options["t"])
    k1, k2 = (np.float32(1 / (1 - power(beta, t))) for beta in (beta1, beta2))
    factor = scalar(options, "grad_scale", "1")
    if "scale" in operands:
        factor = factor * operands["scale"][0]
    gradients = [storage.widen(grad) * factor for grad in operands["grad"]]

    written = [name for name in ("theta", "m", "v", "master") if name in operands]
    asked = [operands["norm"]] if "norm" in operands else gradients
    skipped = options.get("skip_nonfinite") == "1" and not all(np.isfinite(a).all() for a in asked)
    outcome = {"outcome": np.array([int(skipped)], "<i8")} if "norm" in operands else {}
    if skipped:
        return {name: operands[name] for name in written} | outcome

    results = {name: [] for name in written} | outcome
    for i, g in enumerate(gradients):
        master = "master" in operands
        theta = operands["master"][i] if master else storage.widen(operands["theta"][i])
        m = fma(c1, g, beta1 * operands["m"][i])
        v = fma(c2, g * g, beta2 * operands["v"][i])
        update = fma(weight_decay, theta, (m * k1) / (np.sqrt(v * k2) + eps))
        moved = fma(-lr, update, theta)
        results["theta"].append(storage.round(moved))
        results["m"].append(F32.round(m))
        results["v"].append(F32.round(v))
        if master:
            results["master"].append(F32.round(moved))
    return results


def layernorm_forward(storage, operands, options):
    x, gamma, beta = (storage.widen(operands[name]) for name in ("x", "gamma", "beta"))
    n = np.float32(x.shape[1])
    mean = rowsum(x) / n
    d = x - column(mean)
    var = rowsum_fma(d, d) / n
    rstd = ONE / np.sqrt(var + scalar(options, "eps"))
    y = fma(d * column(rstd), gamma, beta)
    return {"y": storage.round(y), "mean": F32.round(mean), "rstd": F32.round(rstd)}


def layernorm_backward(storage, operands, options):
    dy, x, gamma = (storage.widen(operands[name]) for name in ("dy", "x", "gamma"))
    mean, rstd = column(operands["mean"]), column(operands["rstd"])
    n = np.float32(x.shape[1])
    xhat = (x - mean) * rstd
    h = dy * gamma
    c1 = column(rowsum(h) / n)
    c2 = column(rowsum_fma(h, xhat) / n)
    dx = rstd * fma(-xhat, c2, h - c1)
    return {"dx": storage.round(dx), "dgamma": F32.round(colsum_fma(dy, xhat)),
            "dbeta": F32.round(colsum(dy))}


def softmax_forward(storage, operands, options):
    x = storage.widen(operands["x"])
    e = exp_enclosure(x - column(rowmax(x)))
    reciprocal = enclose(np.divide, ONE, e.map(rowsum))
    y = enclose(np.multiply, e, column(reciprocal))
    return {"y": y.map(storage.round)}


def softmax_backward(storage, operands, options):
    dy, y = storage.widen(operands["dy"]), storage.widen(operands["y"])
    return {"dx": storage.round(y * (dy - column(rowsum_fma(dy, y))))}


def cross_entropy_forward_backward(storage, operands, options):
    x, labels = storage.widen(operands["logits"]), operands["labels"]
    a, z = scalar(options, "label_smoothing"), scalar(options, "z_loss")
    b = np.float32(1 - np.float64(a))
    n = np.float32(x.shape[1])
    ignored = equals_option(labels, options, "ignore_index")
    at_label = np.arange(len(x)), np.where(ignored, 0, labels)

    top = rowmax(x)
    below_top = x - column(top)
    e = exp_enclosure(below_top)
    s = e.map(rowsum)
    ls = log_enclosure(s)
    nll = enclose(np.add, ls, top - x[at_label])
    lse = enclose(np.add, ls, top)
    loss, w = nll, ONE
    if a != 0:
        uniform = enclose(np.subtract, ls, rowsum(below_top) / n)
        loss = enclose(fma, a, uniform, enclose(np.multiply, b, nll))
    if z != 0:
        loss = enclose(fma, enclose(np.multiply, z, lse), lse, loss)
        w = column(enclose(fma, np.float32(2) * z, lse, ONE))
    target = np.full_like(x, a / n)
    target[at_label] = a / n + b
    probability = enclose(np.multiply, e, column(enclose(np.divide, ONE, s)))
    scale = scalar(options, "scale", "1")
    if options.get("reduction") == "mean":
        with np.errstate(divide="ignore"):  # no row counts: no row takes it
            scale = scale / np.float32(np.count_nonzero(~ignored))
    grad = enclose(np.multiply, scale, enclose(fma, probability, w, -target))

    def keep(rows, values):
        return np.where(rows, np.float32(0), values)

    return {"loss": loss.map(lambda side: F32.round(keep(ignored, side))),
            "grad": grad.map(lambda side: storage.round(keep(column(ignored), side)))}


def mean_loss(loss, labels, options):
    """The mean and the count, from the loss bits that were stored."""
    count = np.count_nonzero(~equals_option(labels, options, "ignore_index"))
    mean = colsum(column(loss)) / np.float32(count)
    return {"mean_loss": F32.round(mean), "count": np.array([count], "<i8")}


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


OPERATORS = {
    "adamw.step": adamw_step,
    "layernorm.forward": layernorm_forward,
    "layernorm.backward": layernorm_backward,
    "softmax.forward": softmax_forward,
    "softmax.backward": softmax_backward,
    "cross_entropy.forward_backward": cross_entropy_forward_backward,
    "embedding.forward": embedding_forward,
    "embedding.backward": embedding_backward,
    "gemm.forward": gemm_forward,
    "gemm.grad_a": gemm_grad_a,
    "gemm.grad_b": gemm_grad_b,
}


def add_family(family):
    """A family's own oracle, beside its definition."""
    path = pathlib.Path(__file__).parents[2] / "operators" / family / "oracle.py"
    spec = importlib.util.spec_from_file_location(f"oracle_{family}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    OPERATORS.update({name: getattr(module, name.replace(".", "_")) for name in module.PROBLEMS})


add_family("gradient")
