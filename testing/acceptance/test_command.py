# The command around the operators: what it lists, what its JSON holds, its help and its exit codes
# (0 good, 1 a check failed, 2 bad usage or input, 3 device or toolchain missing, 4 our bug).
import json
import re
import unittest

import numpy as np

import oracle
from harness import CommandTest
from refusal import valid_problem

SUBCOMMANDS = ("ops", "devices", "run", "verify", "accuracy", "gradients", "audit", "key", "bench", "compile", "cache", "prove", "serve", "worker")
OPERATOR_NAME = re.compile(rf"({'|'.join(folder.name for folder in oracle.FOLDERS)})\.\w+")


def strings_in(document):
    """Every string and every key of a JSON document."""
    if isinstance(document, str):
        return {document}
    if isinstance(document, dict):
        return set(document).union(*map(strings_in, document.values()))
    if isinstance(document, list):
        return set().union(*map(strings_in, document))
    return set()


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


class Listings(CommandTest):
    def succeed(self, *arguments):
        result = self.command(*arguments)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        self.assertTrue(result.stdout.strip(), arguments)
        return result.stdout

    def succeed_json(self, *arguments):
        return json.loads(self.succeed(*arguments), parse_constant=no_constant)

    def test_ops_lists_exactly_the_operators(self):
        listed = {match[0] for match in OPERATOR_NAME.finditer(self.succeed("ops"))}
        self.assertEqual(listed, set(oracle.OPERATORS))

    def test_ops_json_lists_exactly_the_operators(self):
        document = self.succeed_json("ops", "--json")
        listed = {text for text in strings_in(document) if OPERATOR_NAME.fullmatch(text)}
        self.assertEqual(listed, set(oracle.OPERATORS))

    def test_ops_of_one_operator_names_its_operands_and_options(self):
        for operator in oracle.OPERATORS:
            operands, options, outputs = valid_problem(operator)
            with self.subTest(operator):
                shown = self.succeed("ops", operator)
                for name in (operator, *operands, *options, *outputs):
                    self.assertRegex(shown, rf"\b{re.escape(name)}\b")

    def test_ops_of_an_unknown_operator(self):
        result = self.command("ops", "softmax.sideways")
        self.assertEqual(result.returncode, 2)
        self.assertIn("softmax.sideways", result.stderr)

    def test_devices(self):
        for name in ("reference", "cpu"):
            self.assertRegex(self.succeed("devices"), rf"\b{name}\b")
            self.assertIn(name, strings_in(self.succeed_json("devices", "--json")))

    def test_verify_compares_and_finds_no_difference(self):
        document = self.succeed_json("verify", "--device", "cpu", "--quick", "--op",
                                     "layernorm.forward", "--json", "-")
        summary = document["summary"]
        self.assertGreater(summary["outputs_compared"], 0)
        self.assertEqual(summary["mismatches"], 0)
        self.assertEqual(summary["failed"], 0)

    def test_verify_on_every_device_here(self):
        document = self.succeed_json("verify", "--device", "all", "--quick", "--op", "softmax.forward", "--json", "-")
        self.assertEqual(document["devices"][0]["device"], "cpu")
        self.assertTrue(all(one["summary"]["mismatches"] == 0 < one["summary"]["outputs_compared"]
                            for one in document["devices"]))
        self.assertEqual(self.command("verify", "--device", "all", "--report", self.folder).returncode, 2)

    def test_sizes_beyond_memory_are_refused(self):
        for sizes in ("rows=4611686018427387904 cols=4611686018427387904", "rows=4611686018427387904 cols=8",
                      "rows=3 cols=9223372036854775807 pad=9", "rows=1073741824 cols=1073741824"):
            for command in ("verify", "bench", "accuracy"):
                result = self.command(command, "--problem", f"softmax.forward {sizes}")
                self.assertEqual(result.returncode, 2, (sizes, command, result))
                self.assertIn("x of ", result.stdout + result.stderr)

    def test_what_a_contract_refuses_takes_no_memory(self):
        """A stride below the row, sizes below zero, no tensor at all, an index that is no integer."""
        for line in ("softmax.forward rows=300 cols=5000 pad=-4999", "softmax.forward rows=-3 cols=5",
                     "adamw.step n=-5 t=1", "adamw.step t=1", "embedding.forward queries=3 dim=2 vocab=0",
                     "embedding.backward queries=3 dim=2 vocab=2 index=f16", "gemm.forward m=3 n=4"):
            for command in ("verify", "accuracy", "gradients"):
                result = self.command(command, "--problem", line)
                self.assertEqual(result.returncode, 2, (line, command, result))
                self.assertIn(line.split(".")[0], result.stdout + result.stderr)

    def test_a_size_given_twice_is_refused(self):
        result = self.command("verify", "--problem", "softmax.forward rows=3 cols=5 rows=7")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("'rows' is given twice", result.stderr)

    def test_verify_for_a_person(self):
        shown = self.succeed("verify", "--device", "cpu", "--quick", "--op", "softmax.backward")
        self.assertIn("softmax.backward", shown)

    def test_accuracy_measures_and_exceeds_no_bound(self):
        document = self.succeed_json("accuracy", "--json", "-", "--problem",
                                     "softmax.forward rows=3 cols=50 type=f16 data=normal,special")
        (one,) = document["operators"]
        (y,) = one["by_output"]
        self.assertEqual((y["operand"], y["type"], y["exceeded"]), ("y", "f16", 0))
        self.assertEqual(y["outputs"] + y["not_real"], 2 * 3 * 50)
        self.assertEqual(sum(y["histogram"]), y["outputs"])
        self.assertGreater(y["worst_ulp"], 0.3)
        self.assertLessEqual(y["worst_ulp"], y["worst_bound_ulp"])
        self.assertLessEqual(y["worst_bound_ulp"], 0.51)
        self.assertEqual({entry["data"] for entry in one["by_data"]}, {"normal", "special"})

    def test_accuracy_that_measured_nothing_is_no_success(self):
        result = self.command("accuracy", "--problem", "gemm.forward m=1 n=1 k=9 type=f16 data=huge")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("nothing was checked", result.stderr)

    def test_gradients_are_gradients(self):
        document = self.succeed_json("gradients", "--json", "-", "--directions", "3", "--problem",
                                     "layernorm.backward rows=2 cols=9 type=f32")
        (one,) = document["operators"]
        self.assertEqual((one["operator"], one["directions"], one["failed"]), ("layernorm.backward", 3, 0))
        self.assertLess(one["widest_interval"], 1e-60)
        self.assertGreater(one["worst_deviation"], 0)
        self.assertLessEqual(one["largest_ratio"], 1)

    def test_gradients_of_what_has_none(self):
        for arguments, named in ((["--problem", "softmax.forward rows=2 cols=3"], "softmax.forward"),
                                 (["--op", "adamw.step"], "adamw.step"), (["--directions", "0"], "--directions"),
                                 (["--problem", "adamw.step n=5+3 t=1"], "adamw.step"),
                                 (["--problem", "embedding.forward queries=4 dim=2 vocab=3"], "embedding.forward")):
            result = self.command("gradients", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(named, result.stderr)

    def test_help_of_every_subcommand(self):
        self.succeed("--help")
        for name in SUBCOMMANDS:
            with self.subTest(name):
                self.succeed(name, "--help")


class Usage(CommandTest):
    def test_a_flag_takes_several_words(self):
        np.save(self.folder / "a.npy", np.ones((3, 2), "<f2"))
        np.save(self.folder / "b.npy", np.ones((2, 4), "<f2"))
        for arguments in (["gemm.forward", "--in", "a=a.npy", "b=b.npy", "--out", "c=c.npy"],
                          ["--in", "a=a.npy", "b=b.npy", "gemm.forward", "--out", "c=c.npy"],
                          ["--in", "a=a.npy", "b=b.npy", "--out", "c=c.npy", "gemm.forward"],
                          ["--in", "a=a.npy", "--in", "b=b.npy", "--out", "c=c.npy", "--", "gemm.forward"]):
            (self.folder / "c.npy").unlink(missing_ok=True)
            result = self.command("run", *arguments, cwd=self.folder)
            self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
            self.assertTrue((self.folder / "c.npy").exists())

    def test_what_is_not_expected_is_named_wherever_it_stands(self):
        for arguments, word in ((["key", "new", "--out", "z"], "--out"), (["key", "new", "a", "b"], "b"),
                                (["verify", "--", "x", "--problem"], "x"), (["ops", "a", "b"], "b"),
                                (["key", "show", "k", "--fly"], "--fly"), (["cache", "ls", "--", "-x"], "-x")):
            result = self.command(*arguments, cwd=self.folder)
            self.assertEqual(result.returncode, 2, f"{arguments}: {result.stderr}")
            self.assertIn(f"unknown argument {word} ", result.stderr)

    def test_messages_show_control_characters_instead_of_sending_them(self):
        result = self.command("ops", "\x1b[31mred\x07")
        self.assertEqual(result.returncode, 2)
        self.assertIn("\\u001b[31mred\\u0007", result.stderr)

    def test_the_devices_there_are_include_lockstep(self):
        result = self.command("verify", "--device", "gpu")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, r"no device 'gpu'; there are .*lockstep \(a GPU's kernels on the CPU\)")

    def test_no_arguments_shows_the_usage(self):
        result = self.command()
        self.assertEqual(result.returncode, 2)
        said = result.stdout + result.stderr
        for name in SUBCOMMANDS:
            self.assertRegex(said, rf"\b{name}\b")

    def test_unknown_commands_and_options(self):
        for arguments in (["fly"], ["--fly"], ["ops", "--fly"], ["verify", "--op", "fly.away"],
                          ["verify", "--fly"], ["bench", "--op", "fly.away"], ["devices", "--fly"]):
            with self.subTest(arguments=arguments):
                result = self.command(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("fly", result.stderr)

    def test_unknown_and_absent_devices(self):
        inputs = self.save({"x": np.ones((2, 2), "<f2")})
        output = self.folder / "out0.npy"
        for device in ("fly", "cuda:99", "cpu:", ""):
            with self.subTest(device=device):
                result = self.command("run", "softmax.forward", *inputs, "--out", f"y={output}",
                                      "--device", device)
                self.assertIn(result.returncode, (2, 3), result.stderr)
                self.assertIn(device, result.stderr)
                self.assertFalse(output.exists())


if __name__ == "__main__":
    unittest.main()
