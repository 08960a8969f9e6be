# Every operator on the devices reference and cpu against the independent oracle, bit for bit
# (softmax.forward and cross_entropy: within the enclosure that 1 ulp of exp and log allows, and the
# two devices equal in bits). Shapes sit around 256 and 2048 columns and around 32 and 1024 rows.
import unittest

import numpy as np

import families
import oracle
from binary32 import F16, F32, STORAGES
from harness import CommandTest, compare_bits

SHAPES = ((1, 1), (3, 5), (7, 255), (2, 256), (2, 257), (3, 2047), (2, 2048), (2, 2049), (1, 4100),
          (33, 17), (65, 31), (1025, 3))
MIXED_COLS = (1, 2, 7, 64, 255, 257, 2049, 4609)
MIXED_ROWS = 2 * len(families.FAMILIES)
THREADS = (None, 1, 2, 5)


class EveryOperator(CommandTest):
    """Each operator's own small problem (operators/*/oracle.py), in every type and family of data."""

    def test_small_problems(self):
        for operator, problem in oracle.PROBLEMS.items():
            for storage in STORAGES:
                for family in families.FAMILIES:
                    with self.subTest(f"{operator} {storage.name} {family.__name__}"):
                        operands, options = problem(oracle.Data(storage, family))
                        self.check_operator(operator, storage, operands, options)


class RowProblems(CommandTest):
    def each_problem(self, operator):
        """Name, storage type, shape, family, generator and threads of every row problem."""
        problems = [(shape, families.normal) for shape in SHAPES]
        problems += [((MIXED_ROWS, cols), families.mixed) for cols in MIXED_COLS]
        for storage in STORAGES:
            for number, (shape, family) in enumerate(problems):
                name = f"{operator} {storage.name} {shape} {family.__name__}"
                yield (name, storage, shape, family, families.generator(name),
                       THREADS[number % len(THREADS)])


