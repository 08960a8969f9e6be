# The oracle itself, checked without the command: against exact rational arithmetic, against literal
# loops, and by breaking one step at a time to show that the tests built on it can fail.
import struct
import unittest
from fractions import Fraction

import numpy as np

import binary32
import families
import oracle
from binary32 import BF16, F16, F32, Enclosure, fma, nearest_binary32


def bits(values):
    return np.asarray(values, np.float32).view(np.uint32)


def random_patterns(rng, count):
    """Random bits, values of close exponents, and the hard neighbourhood of every special value."""
    anywhere = rng.integers(0, 2**32, count, dtype=np.uint32)
    near_one = rng.integers(0x3F000000, 0x41000000, count, dtype=np.uint32)
    edges = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
                      0x4B800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x33800000, 0x33800001],
                     np.uint32)
    edges = rng.choice(np.concatenate([edges, edges | 0x80000000]), count)
    return np.where(rng.random(count) < 0.4, anywhere,
                    np.where(rng.random(count) < 0.5, near_one, edges)).view(np.float32)


def exact_fma(a, b, c):
    """Rational arithmetic, one rounding; the sign of an exact zero by the rule of IEEE-754."""
    if not np.isfinite([a, b, c]).all():
        return np.float32(np.float64(a) * np.float64(b) + np.float64(c))
    value = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if value == 0:
        product_negative = np.signbit(a) != np.signbit(b)
        return np.float32(-0.0 if product_negative and np.signbit(c) else 0.0)
    rounded = nearest_binary32(value)
    return np.copysign(rounded, np.float32(value))


class FusedMultiplyAdd(unittest.TestCase):
    def check(self, a, b, c):
        got = fma(a, b, c)
        for i in range(len(a)):
            want = exact_fma(a[i], b[i], c[i])
            same = np.isnan(got[i]) if np.isnan(want) else bits(got[i]) == bits(want)
            self.assertTrue(same, f"fma({a[i]!r}, {b[i]!r}, {c[i]!r}) = {got[i]!r}, not {want!r}")

    def test_random_and_edge_patterns(self):
        rng = families.generator("fma patterns")
        self.check(*(random_patterns(rng, 12000) for _ in range(3)))

    def test_addend_near_a_tie_of_the_product(self):
        rng = families.generator("fma ties")
        a, b = (random_patterns(rng, 6000) for _ in range(2))
        rounded = (a.astype(np.float64) * b).astype(np.float32)
        step = np.spacing(rounded) * rng.choice(np.float32([0.5, -0.5, 1, -1, 2.0**-20]), 6000)
        c = np.where(rng.random(6000) < 0.5, step, -rounded + step).astype(np.float32)
        self.check(a, b, c)

    def test_addend_far_below_a_halfway_product(self):
        # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 is halfway; the tiny addend alone decides the rounding
        a = np.float32([1 + 2.0**-12] * 4)
        self.check(a, a, np.float32([2.0**-149, -(2.0**-149), 2.0**-70, 0.0]))

    def test_separate_roundings_are_told_apart(self):
        rng = families.generator("contracted")
        a, b, c = (rng.standard_normal(1000).astype(np.float32) for _ in range(3))
        self.assertTrue((bits(fma(a, b, c)) != bits(a * b + c)).any())

    def test_rounding_through_float64_is_told_apart(self):
        # one rounding to 53 bits and another to 24 loses the tiny addend of a halfway product
        a, c = np.float32(1 + 2.0**-12), np.float32(2.0**-100)
        doubly_rounded = np.float32(np.float64(a) * np.float64(a) + np.float64(c))
        self.assertNotEqual(bits(fma(a, a, c)), bits(doubly_rounded))


