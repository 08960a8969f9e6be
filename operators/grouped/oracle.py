# What grouped must store, in NumPy: gemm's oracle on each group's rows and factor (testing/acceptance/oracle.py says how
# it is called), and a small problem of each operator.
import importlib.util
import pathlib

import numpy as np

spec = importlib.util.spec_from_file_location("gemm_oracle", pathlib.Path(__file__).parents[1] / "gemm" / "oracle.py")
gemm = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gemm)


def groups_of(offsets):
    return [slice(int(begin), int(end)) for begin, end in zip(offsets, offsets[1:])]


def grouped_forward(storage, operands, options):
    a, b = storage.widen(operands["a"]), storage.widen(operands["b"])
    return {"c": by_rows(storage, a, b, operands.get("c0"), operands["offsets"], options)}


def grouped_grad_a(storage, operands, options):
    dc, b = storage.widen(operands["dc"]), storage.widen(operands["b"]).transpose(0, 2, 1)
    return {"da": by_rows(storage, dc, b, operands.get("da0"), operands["offsets"], options)}


def by_rows(storage, left, right, start, offsets, options):
    return np.concatenate([gemm.product(storage, left[rows], right[g], None if start is None else start[rows], None,
                                        options) for g, rows in enumerate(groups_of(offsets))])


def grouped_grad_b(storage, operands, options):
    dc, a = storage.widen(operands["dc"]), storage.widen(operands["a"])
    start = operands.get("db0")
    return {"db": np.stack([gemm.product(storage, a[rows].T, dc[rows], None if start is None else start[g], None,
                                         options) for g, rows in enumerate(groups_of(operands["offsets"]))])}


OFFSETS = np.array([0, 2, 2, 6], "<i8")

PROBLEMS = {
    "grouped.forward": lambda data: (
        {"a": data.storage(6, 40), "b": data.storage(3, 40, 50), "offsets": OFFSETS}, {}),
    "grouped.grad_a": lambda data: (
        {"dc": data.storage(6, 50), "b": data.storage(3, 40, 50), "offsets": OFFSETS}, {}),
    "grouped.grad_b": lambda data: (
        {"dc": data.storage(6, 50), "a": data.storage(6, 40), "offsets": OFFSETS}, {}),
}
