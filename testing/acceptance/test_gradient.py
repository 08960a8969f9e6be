# gradient.norm over lists of tensors and adamw.step behind it, on the devices reference and cpu, against the independent
# oracle bit for bit.
import numpy as np

import families
import oracle
from binary32 import BF16, F16, F32, STORAGES
from harness import CommandTest, compare_bits
from test_operators_lists import ADAMW, adamw_operands


def draw(kinds, lengths, family, rng):
    return {"grad": [family(kind, (n,), rng) if n else kind.from_bits([])
                     for kind, n in zip(kinds, lengths)]}


class GradientNorm(CommandTest):
    def check(self, storage, operands, options=None, threads=None):
        return self.check_operator("gradient.norm", storage, operands, options, threads=threads)

    def test_lengths_and_families(self):
        for storage in STORAGES:
            for length in (1, 255, 257, 2047, 2048, 2049, 4099):
                for family in (*families.FAMILIES, families.mixed):
                    rng = families.generator(f"norm {length} {family.__name__}")
                    with self.subTest(storage=storage.name, n=length, family=family.__name__):
                        self.check(storage, draw([storage], [length], family, rng), threads=2)

    def test_tensors_begin_blocks_of_their_own_and_empty_ones_give_none(self):
        rng = families.generator("own blocks")
        lists = ([5, 1], [300, 7, 4097, 1, 64], [3, 0, 2], [0, 9], [0], [0, 0, 0], [2047] * 40 + [0, 1],
                 [1] * 70, [70001, 0, 3])
        for storage in STORAGES:
            for lengths in lists:
                with self.subTest(storage=storage.name, lengths=lengths[:5]):
                    self.check(storage, draw([storage] * len(lengths), lengths, families.normal, rng), threads=3)

    def test_each_tensor_has_a_type_of_its_own(self):
        rng = families.generator("own types")
        lengths = [300, 0, 5000, 17, 2048, 3]
        for kinds in ([F16, F32] * 3, [BF16, F32] * 3, [F32, F16, F16, F32, F16, F32]):
            storage = BF16 if BF16 in kinds else F16
            self.check(storage, draw(kinds, lengths, families.normal, rng))

    def test_options(self):
        rng = families.generator("norm options")
        operands = draw([F32], [700], families.normal, rng)
        for change in ({"max_norm": "0"}, {"max_norm": "0.01"}, {"max_norm": "1e30"}, {"grad_scale": "0"},
                       {"grad_scale": "1e-30"}, {"grad_scale": "3e38"}, {"max_norm": "26.5", "grad_scale": "0.33"}):
            with self.subTest(**change):
                self.check(F32, operands, change)

    def test_tensors_of_any_shape(self):
        shapes = [(6, 50), (300,), (), (3, 0, 2), (2, 3, 5, 7)]
        flat = draw([F16] * 5, [int(np.prod(s)) for s in shapes], families.normal, families.generator("norm shapes"))
        shaped = {"grad": [a.reshape(s) for a, s in zip(flat["grad"], shapes)]}
        self.check_operator("gradient.norm", F16, shaped, expected=oracle.OPERATORS["gradient.norm"](F16, flat, {}))


class AdamwBehindIt(CommandTest):
    def one(self, value):
        return np.array([value], np.float32)

    def test_scale_is_a_second_factor(self):
        for storage in STORAGES:
            rng = families.generator("scaled step")
            operands = adamw_operands(storage, [40, 0, 300], families.normal, rng)
            for scale in (1, 0.37, 0, np.nan, 1e-30):
                with self.subTest(storage=storage.name, scale=scale):
                    self.check_operator("adamw.step", storage, {**operands, "scale": self.one(scale)},
                                        {**ADAMW, "grad_scale": "0.3"}, threads=2)

    def test_with_a_norm_the_skip_looks_at_the_norm_alone(self):
        rng = families.generator("skip by norm")
        good = adamw_operands(F16, [40, 50], families.normal, rng)
        bad = {**good, "grad": [g.copy() for g in good["grad"]]}
        bad["grad"][1][49] = np.inf
        for operands in (good, bad):
            for norm in (3, np.inf, np.nan):
                for skip in ("0", "1"):
                    with self.subTest(bad=operands is bad, norm=norm, skip=skip):
                        given = {**operands, "norm": self.one(norm), "scale": self.one(0.5)}
                        got = self.check_operator("adamw.step", F16, given, {**ADAMW, "skip_nonfinite": skip})
                        skipped = skip == "1" and not np.isfinite(norm)
                        self.assertEqual(got["outcome"][0][0], int(skipped))
                        if skipped:
                            compare_bits(got["theta"][1], operands["theta"][1], "theta of a skipped step")
                            self.assertIn("norm is not finite", self.said)

    def test_a_call_has_one_scale(self):
        operands = adamw_operands(F16, [4, 5], families.normal, families.generator("one scale"))
        given = {**operands, "scale": [self.one(1), self.one(1)]}
        outputs = [w for name in ("theta", "m", "v") for i in range(2) for w in ("--out", f"{name}={self.folder}/o{name}{i}.npy")]
        result = self.command("run", "adamw.step", *self.save(given), "--set", "t=1", *outputs)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("scale is given 2 times; it takes one", result.stderr)
