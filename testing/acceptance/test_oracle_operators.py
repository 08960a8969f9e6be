# The oracle's operators against their plain mathematics in float64, and against versions of
# themselves with one step changed: a formula copied wrongly, or a blind test, shows here.
import unittest
from unittest import mock

import numpy as np

import families
import oracle
from binary32 import BF16, F16, F32, Enclosure, colsum, rowmax, rowsum
from formula import column

ADAMW = {"lr": "0.01", "beta1": "0.9", "beta2": "0.999", "eps": "1e-8", "weight_decay": "0.1",
         "t": "7"}


def adamw_operands(storage, n):
    rng = families.generator("adamw")
    return {"theta": [families.normal(storage, (n,), rng)],
            "grad": [families.normal(storage, (n,), rng)],
            "m": [families.normal(F32, (n,), rng)],
            "v": [np.abs(families.normal(F32, (n,), rng))]}


def layernorm_operands(storage, rows, cols):
    rng = families.generator("layernorm")
    operands = {name: families.normal(storage, shape, rng) for name, shape in
                (("x", (rows, cols)), ("dy", (rows, cols)), ("gamma", (cols,)), ("beta", (cols,)))}
    forward = oracle.layernorm_forward(storage, operands, {"eps": "1e-5"})
    return {**operands, "mean": forward["mean"], "rstd": forward["rstd"]}


class Mathematics(unittest.TestCase):
    def close(self, got, want, tolerance=1e-5):
        middle = (got.lo / 2 + got.hi / 2) if isinstance(got, Enclosure) else got
        np.testing.assert_allclose(middle, want, rtol=tolerance, atol=tolerance)

    def test_adamw(self):
        operands = adamw_operands(F32, 100)
        theta, grad, m, v = (operands[name][0].astype(float)
                             for name in ("theta", "grad", "m", "v"))
        got = oracle.adamw_step(F32, operands, ADAMW)
        m = 0.9 * m + 0.1 * grad
        v = 0.999 * v + 0.001 * grad**2
        step = (m / (1 - 0.9**7)) / (np.sqrt(v / (1 - 0.999**7)) + 1e-8)
        self.close(got["m"][0], m)
        self.close(got["v"][0], v)
        self.close(got["theta"][0], theta - 0.01 * (step + 0.1 * theta))

    def test_layernorm(self):
        operands = layernorm_operands(F32, 9, 70)
        x, dy, gamma, beta = (operands[name].astype(float) for name in ("x", "dy", "gamma", "beta"))
        mean, std = x.mean(1, keepdims=True), np.sqrt(x.var(1, keepdims=True) + 1e-5)
        xhat, h = (x - mean) / std, dy * gamma
        self.close(oracle.layernorm_forward(F32, operands, {"eps": "1e-5"})["y"],
                   xhat * gamma + beta)
        got = oracle.layernorm_backward(F32, operands, {})
        self.close(got["dgamma"], (dy * xhat).sum(0))
        self.close(got["dbeta"], dy.sum(0))
        self.close(got["dx"], (h - h.mean(1, keepdims=True)
                               - xhat * (h * xhat).mean(1, keepdims=True)) / std)

    def test_rmsnorm(self):
        rng = families.generator("rmsnorm mathematics")
        x, residual, dy, dsum = (families.normal(F32, (9, 70), rng) for _ in range(4))
        gamma = families.normal(F32, (70,), rng)
        wide = x.astype(float) + residual.astype(float)
        rms = np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
        xhat, h = wide / rms, dy.astype(float) * gamma
        got = oracle.rmsnorm_forward(F32, {"x": x, "residual": residual, "gamma": gamma},
                                     {"eps": "1e-5"})
        self.close(got["sum"], wide)
        self.close(got["y"], xhat * gamma)
        got = oracle.rmsnorm_backward(F32, {"dy": dy, "x": got["sum"], "gamma": gamma, "dsum": dsum,
                                            "rstd": got["rstd"]}, {})
        self.close(got["dgamma"], (dy * xhat).sum(0))
        self.close(got["dx"], (h - xhat * (h * xhat).mean(1, keepdims=True)) / rms + dsum)

    def test_softmax(self):
        rng = families.generator("softmax mathematics")
        x, dy = (families.normal(F32, (9, 70), rng) for _ in range(2))
        y = np.exp(x.astype(float)) / np.exp(x.astype(float)).sum(1, keepdims=True)
        self.close(oracle.softmax_forward(F32, {"x": x}, {})["y"], y)
        got = oracle.softmax_backward(F32, {"dy": dy, "y": y.astype(np.float32)}, {})
        self.close(got["dx"], y * (dy - (dy * y).sum(1, keepdims=True)))

    def test_cross_entropy_gradient_is_the_slope_of_its_loss(self):
        x = families.normal(F32, (6, 11), families.generator("cross entropy"))
        labels = np.array([0, 10, 3, 3, -100, 7])
        options = {"label_smoothing": "0.125", "z_loss": "0.0625", "scale": "0.5",
                   "ignore_index": "-100"}

        def loss(x):
            lse = np.log(np.exp(x).sum(1))
            rows = np.arange(6)
            value = (0.875 * (lse - x[rows, labels % 11]) + 0.125 * (lse - x.mean(1))
                     + 0.0625 * lse**2)
            return np.where(labels == -100, 0, value)

        operands = {"logits": x, "labels": labels}
        got = oracle.cross_entropy_forward_backward(F32, operands, options)
        mean = oracle.cross_entropy_forward_backward(F32, operands, options | {"reduction": "mean"})
        x = x.astype(float)
        self.close(got["loss"], loss(x))
        for j in range(11):
            nudge = 1e-6 * (np.arange(11) == j)
            slope = (loss(x + nudge) - loss(x - nudge)) / 2e-6
            self.close(Enclosure(got["grad"].lo[:, j], got["grad"].hi[:, j]), 0.5 * slope)
            # of the mean over the five rows that count
            self.close(Enclosure(mean["grad"].lo[:, j], mean["grad"].hi[:, j]), 0.5 * slope / 5)

    def test_gemm_and_gradients(self):
        rng = families.generator("gemm mathematics")
        a, b, dc = (families.normal(F32, shape, rng) for shape in ((4, 5), (5, 6), (4, 6)))
        self.close(oracle.gemm_forward(F32, {"a": a, "b": b}, {})["c"], a @ b)
        self.close(oracle.gemm_grad_a(F32, {"dc": dc, "b": b}, {})["da"], dc @ b.T)
        self.close(oracle.gemm_grad_b(F32, {"dc": dc, "a": a}, {})["db"], a.T @ dc)

    def test_embedding(self):
        rng = families.generator("embedding mathematics")
        index = np.array([2, 0, 2, 3, 2])
        for storage, tolerance in ((F16, 2e-3), (BF16, 2e-2), (F32, 1e-6)):
            dy = families.normal(storage, (5, 4), rng)
            want = np.zeros((6, 4))
            np.add.at(want, index, storage.widen(dy).astype(float))
            got = oracle.embedding_backward(storage, {"dy": dy, "index": index}, {"vocab": "6"})
            self.close(storage.widen(got["dweight"]), want, tolerance)
            want[3] = 0
            options = {"vocab": "6", "padding_index": "3"}
            operands = {"dy": dy, "index": index, "dweight": np.ones((6, 4), np.float32)}
            got = oracle.embedding_backward(storage, operands, options)
            self.close(got["dweight"], want + 1)
            got = oracle.embedding_forward(storage, {"weight": dy, "index": np.array([4, 1])},
                                           {"padding_index": "1"})
            np.testing.assert_array_equal(got["y"], [dy[4], np.zeros(4)])


