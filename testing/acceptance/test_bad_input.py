# Bad shapes, types, values, options and files: each is refused with exit code 2 and a message that
# names the operand, the value and the limit, and no output file is created or changed.
import os
import pathlib
import resource
import subprocess
import unittest

import numpy as np

import oracle
from binary32 import F16
from refusal import RefusalTest, valid_problem, word

BOTH = ("reference", "cpu")
UNUSABLE = ("nan", "inf", "-inf", "1e39", "abc", "1e-3x", "")  # 1e39 is beyond binary32
BELOW_ONE = (*UNUSABLE, "-0.1", "1", "1.5", "0.99999999")  # the last rounds to 1 in binary32
NO_INTEGER = ("1.5", "nan", "abc", "", "99999999999999999999")


def f16(*shape):
    return np.ones(shape, "<f2")


def f32(*shape):
    return np.ones(shape, "<f4")


class ValidProblems(RefusalTest):
    def test_the_problems_that_refusals_start_from_are_accepted(self):
        for operator in oracle.OPERATORS:
            operands, options, outputs = valid_problem(operator)
            with self.subTest(operator):
                self.run_operator(operator, F16, operands, options, dict.fromkeys(outputs, 1))


class Shapes(RefusalTest):
    MISMATCHED = (
        ("layernorm.forward", {"gamma": f16(41)}, ("gamma", 41, 40)),
        ("layernorm.forward", {"beta": f16(39)}, ("beta", 39, 40)),
        ("layernorm.backward", {"dy": f16(5, 40), "x": f16(6, 40)}, ("dy|x", 5, 6)),
        ("layernorm.backward", {"dy": f16(6, 41)}, ("dy|x", 41, 40)),
        ("layernorm.backward", {"gamma": f16(44)}, ("gamma", 44, 40)),
        ("layernorm.backward", {"mean": f32(7)}, ("mean", 7, 6)),
        ("layernorm.backward", {"rstd": f32(5)}, ("rstd", 5, 6)),
        ("softmax.backward", {"y": f16(6, 39)}, ("dy|y", 39, 40)),
        ("softmax.backward", {"y": f16(40, 6)}, ("dy|y", 40, 6)),
        ("cross_entropy.forward_backward", {"labels": np.zeros(9, "<i4")}, ("labels", 9, 6)),
        ("embedding.backward", {"index": np.zeros(8, "<i8")}, ("index|dy", 8, 7)),
        ("embedding.backward", {"dweight": f32(30, 13)}, ("dweight", 13, 12)),
        ("embedding.backward", {"dweight": f32(29, 12)}, ("dweight|vocab", 29, 30)),
        ("gemm.forward", {"b": f16(41, 50)}, ("a|b", 41, 40)),
        ("gemm.grad_a", {"b": f16(40, 51)}, ("dc|b", 51, 50)),
        ("gemm.grad_b", {"a": f16(7, 40)}, ("dc|a", 7, 6)),
        ("adamw.step", {"m": f32(39)}, ("m", 39, 40)),
        ("adamw.step", {"v": f32(41)}, ("v", 41, 40)),
        ("adamw.step", {"grad": f16(1)}, ("grad", 1, 40)),
        ("adamw.step", {"master": f32(42)}, ("master", 42, 40)),
    )

    def test_mismatched(self):
        for operator, operands, said in self.MISMATCHED:
            names, *sizes = said
            either = "|".join(word(name) for name in names.split("|"))
            with self.subTest(operator, said=said):
                self.check_refused(operator, [either, *map(word, sizes)], operands)

    def test_wrong_number_of_dimensions(self):
        for operator, name in (("softmax.forward", "x"), ("layernorm.forward", "x"),
                               ("gemm.forward", "a"), ("embedding.forward", "weight")):
            for shape in ((), (40,), (2, 3, 40), (1,) * 32):
                with self.subTest(operator, shape=shape):
                    self.check_refused(operator, [word(name)], {name: f16(*shape)})
        self.check_refused("layernorm.forward", [word("gamma")], {"gamma": f16(1, 2, 20)})
        self.check_refused("cross_entropy.forward_backward", [word("labels")],
                           {"labels": np.zeros((6, 1, 1), "<i4")})

    def test_empty_tensors(self):
        cases = (("softmax.forward", {"x": f16(0, 40)}, "x"),
                 ("softmax.forward", {"x": f16(6, 0)}, "x"),
                 ("layernorm.forward", {"x": f16(6, 0), "gamma": f16(0), "beta": f16(0)}, "x"),
                 ("cross_entropy.forward_backward",
                  {"logits": f16(0, 5), "labels": np.zeros(0, "<i4")}, "logits"),
                 ("embedding.forward", {"index": np.zeros(0, "<i8")}, "index"),
                 ("embedding.forward", {"weight": f16(0, 12)}, "weight"),
                 ("embedding.backward", {"dy": f16(7, 0)}, "dy"),
                 ("gemm.forward", {"a": f16(6, 0), "b": f16(0, 50)}, "a"),
                 ("gemm.grad_a", {"dc": f16(0, 50)}, "dc"),
                 ("gemm.grad_b", {"dc": f16(6, 0)}, "dc"))
        for operator, operands, name in cases:
            with self.subTest(operator, operand=name):
                self.check_refused(operator, [word(name)], operands)

    def test_lists_of_tensors(self):
        def operands(lengths, **changed):
            return {name: [dtype(n) for n in changed.get(name, lengths)] for name, dtype in
                    (("theta", f16), ("m", f32), ("v", f32), ("grad", f16))}

        lengths = [40, 41, 42, 43]
        outputs = [(name, self.folder / f"out-{name}-{i}.npy") for name in ("theta", "m", "v")
                   for i in range(4)]
        # the list index counts from 0
        self.check_refused("adamw.step", [word("grad"), word(2), word(42), word(17)],
                           operands(lengths, grad=[40, 41, 17, 43]), outputs=outputs)
        self.check_refused("adamw.step", [word("m")], operands(lengths, m=[40, 41, 42]),
                           outputs=outputs)
        self.check_refused("adamw.step", [word("theta")], operands([0, 0]),
                           outputs=outputs[0:2] + outputs[4:6] + outputs[8:10])
        self.check_refused("adamw.step", [word("theta")], operands([0]),
                           outputs=outputs[0:1] + outputs[4:5] + outputs[8:9])

    def test_what_is_worked_on_in_place_and_not_written(self):
        names = ("theta", "m", "v", "master")
        for left_out in names:
            outputs = [(name, self.folder / f"out-{name}.npy") for name in names if name != left_out]
            with self.subTest(left_out):
                self.check_refused("adamw.step", [word(left_out), "in place", "--out"],
                                   {"master": f32(40)}, outputs=outputs)

    def test_operands_of_a_tensor_of_different_shapes(self):
        for shape in ((40, 1), (5, 8), (4, 10), (2, 2, 10), ()):
            with self.subTest(shape=shape):
                self.check_refused("adamw.step", [word("m"), word("theta"), "shape"],
                                   {"theta": f16(8, 5), "m": f32(*shape), "v": f32(8, 5),
                                    "grad": f16(8, 5)})


