# The comparator must reject what it exists to reject: NaN against a number, the sign of zero,
# another NaN pattern, another type or shape, a value just outside its enclosure.
import unittest

import numpy as np

from binary32 import BF16, F16, F32, Enclosure
from harness import compare, compare_bits

NAN = np.float32([np.nan])


class Comparator(unittest.TestCase):
    def rejected(self, actual, expected):
        with self.assertRaises(AssertionError):
            compare(actual, expected, F32, "here")

    def test_equal_bits_pass(self):
        for values in (np.float32([1, -0.0, np.inf]), NAN, np.float16([2]), np.array([3])):
            compare_bits(values, values.copy(), "here")

    def test_nan_against_a_number(self):
        self.rejected(NAN, np.float32([0]))
        self.rejected(np.float32([0]), NAN)
        self.rejected(NAN, Enclosure(np.float32([0]), np.float32([1])))
        self.rejected(np.float32([0]), Enclosure(NAN, NAN))

    def test_another_nan(self):
        self.rejected(np.array([0xFFC00000], np.uint32).view(np.float32), NAN)
        self.rejected(np.array([0xFFC00000], np.uint32).view(np.float32), Enclosure(NAN, NAN))

    def test_sign_of_zero(self):
        zero = np.float32([0])
        self.rejected(-zero, zero)
        self.rejected(-zero, Enclosure(zero, zero))

    def test_type_and_shape(self):
        self.rejected(np.float16([1]), np.float32([1]))
        self.rejected(np.float32([1]), np.float32([[1]]))
        self.rejected(np.float32([]), np.float32([1]))
        self.rejected(np.float32([1]), Enclosure(np.float32([[1]]), np.float32([[1]])))
        self.rejected(np.float64([1]), Enclosure(np.float32([1]), np.float32([2])))

    def test_outside_the_enclosure(self):
        for storage in (F16, BF16, F32):
            lo, hi = storage.round(np.float32([1])), storage.round(np.float32([1.5]))
            bounds = Enclosure(lo, hi)
            for inside in (lo, hi, storage.round(np.float32([1.25]))):
                compare(inside, bounds, storage, "here")
            for outside in (0.9, 1.6, np.inf, -1.25):
                with self.assertRaises(AssertionError):
                    compare(storage.round(np.float32([outside])), bounds, storage, "here")


if __name__ == "__main__":
    unittest.main()