class OneStepChanged(unittest.TestCase):
    """Each change is one a library could plausibly make; each must change bits."""

    def differs(self, operator, operands, options, name, target, replacement):
        right = oracle.OPERATORS[operator](F32, operands, options)[name]
        with mock.patch.dict(oracle.OPERATORS[operator].__globals__, {target: replacement}):
            wrong = oracle.OPERATORS[operator](F32, operands, options)[name]
        self.assertTrue((np.asarray(right) != np.asarray(wrong)).any(), (operator, target))

    def test_contracted_or_separated_fma(self):
        def separate(a, b, c):
            return np.asarray(np.float32(a) * b + c, np.float32)

        for name in ("theta", "m", "v"):
            self.differs("adamw.step", adamw_operands(F32, 50000), ADAMW, name, "fma", separate)
        operands = layernorm_operands(F32, 20, 30)
        self.differs("layernorm.forward", operands, {"eps": "1e-5"}, "y", "fma", separate)
        self.differs("layernorm.backward", operands, {}, "dx", "fma", separate)
        self.differs("gemm.forward", {"a": operands["x"], "b": operands["x"].T.copy()}, {}, "c",
                     "fma", separate)

    def test_reductions_in_another_order(self):
        def reverse_rows(a, b):
            return rowsum(a[:, ::-1] * b[:, ::-1])

        def reverse_columns(a, b):
            return colsum(a[::-1] * b[::-1])

        operands = layernorm_operands(F32, 70, 300)
        self.differs("layernorm.forward", operands, {"eps": "1e-5"}, "rstd", "rowsum_fma",
                     reverse_rows)
        self.differs("layernorm.backward", operands, {}, "dgamma", "colsum_fma", reverse_columns)
        y = oracle.softmax_forward(F32, {"x": operands["x"]}, {})["y"].lo
        self.differs("softmax.backward", {"dy": operands["dy"], "y": y}, {}, "dx", "rowsum_fma",
                     reverse_rows)

    def outside(self, bounds, values):
        return ~((bounds.lo <= values) & (values <= bounds.hi))

    def test_softmax_with_exponentials_rounded_to_storage(self):
        x = families.normal(F16, (20, 70), families.generator("rounded exponentials"))
        e = np.exp(F16.widen(x) - column(rowmax(F16.widen(x))))
        total = column(rowsum(e))
        bounds = oracle.softmax_forward(F16, {"x": x}, {})["y"]
        self.assertFalse(self.outside(bounds, F16.round(e * (1 / total))).any())
        narrowed = F16.widen(F16.round(e))
        self.assertTrue(self.outside(bounds, F16.round(narrowed * (1 / total))).any())

    def test_cross_entropy_loss_that_cancels(self):
        logits = np.float32([[1000, 988]])
        operands = {"logits": logits, "labels": np.array([0])}
        bounds = oracle.cross_entropy_forward_backward(F32, operands, {})["loss"]
        ls = np.float32(np.log1p(np.exp(-12.0)))
        self.assertFalse(self.outside(bounds, ls + (logits[0, 0] - logits[0, 0])).any())
        self.assertTrue(self.outside(bounds, (ls + logits[0, 0]) - logits[0, 0]).all())

    def test_power_by_another_route(self):
        # beta^t multiplied up one factor at a time rounds differently somewhere in these steps
        def one_by_one(base, exponent):
            return np.prod(np.full(exponent, np.float64(base)))

        base = np.float32(0.999)
        self.assertTrue(any(one_by_one(base, t) != oracle.power(base, t) for t in range(2, 60)))


if __name__ == "__main__":
    unittest.main()
