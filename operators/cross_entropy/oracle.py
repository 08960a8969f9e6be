# What cross_entropy must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F32, colsum, enclose, exp_enclosure, fma, log_enclosure, rowmax, rowsum
from formula import ONE, scalar, equals_option, column


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


PROBLEMS = {
    "cross_entropy.forward_backward": lambda data: (
        {"logits": data.storage(6, 50), "labels": data.integers(6, 50)}, {}),
}