class Types(RefusalTest):
    CASES = (
        ("softmax.forward", {"x": np.ones((6, 40), "<f8")}, "x"),
        ("softmax.forward", {"x": np.ones((6, 40), "<i4")}, "x"),
        ("softmax.forward", {"x": np.ones((6, 40), "<c8")}, "x"),
        ("softmax.forward", {"x": np.ones((6, 40), bool)}, "x"),
        ("softmax.forward", {"x": np.ones((6, 40), "<u2")}, "x"),
        ("softmax.forward", {"x": np.full((6, 40), "text")}, "x"),
        ("softmax.backward", {"y": f32(6, 40)}, "dy|y"),
        ("layernorm.forward", {"gamma": f32(40)}, "gamma|x"),
        ("layernorm.backward", {"mean": f16(6)}, "mean"),
        ("layernorm.backward", {"rstd": np.ones(6, "<f8")}, "rstd"),
        ("cross_entropy.forward_backward", {"labels": f32(6)}, "labels"),
        ("cross_entropy.forward_backward", {"labels": np.zeros(6, "<i2")}, "labels"),
        ("cross_entropy.forward_backward", {"labels": np.zeros(6, "<u8")}, "labels"),
        ("embedding.forward", {"index": f16(7)}, "index"),
        ("embedding.backward", {"index": np.zeros(7, "<u4")}, "index"),
        ("embedding.backward", {"dweight": f16(30, 12)}, "dweight"),
        ("adamw.step", {"m": f16(40)}, "m"),
        ("adamw.step", {"v": np.ones(40, "<f8")}, "v"),
        ("adamw.step", {"grad": f32(40)}, "grad|theta"),
        ("adamw.step", {"master": f16(40)}, "master"),
        ("gemm.forward", {"b": f32(40, 50)}, "a|b"),
    )

    def test_wrong_types(self):
        for operator, operands, names in self.CASES:
            with self.subTest(operator, operands={k: v.dtype for k, v in operands.items()}):
                either = "|".join(word(name) for name in names.split("|"))
                self.check_refused(operator, [either], operands)

    def test_a_type_that_contradicts_the_file(self):
        self.check_refused("softmax.forward", [word("x")], extra=["--dtype", "bf16"])
        self.check_refused("softmax.forward", [word("x")], extra=["--dtype", "f32"])
        self.check_refused("softmax.forward", ["f8"], extra=["--dtype", "f8"])


