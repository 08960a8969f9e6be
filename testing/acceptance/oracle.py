# The operators written from their specification in NumPy, independent of the library: each family's
# folder has an oracle.py with one function per operator, FAMILY_OPERATOR, and everything in them is
# found here under its own name. A function takes a storage type, the stored operands and the options
# as decimal texts, and returns what must be stored: exact bits, or an Enclosure where exp or log
# (1 ulp, not fixed there) take part. PROBLEMS has for each operator a function that makes a small
# problem of Data: its operands and its options.
import importlib.util
import pathlib

import numpy as np

import families
from binary32 import F16

FOLDERS = sorted(path.parent for path in
                 (pathlib.Path(__file__).parents[2] / "operators").glob("*/oracle.py")
                 if path.parent.name != "skeleton")
OPERATORS = {}
PROBLEMS = {}


class Data:
    """What a problem is made of: numbers of one storage type and one family of data."""

    def __init__(self, storage=F16, family=families.normal, seed="valid"):
        self.storage_type, self.family, self.rng = storage, family, families.generator(seed)

    def storage(self, *shape):
        return self.family(self.storage_type, shape, self.rng)

    def positive(self, *shape):
        """binary32 above zero: statistics, second moments."""
        return np.abs(self.rng.standard_normal(shape)).astype("<f4")

    def integers(self, count, limit):
        return self.rng.integers(0, limit, count).astype("<i8")


def load(folder):
    spec = importlib.util.spec_from_file_location(f"oracle_{folder.name}", folder / "oracle.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for folder in FOLDERS:
    module = load(folder)
    PROBLEMS |= getattr(module, "PROBLEMS", {})
    functions = {name: value for name, value in vars(module).items()
                 if callable(value) and getattr(value, "__module__", "") == module.__name__}
    for name, function in functions.items():
        if name.startswith(f"{folder.name}_"):
            OPERATORS[f"{folder.name}.{name[len(folder.name) + 1:]}"] = function
    globals().update(functions)