class LayerNorm(RowProblems):
    def test_forward(self):
        for name, storage, shape, family, rng, threads in self.each_problem("layernorm.forward"):
            with self.subTest(name):
                operands = {"x": family(storage, shape, rng),
                            "gamma": families.normal(storage, shape[1:], rng),
                            "beta": families.normal(storage, shape[1:], rng)}
                self.check_operator("layernorm.forward", storage, operands,
                                    {"eps": "1e-5"}, threads=threads)

    def test_forward_parameters_of_every_family(self):
        for storage in STORAGES:
            rng = families.generator("parameters")
            operands = {"x": families.normal(storage, (4, 300), rng),
                        "gamma": families.mixed(storage, (300,), rng),
                        "beta": families.mixed(storage, (300,), rng)[::-1].copy()}
            for eps in ("0", "1e-12", "1e30"):
                self.check_operator("layernorm.forward", storage, operands, {"eps": eps})

    def test_forward_constant_rows_without_eps(self):
        rng = families.generator("constant")
        for storage in STORAGES:
            operands = {"x": families.constant(storage, (3, 64), rng),
                        "gamma": families.normal(storage, (64,), rng),
                        "beta": families.normal(storage, (64,), rng)}
            self.check_operator("layernorm.forward", storage, operands, {"eps": "0"})

    def test_backward(self):
        for name, storage, shape, family, rng, threads in self.each_problem("layernorm.backward"):
            with self.subTest(name):
                operands = {"x": family(storage, shape, rng),
                            "gamma": families.normal(storage, shape[1:], rng),
                            "beta": families.normal(storage, shape[1:], rng)}
                forward = oracle.layernorm_forward(storage, operands, {"eps": "1e-5"})
                operands = {"dy": families.normal(storage, shape, rng), "x": operands["x"],
                            "gamma": operands["gamma"], "mean": forward["mean"],
                            "rstd": forward["rstd"]}
                self.check_operator("layernorm.backward", storage, operands, threads=threads)

    def test_of_a_sum(self):
        for name, storage, shape, family, rng, threads in self.each_problem("layernorm sum"):
            for kept in {storage, F32}:  # the residual's type, and the sum's
                with self.subTest(name, kept=kept.name):
                    operands = {"x": family(storage, shape, rng),
                                "residual": family(kept, shape, rng)[::-1].copy(),
                                "gamma": families.normal(storage, shape[1:], rng),
                                "beta": families.normal(storage, shape[1:], rng)}
                    self.check_operator("layernorm.forward", storage, operands, {"eps": "1e-5"},
                                        threads=threads)
                    forward = oracle.layernorm_forward(storage, operands, {"eps": "1e-5"})
                    operands = {"dy": families.normal(storage, shape, rng), "x": forward["sum"],
                                "gamma": operands["gamma"], "mean": forward["mean"],
                                "rstd": forward["rstd"], "dsum": family(kept, shape, rng)}
                    self.check_operator("layernorm.backward", storage, operands, threads=threads)

    def test_backward_column_sums_of_every_family(self):
        for storage in STORAGES:
            for family in families.FAMILIES:
                for rows in (1, 32, 33, 1057):
                    rng = families.generator(f"columns {family.__name__} {rows}")
                    shape = rows, 5
                    operands = {"dy": family(storage, shape, rng),
                                "x": families.normal(storage, shape, rng),
                                "gamma": families.normal(storage, (5,), rng),
                                "mean": families.normal(F32, (rows,), rng),
                                "rstd": np.abs(families.normal(F32, (rows,), rng))}
                    with self.subTest(storage=storage.name, family=family.__name__, rows=rows):
                        self.check_operator("layernorm.backward", storage, operands, threads=2)

    def test_statistics_of_every_family(self):
        rng = families.generator("statistics")
        operands = {"dy": families.normal(F16, (40, 9), rng),
                    "x": families.normal(F16, (40, 9), rng),
                    "gamma": families.normal(F16, (9,), rng),
                    "mean": families.mixed(F32, (40,), rng),
                    "rstd": families.mixed(F32, (40,), rng)[::-1].copy()}
        self.check_operator("layernorm.backward", F16, operands)

    def test_outputs_may_be_left_out(self):
        rng = families.generator("left out")
        x, dy = (families.normal(F16, (35, 20), rng) for _ in range(2))
        gamma, beta = (families.normal(F16, (20,), rng) for _ in range(2))
        operands = {"x": x, "gamma": gamma, "beta": beta}
        self.check_operator("layernorm.forward", F16, operands, {"eps": "1e-5"}, outputs=["y"])
        forward = oracle.layernorm_forward(F16, operands, {"eps": "1e-5"})
        operands = {"dy": dy, "x": x, "gamma": gamma, "mean": forward["mean"],
                    "rstd": forward["rstd"]}
        self.check_operator("layernorm.backward", F16, operands, outputs=["dx"])

    def test_a_column_sum_of_underflowed_products_keeps_its_minus_zero(self):
        # 32 rows are one chain, fma(-tiny, tiny, +-0) underflows to -0 and -0 remains; a 33rd row
        # starts a second level from +0
        for rows in (1, 32, 33):
            operands = {"dy": np.full((rows, 2), -1e-30, np.float32),
                        "x": np.full((rows, 2), 1e-30, np.float32),
                        "gamma": np.ones(2, np.float32), "mean": np.zeros(rows, np.float32),
                        "rstd": np.ones(rows, np.float32)}
            expected = self.check_operator("layernorm.backward", F32, operands)
            self.assertEqual(np.signbit(expected["dgamma"][0]).all(), rows <= 32)