class OutOfRange(RefusalTest):
    VALUES = (-1, 50, 2**31 - 1, -(2**31), 2**32, 2**32 + 1, 2**63 - 1, -(2**63))

    def test_labels(self):
        for value in self.VALUES:
            for dtype in ("<i4", "<i8"):
                if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
                    labels = np.array([3, 0, 49, 7, value, 7], dtype)
                    with self.subTest(value=value, dtype=dtype):
                        self.check_refused("cross_entropy.forward_backward",
                                           [word("labels"), word(4), word(value), "49|50"],
                                           {"labels": labels}, devices=BOTH)

    def test_indices(self):
        for operator in ("embedding.forward", "embedding.backward"):
            for value in (-1, 30, 2**31 - 1, 2**32, 2**63 - 1, -(2**63)):
                index = np.array([1, 2, 3, 29, 0, value, 3], "<i8")
                with self.subTest(operator, value=value):
                    self.check_refused(operator, [word("index"), word(5), word(value), "29|30"],
                                       {"index": index}, devices=BOTH)

    def test_the_first_position_is_named(self):
        index = np.array([1, 2, 77, 29, 88, 99, 66], "<i4")
        self.check_refused("embedding.forward", [word(2), word(77)], {"index": index}, devices=BOTH)
        labels = np.array([1, 60, 61, 62, 63, 64], "<i4")
        self.check_refused("cross_entropy.forward_backward", [word(1), word(60)],
                           {"labels": labels}, devices=BOTH)

    def test_an_ignored_label_hides_no_other(self):
        labels = np.array([-100, 1, -100, -101, 5, 6], "<i8")
        self.check_refused("cross_entropy.forward_backward",
                           [word("labels"), word(3), word(-101)], {"labels": labels},
                           {"ignore_index": "-100"}, devices=BOTH)


