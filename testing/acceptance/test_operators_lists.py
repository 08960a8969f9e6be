# adamw.step over lists of tensors and the embedding operators, on the devices reference and cpu,
# against the independent oracle bit for bit, with every option.
import unittest

import numpy as np

import families
import oracle
from binary32 import F16, F32, STORAGES
from harness import CommandTest, compare_bits, option_arguments

ADAMW = {"lr": "1e-3", "beta1": "0.9", "beta2": "0.999", "eps": "1e-8", "weight_decay": "0.01",
         "t": "1"}


def adamw_operands(storage, lengths, family, rng):
    def draw(kind, make):
        return [make(kind, (n,), rng) if n else kind.from_bits([]) for n in lengths]

    operands = {"theta": draw(storage, family), "m": draw(F32, family), "v": draw(F32, family),
                "grad": draw(storage, family)}
    if family in families.FINITE:
        operands["v"] = [np.abs(v) for v in operands["v"]]
    return operands


class AdamW(CommandTest):
    def test_lengths_and_families(self):
        for storage in STORAGES:
            for length in (1, 3, 255, 2049):
                for family in (*families.FAMILIES, families.mixed):
                    rng = families.generator(f"adamw {length} {family.__name__}")
                    operands = adamw_operands(storage, [length], family, rng)
                    with self.subTest(storage=storage.name, n=length, family=family.__name__):
                        self.check_operator("adamw.step", storage, operands, ADAMW, threads=2)

    def test_many_elements(self):
        rng = families.generator("many")
        for storage in STORAGES:
            operands = adamw_operands(storage, [200003], families.normal, rng)
            self.check_operator("adamw.step", storage, operands, ADAMW, threads=5)

    def test_steps_and_hyperparameters(self):
        changes = ({"t": "2"}, {"t": "7"}, {"t": "1000"}, {"t": "1000003"}, {"t": "2147483647"},
                   {"beta1": "0", "beta2": "0"}, {"lr": "0"}, {"eps": "0"}, {"weight_decay": "0"},
                   {"beta1": "0.99999994", "beta2": "0.99999994"}, {"lr": "1e30"},
                   {"grad_scale": "0.0009765625"}, {"grad_scale": "-1.7"}, {"grad_scale": "3e38"},
                   {"grad_scale": "0"}, {"lr": "1e-45", "eps": "1e-45"},
                   {"beta1": "0.95", "beta2": "0.98", "t": "31", "grad_scale": "0.33"})
        rng = families.generator("hyperparameters")
        operands = adamw_operands(F16, [700], families.normal, rng)
        for change in changes:
            with self.subTest(**change):
                self.check_operator("adamw.step", F16, operands, {**ADAMW, **change})

    def test_decimal_text_is_rounded_once(self):
        # halfway between 1 and the next float, plus 1e-29: a detour over float64 gives 1
        options = {**ADAMW, "beta1": "0", "grad_scale": "1.00000005960464477539062500001"}
        one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
        operands = {"theta": [one], "m": [zero], "v": [zero], "grad": [one]}
        got = self.check_operator("adamw.step", F32, operands, options)
        self.assertEqual(got["m"][0][0], np.nextafter(np.float32(1), np.float32(2)))

    def test_several_tensors(self):
        rng = families.generator("several")
        for storage in STORAGES:
            for lengths in ([5, 1], [300, 7, 4097, 1, 64], [3, 0, 2], [0, 9]):
                operands = adamw_operands(storage, lengths, families.normal, rng)
                with self.subTest(storage=storage.name, lengths=lengths):
                    self.check_operator("adamw.step", storage, operands, ADAMW, threads=2)

    def test_tensors_of_any_shape(self):
        shapes = [(6, 50), (300,), (), (3, 0, 2), (2, 3, 5, 7), (1, 300)]
        rng = families.generator("shapes")
        for storage in STORAGES:
            flat = adamw_operands(storage, [int(np.prod(s)) for s in shapes], families.normal, rng)
            shaped = {name: [a.reshape(s) for a, s in zip(tensors, shapes)]
                      for name, tensors in flat.items()}
            expected = {name: [a.reshape(s) for a, s in zip(tensors, shapes)] for name, tensors in
                        oracle.adamw_step(storage, flat, ADAMW).items()}
            self.check_operator("adamw.step", storage, shaped, ADAMW, expected=expected)

    def test_master_weights(self):
        for storage in STORAGES:
            for family in (families.normal, families.any_bits, families.mixed):
                rng = families.generator(f"master {family.__name__}")
                operands = adamw_operands(storage, [300, 41], family, rng)
                operands["master"] = [family(F32, (n,), rng) for n in (300, 41)]
                # theta is not read: NaN there must not show
                operands["theta"] = [np.full(n, storage.from_bits([storage.nan_bits])[0])
                                     for n in (300, 41)]
                options = {**ADAMW, "grad_scale": "0.5", "t": "12"}
                with self.subTest(storage=storage.name, family=family.__name__):
                    self.check_operator("adamw.step", storage, operands, options)

    def test_skip_nonfinite_leaves_everything_unchanged(self):
        options = {**ADAMW, "skip_nonfinite": "1"}
        for storage in STORAGES:
            rng = families.generator("skip")
            operands = adamw_operands(storage, [40, 50], families.not_a_number, rng)
            operands["grad"] = [families.normal(storage, (n,), rng) for n in (40, 50)]
            for bad in (np.nan, np.inf, -np.inf):
                operands["grad"][1][49] = storage.round(np.float32([bad]))[0]
                with self.subTest(storage=storage.name, bad=bad):
                    self.check_operator("adamw.step", storage, operands, options)
                    self.assertRegex(self.said.lower(), "skip|not finite|non-?finite")

    def test_skip_nonfinite_looks_at_the_scaled_gradient(self):
        options = {**ADAMW, "skip_nonfinite": "1", "grad_scale": "1e35"}
        rng = families.generator("scaled")
        operands = adamw_operands(F16, [20], families.normal, rng)
        operands["grad"][0][7] = 65504
        expected = self.check_operator("adamw.step", F16, operands, options)
        compare_bits(expected["theta"][0], operands["theta"][0], "theta of a skipped step")

    def test_skip_nonfinite_with_finite_gradients_is_an_ordinary_step(self):
        rng = families.generator("not skipped")
        operands = adamw_operands(F16, [20], families.normal, rng)
        operands["m"][0][3] = np.inf  # only the gradient decides
        self.check_operator("adamw.step", F16, operands, {**ADAMW, "skip_nonfinite": "1"})
        self.check_operator("adamw.step", F16, operands, {**ADAMW, "skip_nonfinite": "0"})

    def test_state_written_over_its_own_files(self):
        operands = adamw_operands(F16, [30], families.normal, families.generator("own files"))
        inputs = self.save(operands)
        paths = dict(word.split("=", 1) for word in inputs[1::2])
        outputs = [w for name in ("theta", "m", "v") for w in ("--out", f"{name}={paths[name]}")]
        for _ in range(2):
            result = self.command("run", "adamw.step", *inputs, *option_arguments(ADAMW), *outputs)
            self.assertEqual(result.returncode, 0, result.stderr)
            operands.update(oracle.adamw_step(F16, operands, ADAMW))
        for name in ("theta", "m", "v"):
            compare_bits(np.load(paths[name]), operands[name][0], f"{name} after two steps")