class RmsNorm(RowProblems):
    def test_forward(self):
        for name, storage, shape, family, rng, threads in self.each_problem("rmsnorm.forward"):
            with self.subTest(name):
                operands = {"x": family(storage, shape, rng),
                            "gamma": families.normal(storage, shape[1:], rng)}
                self.check_operator("rmsnorm.forward", storage, operands, {"eps": "1e-5"},
                                    threads=threads)

    def test_forward_of_a_sum(self):
        for name, storage, shape, family, rng, threads in self.each_problem("rmsnorm.forward sum"):
            for kept in {storage, F32}:  # the residual's type, and the sum's
                with self.subTest(name, kept=kept.name):
                    operands = {"x": family(storage, shape, rng),
                                "residual": family(kept, shape, rng)[::-1].copy(),
                                "gamma": families.normal(kept, shape[1:], rng)}
                    self.check_operator("rmsnorm.forward", storage, operands, {"eps": "1e-5"},
                                        threads=threads)

    def test_backward(self):
        for name, storage, shape, family, rng, threads in self.each_problem("rmsnorm.backward"):
            with self.subTest(name):
                self.check_operator("rmsnorm.backward", storage,
                                    self.gradient(storage, storage, shape, family, rng),
                                    threads=threads)

    def test_backward_with_dsum(self):
        for name, storage, shape, family, rng, threads in self.each_problem("rmsnorm.backward sum"):
            for kept in {storage, F32}:
                with self.subTest(name, kept=kept.name):
                    operands = self.gradient(storage, kept, shape, family, rng)
                    operands["dsum"] = family(kept, shape, rng)
                    self.check_operator("rmsnorm.backward", storage, operands, threads=threads)

    def test_backward_column_sums_of_every_family(self):
        for storage in STORAGES:
            for family in families.FAMILIES:
                for rows in (1, 32, 33, 1057):
                    rng = families.generator(f"columns {family.__name__} {rows}")
                    operands = {"dy": family(storage, (rows, 5), rng),
                                "x": families.normal(storage, (rows, 5), rng),
                                "gamma": families.normal(storage, (5,), rng),
                                "rstd": np.abs(families.normal(F32, (rows,), rng))}
                    with self.subTest(storage=storage.name, family=family.__name__, rows=rows):
                        self.check_operator("rmsnorm.backward", storage, operands, threads=2)

    @staticmethod
    def gradient(storage, kept, shape, family, rng):
        """Operands of the backward: of the forward's own x, in another type where it was a sum."""
        gamma = families.normal(kept, shape[1:], rng)
        x = family(kept, shape, rng)
        forward = oracle.rmsnorm_forward(kept, {"x": x, "gamma": gamma}, {"eps": "1e-5"})
        return {"dy": families.normal(storage, shape, rng), "x": x, "gamma": gamma,
                "rstd": forward["rstd"]}


class Softmax(RowProblems):
    def test_forward(self):
        for name, storage, shape, family, rng, threads in self.each_problem("softmax.forward"):
            with self.subTest(name):
                self.check_operator("softmax.forward", storage, {"x": family(storage, shape, rng)},
                                    threads=threads)

    def test_backward(self):
        for name, storage, shape, family, rng, threads in self.each_problem("softmax.backward"):
            with self.subTest(name):
                x = families.normal(storage, shape, rng)
                operands = {"dy": family(storage, shape, rng),
                            "y": oracle.softmax_forward(storage, {"x": x}, {})["y"].lo}
                self.check_operator("softmax.backward", storage, operands, threads=threads)
                operands = {"dy": operands["y"], "y": operands["dy"]}
                self.check_operator("softmax.backward", storage, operands, threads=threads)

    def test_backward_first_block_starts_the_chain(self):
        # every lane of the block underflows to -0, so the dot product is -0, not +0
        dy, y = np.full((1, 512), -1e-30, np.float32), np.full((1, 512), 1e-30, np.float32)
        dy[0, 256:], y[0, 256:] = -0.0, 1
        results = self.check_operator("softmax.backward", F32, {"dy": dy, "y": y})
        self.assertFalse(np.signbit(results["dx"][0][0, 256:]).any())


