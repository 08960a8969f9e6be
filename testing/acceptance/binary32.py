# IEEE-754 binary32 as the operators use it: fma, storage types, canonical reductions, enclosures.
# NumPy's float32 + - * / sqrt round correctly; the fma it lacks is made here from exact float64
# steps. Nothing is shared with the library under test.
from fractions import Fraction
from itertools import product

import numpy as np

np.seterr(all="ignore")  # infinities and NaN are ordinary results here

LANES = 256  # chains side by side in one block of a row
BLOCK = 2048  # elements of a row reduced before the next block starts
CHAIN = 32  # rows in one chain of a column reduction


def fma(a, b, c):
    """a*b + c in binary32 with one rounding.

    The product of two 24-bit significands is exact in float64. The sum is rounded to odd there
    (TwoSum says on which side the exact value lies), and a 53-bit value rounded to odd rounds to
    24 bits exactly as the unrounded sum would, because 53 >= 24 + 2.
    """
    a, b, c = (np.asarray(v, np.float32).astype(np.float64) for v in (a, b, c))
    exact_product = a * b
    total = np.asarray(exact_product + c)
    share = total - exact_product
    error = (exact_product - (total - share)) + (c - share)
    bits = total.view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    move = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    return np.where(move, bits + step, bits).view(np.float64).astype(np.float32)


def nearest_binary32(value):
    """The float32 nearest to an exact Fraction, ties to even, by integer arithmetic alone."""
    value = Fraction(value)
    if value == 0:
        return np.float32(0)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - 23, -149)
    units = round(size / unit)  # Python rounds a Fraction half to even
    if units * unit >= Fraction(2) ** 128:
        return np.float32(np.inf if value > 0 else -np.inf)
    return np.float32(float(units * unit) * (1 if value > 0 else -1))


class Storage:
    """A storage type: how its files look, how it widens to and is rounded from binary32."""

    def __init__(self, name, dtype, bits_dtype, nan_bits, largest, smallest, fraction_bits):
        self.name, self.dtype, self.bits_dtype = name, np.dtype(dtype), np.dtype(bits_dtype)
        self.nan_bits, self.largest, self.smallest = nan_bits, largest, smallest
        self.fraction_bits = fraction_bits

    def from_bits(self, bits):
        return np.asarray(bits).astype(self.bits_dtype).view(self.dtype)

    def widen(self, stored):
        if self.name == "bf16":
            return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return stored.astype(np.float32)

    def round(self, wide):
        """One rounding to nearest even; every NaN becomes the canonical quiet NaN."""
        wide = np.asarray(wide)
        if self.name == "bf16":
            bits = wide.astype(np.float32).view(np.uint32).astype(np.int64)
            stored = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        else:
            stored = wide.astype(self.dtype)
        return np.where(np.isnan(wide), self.from_bits([self.nan_bits])[0], stored)


F16 = Storage("f16", "<f2", "<u2", 0x7E00, 65504.0, 2.0**-24, 10)
BF16 = Storage("bf16", "<u2", "<u2", 0x7FC0, float.fromhex("0x1.fep127"), 2.0**-133, 7)
F32 = Storage("f32", "<f4", "<u4", 0x7FC00000, float.fromhex("0x1.fffffep127"), 2.0**-149, 23)
STORAGES = (F16, BF16, F32)


def reduce_row(rows, cols, step):
    """The canonical row order; step(columns, lanes) gives the lanes after one more link."""
    total = None
    for start in range(0, cols, BLOCK):
        lanes = np.zeros((rows, LANES), np.float32)
        for at in range(start, min(start + BLOCK, cols), LANES):
            width = min(LANES, cols - at)
            lanes[:, :width] = step(slice(at, at + width), lanes[:, :width])
        while lanes.shape[1] > 1:
            lanes = lanes[:, 0::2] + lanes[:, 1::2]
        total = lanes[:, 0] if total is None else total + lanes[:, 0]
    return total


def rowsum(x):
    return reduce_row(*x.shape, lambda cut, lanes: lanes + x[:, cut])


def rowsum_fma(a, b):
    return reduce_row(*a.shape, lambda cut, lanes: fma(a[:, cut], b[:, cut], lanes))


def rowmax(x):
    return np.fmax.reduce(x, axis=1, initial=np.float32(-np.inf))


def chain_rows(rows, cols, step):
    """One level of the column order: row i of every chain at once; step(rows, chains)."""
    chains = np.zeros((-(-rows // CHAIN), cols), np.float32)
    for i in range(min(CHAIN, rows)):
        picked = slice(i, None, CHAIN)
        count = len(range(i, rows, CHAIN))
        chains[:count] = step(picked, chains[:count])
    return chains


def colsum(x):
    while True:
        x = chain_rows(*x.shape, lambda picked, chains: chains + x[picked])
        if len(x) == 1:
            return x[0]


def colsum_fma(a, b):
    chains = chain_rows(*a.shape, lambda picked, acc: fma(a[picked], b[picked], acc))
    return chains[0] if len(chains) == 1 else colsum(chains)


class Enclosure:
    """Two binary32 values between which a result that rests on exp or log must lie."""

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    def map(self, increasing):
        return Enclosure(increasing(self.lo), increasing(self.hi))


def enclose(operation, *operands):
    """Correctly rounded + - * / fma are monotone in each operand, so corners bound the result."""
    sides = [(v.lo, v.hi) if isinstance(v, Enclosure) else (v,) for v in operands]
    corners = [operation(*corner) for corner in product(*sides)]
    return Enclosure(np.minimum.reduce(corners), np.maximum.reduce(corners))


def within_one_ulp(true_value):
    """Every binary32 within one unit in the last place of a float64 value.

    float64 exp and log err by 2^-50 at most, relatively, while a unit is 2^-24 or more: the unit
    is widened by 2^-20 to cover that. Rounding is monotone, so no admissible value is lost.
    """
    with np.errstate(over="ignore"):
        size = np.minimum(np.abs(true_value).astype(np.float32), np.float32(2.0**127))
    unit = np.spacing(size).astype(np.float64) * (1 + 2.0**-20)
    return Enclosure((true_value - unit).astype(np.float32), (true_value + unit).astype(np.float32))


def exp_enclosure(x):
    bounds = within_one_ulp(np.exp(x.astype(np.float64)))
    vanishes = np.isneginf(x)
    return Enclosure(np.where(vanishes, np.float32(0), np.maximum(bounds.lo, np.float32(0))),
                     np.where(vanishes, np.float32(0), bounds.hi))


def log_enclosure(x):
    return Enclosure(within_one_ulp(np.log(x.lo.astype(np.float64))).lo,
                     within_one_ulp(np.log(x.hi.astype(np.float64))).hi)
