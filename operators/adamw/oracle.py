# What adamw must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import F32, fma
from formula import scalar


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


PROBLEMS = {
    "adamw.step": lambda data: (
        {"theta": [data.storage(40)], "m": [data.positive(40)], "v": [data.positive(40)],
         "grad": [data.storage(40)]},
        {"lr": "1e-3", "beta1": "0.9", "beta2": "0.999", "eps": "1e-8", "weight_decay": "0.01",
         "t": "1"}),
}
