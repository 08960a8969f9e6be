# Small parts of the formulas in operators/*/oracle.py.
from fractions import Fraction

import numpy as np

from binary32 import F32, Enclosure, nearest_binary32

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


def type_of(storage, array):
    """What an operand is stored in that may be f32 beside the storage type."""
    return F32 if array.dtype == F32.dtype else storage