class Options(RefusalTest):
    CASES = {
        ("adamw.step", "lr"): (*UNUSABLE, "-1"),
        ("adamw.step", "eps"): (*UNUSABLE, "-1"),
        ("adamw.step", "weight_decay"): (*UNUSABLE, "-1"),
        ("adamw.step", "beta1"): BELOW_ONE,
        ("adamw.step", "beta2"): BELOW_ONE,
        ("adamw.step", "grad_scale"): UNUSABLE,
        ("adamw.step", "t"): ("0", "-1", *NO_INTEGER),
        ("adamw.step", "skip_nonfinite"): ("perhaps", "nan"),
        ("layernorm.forward", "eps"): (*UNUSABLE, "-1"),
        ("cross_entropy.forward_backward", "label_smoothing"): BELOW_ONE,
        ("cross_entropy.forward_backward", "z_loss"): (*UNUSABLE, "-1"),
        ("cross_entropy.forward_backward", "scale"): UNUSABLE,
        ("cross_entropy.forward_backward", "ignore_index"): NO_INTEGER,
        ("cross_entropy.forward_backward", "reduction"): ("average", "Mean", "1", "2"),
        ("embedding.forward", "padding_index"): NO_INTEGER,
        ("embedding.backward", "vocab"): ("0", "-1", *NO_INTEGER, str(2**62), str(2**60 + 1),
                                          str(10**15)),
    }
    SAID_OTHERWISE = {"1e39": r"1e\+?39|inf", "-inf": "inf", "0.99999999": r"0\.99999999|\b1\b",
                      str(10**15): r"1000000000000000|1e\+?15"}

    def test_values_out_of_range(self):
        for (operator, name), values in self.CASES.items():
            for value in values:
                said = self.SAID_OTHERWISE.get(value, value.replace(".", r"\."))
                with self.subTest(operator, option=name, value=value):
                    self.check_refused(operator, [word(name), f"(?i){said}"],
                                       options={name: value})

    def test_unknown_options(self):
        for operator, name in (("layernorm.forward", "epsilon"), ("layernorm.forward", "t"),
                               ("softmax.forward", "eps"), ("adamw.step", "EPS")):
            with self.subTest(operator, option=name):
                self.check_refused(operator, [word(name)], options={name: "1"})

    def test_a_mean_loss_beside_a_gradient_of_nobody_said_what(self):
        self.check_refused("cross_entropy.forward_backward",
                           [word("mean_loss"), "reduction=mean", "reduction=sum"],
                           outputs=[("grad", self.folder / "out0.npy"),
                                    ("mean_loss", self.folder / "out1.npy")])

    def test_a_dweight_without_its_number_of_rows(self):
        self.check_refused("embedding.backward", [word("vocab")], options={"vocab": None})

    def test_threads(self):
        for value in ("-1", "abc", "1.5", "99999999999999999999"):
            with self.subTest(threads=value):
                self.check_refused("softmax.forward", ["threads"], extra=["--threads", value])


class ProblemLines(RefusalTest):
    def test_a_line_that_the_contract_refuses(self):
        for line, said in (("softmax.forward rows=-3 cols=10", "-3"), ("softmax.forward rows=3 cols=10 pad=-9", "x"),
                           ("adamw.step n=5 t=0", "t")):
            for report in ((), ("--no-figures", "--report", "out")):
                self.check_refusal(["verify", "--problem", line, *report], [word(said)])
                self.assertEqual(list((self.folder / "out").glob("*")), [])


