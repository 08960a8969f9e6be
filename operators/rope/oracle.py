# What rope must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.
import numpy as np

from binary32 import fma


def turned(storage, operands, name, options, back):
    x = storage.widen(operands[name])
    cos, sin = operands["cos"], operands["sin"]
    tokens, half = len(x), cos.shape[1]
    if "position" in operands:
        p = operands["position"]
    else:
        p = np.arange(tokens) % int(options.get("seq", tokens))
    c, s = cos[p][:, None, :], sin[p][:, None, :]
    beside = options.get("interleaved", "0") == "1"
    pairs = x.reshape(tokens, -1, half, 2) if beside else x.reshape(tokens, -1, 2, half).swapaxes(2, 3)
    one, two = pairs[..., 0], pairs[..., 1]
    if back:
        first, second = fma(one, c, two * s), fma(two, c, -(one * s))
    else:
        first, second = fma(one, c, -(two * s)), fma(two, c, one * s)
    made = np.stack([first, second], axis=-1)
    return storage.round((made if beside else made.swapaxes(2, 3)).reshape(x.shape))


def rope_forward(storage, operands, options):
    return {"y": turned(storage, operands, "x", options, False)}


def rope_backward(storage, operands, options):
    return {"dx": turned(storage, operands, "dy", options, True)}


def problem(data, name):
    """Positions given and counted, both ways to pair, in turns."""
    way = data.rng.integers(4)
    angles = np.outer(np.arange(5), np.arange(1, 5)).astype("<f4")
    operands = {name: data.storage(6, 24), "cos": np.cos(angles), "sin": np.sin(angles)}
    options = {"interleaved": str(way % 2)}
    if way < 2:
        operands["position"] = data.integers(6, 5)
    else:
        options["seq"] = "4"
    return operands, options


PROBLEMS = {
    "rope.forward": lambda data: problem(data, "x"),
    "rope.backward": lambda data: problem(data, "dy"),
}