class StorageRounding(unittest.TestCase):
    def test_f16_agrees_with_the_standard_library(self):
        rng = families.generator("f16")
        wide = np.concatenate([random_patterns(rng, 20000), rng.uniform(-7e4, 7e4, 20000),
                               rng.integers(-4096, 4096, 20000) * 2.0**-26])
        wide = wide[np.abs(wide) < 65520]
        want = [struct.unpack("<H", struct.pack("<e", value))[0] for value in wide.tolist()]
        np.testing.assert_array_equal(F16.round(wide).view(np.uint16), want)
        overflowing = F16.round(np.float32([65520, -65520, 1e38])).view(np.uint16)
        self.assertEqual(overflowing.tolist(), [0x7C00, 0xFC00, 0x7C00])

    def test_bf16_takes_the_nearer_neighbour(self):
        wide = random_patterns(families.generator("bf16"), 20000)
        wide = wide[np.abs(wide) < 3e38]
        stored = BF16.round(wide)
        distance = np.abs(BF16.widen(stored).astype(np.float64) - wide)
        for step in (-1, 1):
            neighbour = (stored.astype(np.int32) + step).astype(np.uint16)
            other = np.abs(BF16.widen(neighbour).astype(np.float64) - wide)
            tie = other == distance
            self.assertFalse((other < distance).any())
            self.assertTrue((stored[tie & (distance > 0)] % 2 == 0).all())

    def test_every_nan_becomes_the_canonical_one(self):
        nans = np.array([0x7F800001, 0xFFC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
        for storage in (F16, BF16, F32):
            stored = storage.round(nans).view(storage.bits_dtype)
            self.assertEqual(set(stored.tolist()), {storage.nan_bits})

    def test_widening_returns(self):
        patterns = np.arange(65536)
        for storage in (F16, BF16):
            stored = storage.from_bits(patterns)
            kept = ~np.isnan(storage.widen(stored))
            back = storage.round(storage.widen(stored)).view(storage.bits_dtype)
            np.testing.assert_array_equal(back[kept], patterns[kept])

    def test_decimal_text_is_rounded_once(self):
        text = "1.00000005960464477539062500001"  # just above halfway; float64 drops the last 1
        self.assertEqual(bits(nearest_binary32(Fraction(text))), 0x3F800001)
        self.assertEqual(bits(np.float32(float(text))), 0x3F800000)


def literal_rowsum(a, b=None):
    """The sentence of the specification, element by element."""
    add = (lambda acc, i: acc + a[i]) if b is None else (lambda acc, i: fma(a[i], b[i], acc))
    total = None
    for start in range(0, len(a), 2048):
        lanes = []
        for lane in range(256):
            acc = np.float32(0)
            for i in range(start + lane, min(start + 2048, len(a)), 256):
                acc = add(acc, i)
            lanes.append(acc)
        while len(lanes) > 1:
            lanes = [lanes[j] + lanes[j + 1] for j in range(0, len(lanes), 2)]
        total = lanes[0] if total is None else total + lanes[0]
    return total


def literal_colsum(a, b=None):
    add = (lambda acc, i: acc + a[i]) if b is None else (lambda acc, i: fma(a[i], b[i], acc))
    partials = []
    for start in range(0, len(a), 32):
        acc = np.float32(0)
        for i in range(start, min(start + 32, len(a))):
            acc = add(acc, i)
        partials.append(acc)
    return partials[0] if len(partials) == 1 else literal_colsum(partials)


class CanonicalOrders(unittest.TestCase):
    def setUp(self):
        self.rng = families.generator("orders")

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def test_row_order_is_the_literal_one(self):
        for cols in (1, 2, 255, 256, 257, 2047, 2048, 2049, 4100, 6145):
            a, b = self.draw(2, cols), self.draw(2, cols)
            for r in range(2):
                self.assertEqual(bits(binary32.rowsum(a)[r]), bits(literal_rowsum(a[r])))
                self.assertEqual(bits(binary32.rowsum_fma(a, b)[r]),
                                 bits(literal_rowsum(a[r], b[r])))

    def test_column_order_is_the_literal_one(self):
        for rows in (1, 2, 31, 32, 33, 65, 1024, 1025, 2100):
            a, b = self.draw(rows, 2), self.draw(rows, 2)
            for c in range(2):
                self.assertEqual(bits(binary32.colsum(a)[c]), bits(literal_colsum(a[:, c])))
                self.assertEqual(bits(binary32.colsum_fma(a, b)[c]),
                                 bits(literal_colsum(a[:, c], b[:, c])))

    def test_another_order_gives_other_bits(self):
        a = self.draw(50, 4100)
        left_to_right = np.add.accumulate(a, axis=1)[:, -1]
        self.assertTrue((bits(binary32.rowsum(a)) != bits(left_to_right)).any())
        tall = a.T.copy()
        self.assertTrue((bits(binary32.colsum(tall)) != bits(left_to_right)).any())

    def test_each_constant_of_the_orders_matters(self):
        a, tall = self.draw(50, 4100), self.draw(1500, 50)
        row, col = bits(binary32.rowsum(a)), bits(binary32.colsum(tall))
        for name, other in (("LANES", 128), ("BLOCK", 4096), ("CHAIN", 64)):
            kept = getattr(binary32, name)
            setattr(binary32, name, other)
            try:
                changed = bits(binary32.rowsum(a)), bits(binary32.colsum(tall))
            finally:
                setattr(binary32, name, kept)
            self.assertTrue((changed[0] != row).any() or (changed[1] != col).any(), name)

    def test_chains_start_from_plus_zero(self):
        self.assertEqual(bits(binary32.rowsum(np.float32([[-0.0]])))[0], 0)
        self.assertEqual(bits(binary32.colsum(np.float32([[-0.0]])))[0], 0)

    def test_underflowed_products_leave_minus_zero_where_no_plus_zero_meets_it(self):
        tiny = np.full((1, 300), 1e-30, np.float32)
        full, short = (binary32.rowsum_fma(-tiny[:, :n], tiny[:, :n])[0] for n in (256, 255))
        self.assertEqual((np.signbit(full), np.signbit(short)), (True, False))
        one, two = (binary32.colsum_fma(-tiny.T[:n], tiny.T[:n])[0] for n in (32, 33))
        self.assertEqual((np.signbit(one), np.signbit(two)), (True, False))


class ExactSegmentSum(unittest.TestCase):
    def test_sum_is_exact_and_rounded_once(self):
        rng = families.generator("segments")
        for rows in (1, 2, 40, 3000):
            terms = families.any_bits(F16, (rows, 8), rng)
            total = oracle.exact_sum_f16(terms)
            for j in range(8):
                exact = sum((Fraction(float(v)) for v in terms[:, j]), Fraction(0))
                self.assertEqual(bits(np.float32(total[j])), bits(nearest_binary32(exact)))
                if abs(exact) < 65520:
                    want = struct.unpack("<H", struct.pack("<e", float(exact)))[0]
                    self.assertEqual(F16.round(total[j]).view(np.uint16), want)

    def test_sums_beyond_53_bits(self):
        terms = np.full((20000, 2), 65504, np.float16)
        terms[0] = 2.0**-24
        exact = 19999 * 65504 + Fraction(2) ** -24
        self.assertEqual(bits(np.float32(oracle.exact_sum_f16(terms)[0])),
                         bits(nearest_binary32(exact)))

    def test_special_values(self):
        inf, nan = np.inf, np.nan
        terms = np.float16([[inf, inf, nan, -0.0, 65504], [1, -inf, 1, -0.0, 65504]])
        stored = F16.round(oracle.exact_sum_f16(terms)).view(np.uint16)
        self.assertEqual(stored.tolist(), [0x7C00, 0x7E00, 0x7E00, 0x0000, 0x7C00])

    def test_rounded_sum_is_told_apart(self):
        terms = np.float16([[2048], [1], [1], [-2048]])
        self.assertEqual(oracle.exact_sum_f16(terms)[0], 2)
        self.assertNotEqual(np.add.accumulate(terms)[-1, 0], 2)


class Enclosures(unittest.TestCase):
    def test_corners_enclose_every_inner_value(self):
        rng = families.generator("corners")
        lo = rng.standard_normal((3, 500)).astype(np.float32)
        hi = lo + np.abs(rng.standard_normal((3, 500))).astype(np.float32)
        bounds = binary32.enclose(fma, *(Enclosure(lo[i], hi[i]) for i in range(3)))
        for _ in range(20):
            inner = np.clip(lo + (hi - lo) * rng.random((3, 500)).astype(np.float32), lo, hi)
            value = fma(*inner)
            self.assertTrue(((bounds.lo <= value) & (value <= bounds.hi)).all())

    def test_one_ulp_is_admitted_and_three_are_not(self):
        x = -np.abs(families.generator("ulp").standard_normal(1000)).astype(np.float32) * 20
        bounds = binary32.exp_enclosure(x)
        nearest = np.exp(x.astype(np.float64)).astype(np.float32)
        for direction in (0, 2):
            steps = [nearest]
            for _ in range(3):
                steps.append(np.nextafter(steps[-1], np.float32(direction)))
            inside = [(bounds.lo <= step) & (step <= bounds.hi) for step in steps]
            self.assertTrue(inside[0].all())
            self.assertTrue(inside[1].any())
            self.assertFalse(inside[3].any())

    def test_softmax_rows_sum_to_one_within_their_enclosure(self):
        x = families.normal(F32, (5, 300), families.generator("softmax"))
        y = oracle.softmax_forward(F32, {"x": x}, {})["y"]
        self.assertTrue((y.lo.sum(axis=1, dtype=np.float64) <= 1).all())
        self.assertTrue((y.hi.sum(axis=1, dtype=np.float64) >= 1).all())
        self.assertTrue((y.hi - y.lo <= 8 * np.spacing(y.hi)).all())


if __name__ == "__main__":
    unittest.main()