class Operands(RefusalTest):
    def test_unknown_operators(self):
        for name in ("softmax", "softmax.sideways", "SOFTMAX.FORWARD", "../softmax.forward"):
            with self.subTest(name):
                self.check_refusal(["run", name, *self.save({"x": f16(2, 2)}), "--out",
                                    f"y={self.folder / 'out0.npy'}"], [word(name)])
        self.check_refusal(["run"], [])

    def test_missing_operands(self):
        for operator in oracle.OPERATORS:
            for name in valid_problem(operator)[0]:
                with self.subTest(operator, operand=name):
                    self.check_refused(operator, [word(name)], {name: None})

    def test_unknown_operands(self):
        self.check_refused("softmax.forward", [word("z")], {"z": f16(6, 40)})
        self.check_refused("softmax.forward", [word("logits")], {"logits": f16(6, 40)})

    def test_operands_in_the_wrong_direction(self):
        self.check_refused("softmax.forward", [word("y")], {"y": f16(6, 40)})
        self.check_refused("softmax.forward", [word("x")],
                           outputs=[("x", self.folder / "out0.npy")])
        self.check_refused("softmax.forward", [word("nothing")],
                           outputs=[("nothing", self.folder / "out0.npy")])

    def test_an_operand_given_twice(self):
        self.check_refused("softmax.forward", [word("x")], {"x": [f16(6, 40), f16(6, 40)]})
        self.check_refused("softmax.forward", [word("y")],
                           outputs=[("y", self.folder / f"out{i}.npy") for i in range(2)])

    def test_malformed_arguments(self):
        for extra, said in ((["--in", "beta"], "beta"), (["--set", "eps"], "eps"),
                            (["--out", "mean"], "mean"), (["--in", "=f.npy"], "--in|=f.npy"),
                            (["--set", "=1"], "--set|=1"), (["--nonsense"], "--nonsense"),
                            (["stray"], "stray"), (["--in"], "--in")):
            with self.subTest(extra=extra):
                self.check_refused("softmax.forward", [f"(?:{said})"], extra=extra)


class Files(RefusalTest):
    def test_missing_and_unreadable_inputs(self):
        for path in (self.folder / "absent.npy", self.folder, pathlib.Path("/dev/null"),
                     self.folder / ("n" * 5000)):
            with self.subTest(path=str(path)[:80]):
                self.check_refused("layernorm.forward", [word("gamma")], {"gamma": path})

    def test_two_outputs_to_one_file(self):
        (self.folder / "sub").mkdir()
        same = self.folder / "out0.npy"
        for other in (same, pathlib.Path("out0.npy"), self.folder / "sub" / ".." / "out0.npy"):
            with self.subTest(other=str(other)):
                self.check_refused("layernorm.forward", [f"{word('y')}|{word('mean')}"],
                                   outputs=[("y", same), ("mean", other)])

    def test_outputs_that_cannot_be_created(self):
        (self.folder / "directory").mkdir()
        for path in (self.folder / "absent" / "out0.npy", self.folder / "directory",
                     pathlib.Path("/proc/out0.npy"), pathlib.Path("")):
            with self.subTest(path=str(path)[:80]):
                self.check_refused("layernorm.forward", [word("mean")],
                                   outputs=[("y", self.folder / "out1.npy"), ("mean", path)])


class FailingWrites(RefusalTest):
    """y takes 64 KB and mean less than 1: whichever is written first, neither may remain."""

    OPERANDS = {"x": f16(64, 512), "gamma": f16(512), "beta": f16(512)}

    def check_both_orders(self, folder, **how):
        outputs = [("y", folder / "out0.npy"), ("mean", folder / "out1.npy")]
        for order in (outputs, outputs[::-1]):
            self.check_refused("layernorm.forward", [rf"{word('y')}|out0\.npy"], self.OPERANDS,
                               outputs=order, **how)

    def test_a_full_disk(self):
        small = self.folder / "small"
        small.mkdir()
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(small)],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a small file system: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", str(small)], check=True)
        self.check_both_orders(small)

    def test_a_write_cut_short_by_a_size_limit(self):
        # Python ignores SIGXFSZ and the child inherits that, so its write fails with EFBIG
        self.check_both_orders(self.folder, restore_signals=False,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                     (8192, 8192)))


class Numbers(RefusalTest):
    def test_a_number_out_of_its_range_is_refused(self):
        for command, flag, most in (("bench", "--seconds", 86400), ("prove", "--timeout", 86400),
                                    ("gradients", "--directions", 1000000)):
            for value in ("0", "-1", "2000000000") + (() if command == "gradients" else ("nan", "inf", "1e300")):
                with self.subTest(command, value=value):
                    self.check_refusal([command, flag, value], [flag, f"at most {most}$"])


if __name__ == "__main__":
    unittest.main()