class CrossEntropy(RowProblems):
    OPTIONS = ({}, {"ignore_index": "-100"}, {"label_smoothing": "0.1"}, {"z_loss": "1e-4"},
               {"scale": "0.0078125"},
               {"ignore_index": "1", "label_smoothing": "0.3", "z_loss": "0.01", "scale": "-3"},
               {"reduction": "sum", "ignore_index": "-100"}, {"reduction": "mean"},
               {"reduction": "mean", "ignore_index": "1", "label_smoothing": "0.3", "scale": "-3"})

    def labels(self, rows, classes, options, rng, dtype):
        labels = rng.integers(0, classes, rows).astype(dtype)
        if "ignore_index" in options:
            labels[rng.random(rows) < 0.3] = int(options["ignore_index"])
        return labels

    def test_forward_backward(self):
        problems = self.each_problem("cross_entropy.forward_backward")
        for number, (name, storage, shape, family, rng, threads) in enumerate(problems):
            with self.subTest(name):
                options = self.OPTIONS[number % len(self.OPTIONS)]
                dtype = ("<i4", "<i8")[number % 2]
                operands = {"logits": family(storage, shape, rng),
                            "labels": self.labels(*shape, options, rng, dtype)}
                self.check_operator("cross_entropy.forward_backward", storage, operands, options,
                                    threads=threads)

    def test_every_option_with_every_type(self):
        for storage in STORAGES:
            for options in self.OPTIONS:
                rng = families.generator(f"options {options}")
                operands = {"logits": families.mixed(storage, (MIXED_ROWS, 37), rng),
                            "labels": self.labels(MIXED_ROWS, 37, options, rng, "<i8")}
                with self.subTest(storage=storage.name, options=options):
                    self.check_operator("cross_entropy.forward_backward", storage, operands,
                                        options)

    def test_mean_loss_and_count(self):
        for rows in (1, 33, 1100):
            for options in ({"reduction": "sum"}, {"reduction": "mean", "ignore_index": "-100"}):
                rng = families.generator(f"mean {rows}")
                operands = {"logits": families.normal(F16, (rows, 6), rng),
                            "labels": self.labels(rows, 6, options, rng, "<i4")}
                self.check_mean(operands, options)

    def test_mean_of_no_rows_is_nan(self):
        operands = {"logits": np.ones((3, 4), np.float16), "labels": np.full(3, -100, "<i8")}
        self.check_mean(operands, {"ignore_index": "-100", "reduction": "sum"})
        self.check_mean(operands, {"ignore_index": "-100", "reduction": "mean"})

    def test_gradient_of_the_mean_of_no_rows_is_zero(self):
        operands = {"logits": np.full((3, 4), np.nan, np.float16),
                    "labels": np.full(3, -100, "<i8")}
        got = self.check_operator("cross_entropy.forward_backward", F16, operands,
                                  {"ignore_index": "-100", "reduction": "mean"})
        self.assertFalse(got["grad"][0].view(np.uint16).any())

    def check_mean(self, operands, options):
        counts = {"loss": 1, "grad": 1, "mean_loss": 1, "count": 1}
        for device in ("reference", "cpu"):
            got = self.run_operator("cross_entropy.forward_backward", F16, operands, options,
                                    counts, "--device", device)
            expected = oracle.mean_loss(got["loss"][0], operands["labels"], options)
            for name, want in expected.items():
                compare_bits(got[name][0], want, f"{name} on {device}, {options}")

    def test_loss_of_a_confident_row_survives(self):
        logits = np.zeros((1, 2), np.float32)
        logits[0] = 1000, 988
        operands = {"logits": logits, "labels": np.array([0], "<i4")}
        got = self.check_operator("cross_entropy.forward_backward", F32, operands)
        self.assertGreater(got["loss"][0][0], 0)

    def test_gradient_over_the_logits_file(self):
        rng = families.generator("in place")
        operands = {"logits": families.normal(F16, (5, 40), rng),
                    "labels": self.labels(5, 40, {}, rng, "<i4")}
        counts = {"loss": 1, "grad": 1}
        want = self.run_operator("cross_entropy.forward_backward", F16, operands, {}, counts)
        inputs = self.save(operands)
        path = inputs[1].partition("=")[2]
        result = self.command("run", "cross_entropy.forward_backward", *inputs, "--out",
                              f"grad={path}")
        self.assertEqual(result.returncode, 0, result.stderr)
        compare_bits(np.load(path), want["grad"][0], "gradient over the logits")