def indices(kind, queries, vocab, rng):
    if kind == "uniform":
        return rng.integers(0, vocab, queries)
    if kind == "zipf":
        return np.minimum(rng.zipf(1.3, queries) - 1, vocab - 1)
    return np.full(queries, vocab // 2)


class Embedding(CommandTest):
    # queries, dim, vocab: one query, fewer and more queries than rows, chains beyond 32 and 1024
    SHAPES = ((1, 1, 1), (3, 5, 4), (7, 255, 3), (2, 257, 100), (70, 31, 2), (1100, 3, 50),
              (9, 2049, 6))
    KINDS = ("uniform", "zipf", "equal")

    def each_problem(self):
        for storage in STORAGES:
            for number, (queries, dim, vocab) in enumerate(self.SHAPES):
                for kind in self.KINDS:
                    name = f"{storage.name} {queries}x{dim} of {vocab} {kind}"
                    rng = families.generator(name)
                    index = indices(kind, queries, vocab, rng)
                    yield (name, storage, (queries, dim, vocab),
                           index.astype(("<i4", "<i8")[number % 2]), rng)

    def test_forward_copies_bits(self):
        for name, storage, (_, dim, vocab), index, rng in self.each_problem():
            with self.subTest(name):
                operands = {"weight": families.raw_bits(storage, (vocab, dim), rng), "index": index}
                self.check_operator("embedding.forward", storage, operands, threads=2)

    def test_forward_padding_reads_as_zeros(self):
        weight = families.not_a_number(F16, (4, 9), families.generator("padding"))
        operands = {"weight": weight, "index": np.array([3, 2, 2, 0, 1], "<i8")}
        self.check_operator("embedding.forward", F16, operands, {"padding_index": "2"})

    def test_backward(self):
        for name, storage, (queries, dim, vocab), index, rng in self.each_problem():
            with self.subTest(name):
                operands = {"dy": families.normal(storage, (queries, dim), rng), "index": index}
                self.check_operator("embedding.backward", storage, operands, {"vocab": str(vocab)},
                                    threads=2)

    def test_backward_every_family(self):
        for storage in STORAGES:
            for family in (*families.FAMILIES, families.mixed):
                rng = families.generator(f"segments {family.__name__}")
                operands = {"dy": family(storage, (200, 12), rng),
                            "index": indices("zipf", 200, 40, rng)}
                with self.subTest(storage=storage.name, family=family.__name__):
                    self.check_operator("embedding.backward", storage, operands, {"vocab": "41"})

    def test_backward_sums_that_f32_would_round(self):
        # 65504 and its negation hide the small terms from any binary32 chain, not from exact sums
        dy = np.tile(np.float16([[65504], [2.0**-24], [-65504], [2.0**-24]]), (300, 2))
        operands = {"dy": dy, "index": np.zeros(1200, "<i4")}
        got = self.check_operator("embedding.backward", F16, operands, {"vocab": "1"})
        self.assertEqual(got["dweight"][0][0, 0], np.float16(600 * 2.0**-24))

    def test_backward_padding_receives_no_gradient(self):
        rng = families.generator("no gradient")
        for storage in STORAGES:
            operands = {"dy": families.normal(storage, (30, 7), rng),
                        "index": rng.integers(0, 5, 30)}
            options = {"vocab": "5", "padding_index": "3"}
            self.check_operator("embedding.backward", storage, operands, options)
            operands["dweight"] = families.normal(F32, (5, 7), rng)
            self.check_operator("embedding.backward", storage, operands, options)

    def test_backward_accumulates(self):
        for storage in STORAGES:
            for family in (families.normal, families.huge, families.subnormal,
                           families.not_a_number, families.infinite):
                rng = families.generator(f"accumulate {family.__name__}")
                operands = {"dy": family(storage, (90, 7), rng),
                            "index": rng.integers(0, 8, 90).astype("<i4"),
                            "dweight": families.normal(F32, (9, 7), rng)}
                with self.subTest(storage=storage.name, family=family.__name__):
                    self.check_operator("embedding.backward", storage, operands, {"vocab": "9"})

    def test_backward_accumulates_the_sum_before_it_is_narrowed(self):
        # 2049 is no f16; rounded to f16 first it would arrive as 2048
        dy = np.float16([[2048], [1]])
        operands = {"dy": dy, "index": np.zeros(2, "<i8"), "dweight": np.zeros((1, 1), "<f4")}
        got = self.check_operator("embedding.backward", F16, operands, {"vocab": "1"})
        self.assertEqual(got["dweight"][0][0, 0], 2049)

    def test_backward_leaves_rows_nobody_asked_for(self):
        # g + 0 and an untouched g differ only in a NaN's payload and the sign of zero
        g = families.mixed(F32, (30, 6), families.generator("untouched"))
        operands = {"dy": np.ones((2, 6), np.float16), "index": np.array([4, 4]), "dweight": g}
        got = [self.run_operator("embedding.backward", F16, operands, {"vocab": "30"},
                                 {"dweight": 1}, "--device", device)["dweight"][0]
               for device in ("reference", "cpu")]
        compare_bits(got[1], got[0], "accumulated dweight, cpu with reference")
        untouched = np.arange(30) != 4
        np.testing.assert_array_equal(got[0][untouched], g[untouched])


if __name__ == "__main__":
    unittest.main()