class Gemm(CommandTest):
    SHAPES = ((1, 1, 1), (3, 5, 2), (5, 1, 7), (1, 300, 1), (16, 16, 16), (17, 33, 9), (2, 257, 31),
              (65, 7, 130), (20, 40, 20))

    def check_all(self, storage, m, k, n, family, threads):
        rng = families.generator(f"gemm {storage.name} {m} {k} {n}")
        a, b = family(storage, (m, k), rng), families.normal(storage, (k, n), rng)
        dc = family(storage, (m, n), rng)
        # grad_b sums over the rows of dc: there the families go by column, or NaN would be all
        by_column = np.ascontiguousarray(family(storage, (n, m), rng).T)
        normal_a = families.normal(storage, (m, k), rng)
        with self.subTest(storage=storage.name, m=m, k=k, n=n, family=family.__name__):
            self.check_operator("gemm.forward", storage, {"a": a, "b": b}, threads=threads)
            self.check_operator("gemm.grad_a", storage, {"dc": dc, "b": b}, threads=threads)
            self.check_operator("gemm.grad_b", storage, {"dc": by_column, "a": normal_a},
                                threads=threads)

    def test_normal_data(self):
        for storage in STORAGES:
            for number, shape in enumerate(self.SHAPES):
                self.check_all(storage, *shape, families.normal, THREADS[number % len(THREADS)])

    def test_every_family(self):
        for storage in STORAGES:
            for shape in ((MIXED_ROWS, 1, 5), (MIXED_ROWS, 70, 33)):
                self.check_all(storage, *shape, families.mixed, 2)

    def test_across_the_blocks_of_a_product(self):
        self.check_all(F16, 67, 530, 129, families.normal, 2)

    def test_huge_and_subnormal_products(self):
        for storage in STORAGES:
            for family in (families.huge, families.subnormal, families.any_bits,
                           families.signed_zero, families.cancelling):
                rng = families.generator(f"products {family.__name__}")
                operands = {"a": family(storage, (9, 20), rng), "b": family(storage, (20, 11), rng)}
                with self.subTest(storage=storage.name, family=family.__name__):
                    self.check_operator("gemm.forward", storage, operands)

    def test_every_arithmetic(self):
        """block15 and hopper against what the specification says, on data of every kind."""
        for storage in STORAGES:
            for arithmetic in ("block15", "hopper") if storage.name != "f32" else ("block15",):
                for family in (families.normal, families.huge, families.subnormal, families.any_bits,
                               families.signed_zero, families.cancelling, families.mixed):
                    for m, k, n in ((MIXED_ROWS, 20, 11), (3, 300, 17)):
                        rng = families.generator(f"{arithmetic} {family.__name__} {k}")
                        a = family(storage, (m, k), rng)
                        b = family(storage, (n, k), rng).T if k == 20 else families.normal(storage, (k, n), rng)
                        b = np.ascontiguousarray(b)
                        with self.subTest(storage=storage.name, arithmetic=arithmetic, family=family.__name__, k=k):
                            self.check_operator("gemm.forward", storage, {"a": a, "b": b},
                                                {"arithmetic": arithmetic})

    def test_starts_and_biases(self):
        for storage in STORAGES:
            for arithmetic in ("chain", "block15", "hopper") if storage.name != "f32" else ("chain", "block15"):
                rng = families.generator(f"starts {arithmetic}")
                a, b = (families.normal(storage, shape, rng) for shape in ((9, 150), (150, 31)))
                dc, bias = families.normal(storage, (9, 31), rng), families.normal(storage, (31,), rng)
                options = {"arithmetic": arithmetic}

                def start(*shape):
                    return (100 * rng.standard_normal(shape)).astype("<f4")

                with self.subTest(storage=storage.name, arithmetic=arithmetic):
                    self.check_operator("gemm.forward", storage,
                                        {"a": a, "b": b, "c0": start(9, 31), "bias": bias}, options)
                    self.check_operator("gemm.grad_a", storage,
                                        {"dc": dc, "b": b, "da0": start(9, 150)}, options)
                    self.check_operator("gemm.grad_b", storage,
                                        {"dc": dc, "a": a, "db0": start(150, 31)}, options)


class Grouped(CommandTest):
    def check_all(self, storage, offsets, k, n, options):
        m, groups = offsets[-1], len(offsets) - 1
        rng = families.generator(f"grouped {storage.name} {offsets} {k} {n}")
        a, b = families.normal(storage, (m, k), rng), families.normal(storage, (groups, k, n), rng)
        dc, offsets = families.mixed(storage, (m, n), rng), np.array(offsets, "<i8")
        start = {shape: rng.standard_normal(shape).astype("<f4") for shape in ((m, n), (m, k), (groups, k, n))}
        with self.subTest(storage=storage.name, offsets=offsets, k=k, n=n, **options):
            self.check_operator("grouped.forward", storage, {"a": a, "b": b, "offsets": offsets}, options)
            self.check_operator("grouped.grad_a", storage,
                                {"dc": dc, "b": b, "offsets": offsets, "da0": start[m, k]}, options)
            self.check_operator("grouped.grad_b", storage,
                                {"dc": dc, "a": a, "offsets": offsets, "db0": start[groups, k, n]}, options)

    def test_every_arithmetic(self):
        for storage in STORAGES:
            for arithmetic in ("chain", "block15", "hopper") if storage.name != "f32" else ("chain", "block15"):
                for offsets in ([0, 9], [0, 0, 1, 8, 8, 20], [0, 130, 300]):
                    self.check_all(storage, offsets, 20, 11, {"arithmetic": arithmetic})


if __name__ == "__main__":
    unittest.main()
