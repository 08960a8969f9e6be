# Operators of one's own: folders outside the tree, loaded by --operators. The examples are verified like built-in
# operators; a new folder goes from `operator new` to verified in a few commands; whatever is wrong in a folder is told
# with file and line, with exit code 2, and nothing of it is loaded.
import os
import pathlib
import re
import shutil
import unittest

import numpy as np

from harness import CommandTest

EQUAL = r"summary +[1-9].* 0  equal"
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/operators"


class OwnOperatorsTest(CommandTest):
    def loaded(self, folder, *arguments, code=0):
        result = self.command("--operators", folder, *arguments)
        self.assertEqual(result.returncode, code, f"{arguments}: {result.stdout[-2000:]}{result.stderr}")
        return result.stdout + result.stderr

    def copy(self, example, name=None):
        target = self.folder / (name or example)
        shutil.copytree(EXAMPLES / example, target)
        for path in (target, *target.iterdir()):
            path.chmod(path.stat().st_mode & ~0o022)
        return target

    def edit(self, path, *changes):
        text = path.read_text()
        for old, new in changes:
            self.assertEqual(text.count(old), 1, f"{old!r} in {path}")
            text = text.replace(old, new)
        path.write_text(text)


class Examples(OwnOperatorsTest):
    OPERATORS = {"softcap": ("forward", "backward"), "huber": ("forward_backward",), "take": ("forward", "backward")}

    def test_each_has_everything_that_a_built_in_operator_has(self):
        for family, operators in self.OPERATORS.items():
            folder = self.copy(family)
            names = [f"{family}.{operator}" for operator in operators]
            chosen = [word for name in names for word in ("--op", name)]
            with self.subTest(family):
                for name in names:
                    self.assertIn(name, self.loaded(folder, "ops"))
                    self.assertIn("Determinism", self.loaded(folder, "ops", name))
                self.assertRegex(self.loaded(folder, "verify", "--quick", *chosen), EQUAL)
                self.assertRegex(self.loaded(folder, "verify", "--device", "worker:cpu", "--quick", *chosen), EQUAL)
                self.loaded(folder, "accuracy", *chosen[-2:])
                self.assertIn("the gradient", self.loaded(folder, "gradients", *chosen[-2:]))

    def test_several_folders_are_loaded_at_once(self):
        for family in self.OPERATORS:
            self.copy(family)
        said = self.loaded(self.folder, "ops")
        for family, operators in self.OPERATORS.items():
            for operator in operators:
                self.assertIn(f"{family}.{operator}", said)

    def test_runs_on_arrays_and_refuses_by_its_contract(self):
        folder = self.copy("softcap")
        x = np.array([[0, 1, -100, np.inf]], np.float32)
        np.save(self.folder / "x.npy", x)
        out = self.folder / "y.npy"
        self.loaded(folder, "run", "softcap.forward", "--in", f"x={self.folder}/x.npy", "--out", f"y={out}", "--set", "cap=2")
        y = np.load(out)
        self.assertEqual(y[0, 3], 2)
        self.assertTrue(np.allclose(y, 2 * np.tanh(x / 2)))
        out.unlink()
        said = self.loaded(folder, "run", "softcap.forward", "--in", f"x={self.folder}/x.npy", "--out", f"y={out}", "--set",
                           "cap=-1", code=2)
        self.assertRegex(said, "cap = -1; it must be finite and > 1e-30")
        self.assertFalse(out.exists())

    def test_an_index_out_of_range_is_named(self):
        folder = self.copy("take")
        np.save(self.folder / "x.npy", np.ones((3, 4), np.float32))
        np.save(self.folder / "i.npy", np.array([0, 2, 7], np.int32))
        said = self.loaded(folder, "run", "take.forward", "--in", f"x={self.folder}/x.npy", "--in", f"index={self.folder}/i.npy",
                           "--out", f"y={self.folder}/y.npy", code=2)
        self.assertIn("index[2] = 7; it must be in [0, 3)", said)
        self.assertFalse((self.folder / "y.npy").exists())


class NewFolder(OwnOperatorsTest):
    def test_from_nothing_to_verified(self):
        os.chdir(self.folder)
        old = os.umask(0o002)  # with which everything is writable by a group
        try:
            self.assertEqual(self.command("operator", "new", "swish").returncode, 0)
        finally:
            os.umask(old)
        folder = self.folder / "swish"
        # y = x * sigmoid(cap * x), and its gradient: four lines.
        self.edit(folder / "definition.h",
                  ("    e.store(e.y, e.value(e.cap) * tanh(x * e.value(e.slope)));",
                   "    e.store(e.y, x / (1.0f + exp(-(e.value(e.cap) * x))));"),
                  ("    auto slope = e.value(e.slope);", "    auto x = e.load(e.x);"),
                  ("    auto t = tanh(e.load(e.x) * slope);", "    auto s = 1.0f / (1.0f + exp(-(e.value(e.cap) * x)));"),
                  ("    e.store(e.dx, dy * (fma(-t, t, 1.0f) * (e.value(e.cap) * slope)));",
                   "    e.store(e.dx, dy * (s + (e.value(e.cap) * x) * (s * (1.0f - s))));"))
        self.edit(folder / "problems.txt",
                  ("gradients swish.backward rows=3 cols=1,7,100 type=f16,bf16,f32 data=normal cap=50,0.5",
                   "gradients swish.backward rows=3 cols=1,7 type=f16,bf16,f32 data=normal cap=1,0.5"))
        chosen = ("--op", "swish.forward", "--op", "swish.backward")
        self.assertRegex(self.loaded(folder, "verify", *chosen), EQUAL)
        self.assertRegex(self.loaded(folder, "verify", "--device", "lockstep", *chosen), EQUAL)
        self.loaded(folder, "gradients", "--op", "swish.backward")
        result = self.command("--operators", folder, "compile", "swish.forward", "--target", "sm_90a,gfx942", "--audit")
        if result.returncode != 3:  # a toolchain that is not there
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count("clean"), 2, result.stdout)
        # The control: a wrong gradient is none.
        self.edit(folder / "definition.h", ("(s * (1.0f - s))", "(s * (1.0f + s))"))
        self.loaded(folder, "gradients", "--op", "swish.backward", code=1)

    def test_takes_nothing_that_is_there(self):
        os.chdir(self.folder)
        self.assertEqual(self.command("operator", "new", "mine").returncode, 0)
        before = (self.folder / "mine/contract.txt").read_bytes()
        for arguments, words in ((["mine"], "is there already"), (["softmax"], "there is a family softmax"),
                                 (["My"], "is no name"), (["a", "--pattern", "tile"], "no pattern 'tile'"),
                                 (["a", "--out", "no/such/folder"], "no/such")):
            result = self.command("operator", "new", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(words, result.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["mine"])
        self.assertEqual((self.folder / "mine/contract.txt").read_bytes(), before)

    def test_each_pattern_has_one_to_begin_with(self):
        os.chdir(self.folder)
        for pattern in ("each", "row", "segment"):
            self.assertEqual(self.command("operator", "new", f"my_{pattern}", "--pattern", pattern).returncode, 0)
        self.assertIn("rows that are taken", (self.folder / "my_segment/contract.txt").read_text())
        self.assertEqual(self.command("operator", "new", "slashed", "--out", "slashed/").returncode, 0)
        said = self.loaded(self.folder, "verify", "--quick", "--op", "my_row.forward_backward")
        self.assertRegex(said, EQUAL)


class WrongFolders(OwnOperatorsTest):
    def refused(self, folder, words, where=None):
        said = self.loaded(folder, "ops", code=2)
        self.assertRegex(said, words)
        if where is not None:
            file, line = where
            self.assertIn(f"{folder}/{file}:{line}: ", said)
        self.assertEqual(said.count("\n"), 1, said)  # one sentence
        return said

    # A file of the soft cap, what is changed in it, the line that is named, what is said of it.
    WRONG = (
        ("definition.h", "e.load(e.x);", "e.load(e.gama);", 7, "asks for 'gama': the contract has no operand"),
        ("definition.h", "auto x = e.load(e.x);", "auto x = e.load(e.x)", 8, "';'"),
        ("definition.h", "e.store(e.y, e.value", "e.store(e.x, e.value", 8, "writes x, which the contract says is only read"),
        ("definition.h", "auto dy = e.load(e.dy);", "auto dy = e.load(e.dx);", 15, "reads dx, which the contract says is only written"),
        ("definition.h", "struct Backward : BackwardContract", "struct Other : BackwardContract", None, "no struct Backward"),
        ("definition.h", "struct Forward : ForwardContract", "struct Forward", None, "asks for|derive"),
        ("definition.h", "e.store(e.y, ", "if (x > 0.0f) e.store(e.y, ", 8, r"select\(condition, yes, no\)"),
        ("definition.h", "tanh(x *", "atan(x *", 8, "atan"),
        ("contract.txt", "scalar   slope = 1 / cap\nbatch    rows\n\noperator", "scalar   slope = 1 / cup\nbatch    rows\n\noperator", 12, "no option, scalar or size 'cup'"),
        ("contract.txt", "scalar   slope = 1 / cap\nbatch    rows\n\noperator", "scalar   slope = other\nscalar   other = slope\nbatch    rows\n\noperator", None, "depends on itself"),
        ("contract.txt", "batch    rows\n\n", "batch    raws\n\n", 13, "batch raws: no operand has that size"),
        ("contract.txt", "operator softcap.backward", "operator softcap.forward", 15, "a second operator softcap.forward; the first is in line 3"),
        ("contract.txt", "operator softcap.backward", "operator other.backward", 15, "another family"),
        ("contract.txt", "operator softcap.backward", "operator softcap", 15, "FAMILY.OPERATOR"),
        ("contract.txt", "storage [rows, cols] over x : the same, held", "storage [rows, cols] over z : the same, held", 10, "over z: softcap.forward has no operand"),
        ("contract.txt", "out      y    storage", "out      y    half", 10, "'half' is no type"),
        ("contract.txt", "in       x    storage [rows, cols]        : the elements", "in       x    storage rows        : the elements", 9, "a shape like"),
        ("contract.txt", "in       x    storage [rows, cols]        : the elements", "in       x    storage [rows, cols]", 9, "behind a colon"),
        ("contract.txt", "summary  Gradient", "sumary   Gradient", 16, "'sumary' is no word of a contract"),
        ("contract.txt", "option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   cap  f32 = -3 > 0     : what", 11, "cap = -3; it must be finite and > 0"),
        ("contract.txt", "option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   x  f32 = 3     : what", 11, "'x' is in line 9 already"),
        ("contract.txt", "option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   for  f32 = 3     : what", 11, "is a word of C\\+\\+"),
        ("contract.txt", "in       x    storage [rows, cols]         : the forward's input", "in       x    storage [cols]         : the forward's input", 22, r"x has shape \[cols\]; as the first operand's elements, it must be \[rows, cols\]"),
        ("contract.txt", "out      y    storage [rows, cols] over x", "out      y    storage [rows]", 10, r"y has shape \[rows\]"),
        ("contract.txt", "out      y    storage [rows, cols] over x", "out      y    storage [cols, rows]", 10, r"y has shape \[cols, rows\]"),
        ("contract.txt", "out      y    storage [rows, cols] over x", "out      y    storage [rows, tall]", 10, "nothing tells the size tall"),
        ("contract.txt", "batch    rows\n\n", "batch    cols\n\n", 9, "a call can be cut along its first size alone"),
        ("contract.txt", "in       x    storage [rows, cols]        : the elements", "in       x    storage [rows, cols] optional : the elements", 9, "nothing tells the size cols"),
        ("contract.txt", "in       x    storage [rows, cols]        : the elements", "in       template    storage [rows, cols]        : the elements", 9, r"'template' is a word of C\+\+"),
        ("contract.txt", "option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   cap  f32 = 50 > nan     : what", 11, "'> nan' is no limit"),
        ("contract.txt", "option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   cap  choice(a,a)     : what", 11, "'a' stands twice"),
        ("contract.txt", "option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   rows  f32 = 50     : what", 11, "the option rows has the name of a size"),
        ("contract.txt", "# The soft cap", "\ufeff# The soft cap", 1, "byte order mark"),
        ("definition.h", "tanh(x * e.value(e.slope))", "tanh(x * 0.1)", 8, "of type double.*write 0.1f"),
        ("definition.h", "tanh(x * e.value(e.slope))", "tanh(x * (e.value(e.slope) * 0.5))", 8, "of type double.*write 0.1f"),
        ("definition.h", "namespace tokitai::softcap {\n\nstruct", "#include <cmath>\nnamespace tokitai::softcap {\n\nstruct", 2, "includes <cmath>; a definition may include"),
        ("definition.h", "namespace tokitai::softcap {\n\nstruct", '  # include "/etc/hostname"\nnamespace tokitai::softcap {\n\nstruct', 2, "includes .*hostname"),
        ("problems.txt", "verify softcap.forward rows=1,3 cols=1,2,7,16,255,1000", "verify softcap.forward rows=0 cols=-3", 1, "x is empty|negative"),
        ("problems.txt", "verify softcap.forward rows=1,3 cols=1,2,7,16,255,1000", "verify softcap.forward rows=" + ",".join(map(str, range(1, 3000))) + " cols=" + ",".join(map(str, range(1, 3000))), 1, "at most 100000 problems"),
        ("problems.txt", "verify softcap.forward rows=1,3 cols=1,2,7,16,255,1000", "verify softcap.forward rows=1,3 colls=1,2,7,16,255,1000", 1, "'colls=1' is no size"),
        ("problems.txt", "verify softcap.forward rows=1,3", "verifies softcap.forward rows=1,3", 1, "is no use of a problem"),
    )

    def test_each_mistake_is_told_with_its_line(self):
        for number, (file, old, new, line, words) in enumerate(self.WRONG):
            folder = self.copy("softcap", f"wrong{number}")
            self.edit(folder / file, (old, new))
            with self.subTest(f"{file}: {new}"):
                self.refused(folder, words, None if line is None else (file, line))

    def test_an_output_that_is_not_always_written(self):
        for option, on in (("flag", "e.value(e.extra) != 0"), ("choice(no,yes)", "e.value(e.extra) == 0"),
                           ("integer", "e.has(e.extra)")):
            folder = self.copy("softcap", "sometimes-" + option[:4])
            self.edit(folder / "contract.txt", ("scalar   slope = 1 / cap\nbatch    rows\n\n",
                                                f"scalar   slope = 1 / cap\noption   extra {option} : x\nbatch    rows\n\n"))
            self.edit(folder / "definition.h", ("    e.store(e.y, ", f"    if ({on}) e.store(e.y, "))
            with self.subTest(option):
                self.refused(folder, "does not write y in every way", ("definition.h", 8))

    def test_an_optional_operand_is_asked_for_before_it_is_read(self):
        folder = self.copy("softcap")
        contract = ("in       x    storage [rows, cols]        : the elements",
                    "in       x    storage [rows, cols] : the elements\nin       b    storage [rows, cols] optional : more")
        self.edit(folder / "contract.txt", contract)
        self.edit(folder / "definition.h", ("tanh(x * e.value(e.slope))", "tanh((x + e.load(e.b)) * e.value(e.slope))"))
        self.refused(folder, r"reads b where it is not given; ask m.has\(m.b\) first", ("definition.h", 8))
        self.edit(folder / "definition.h", ("auto x = e.load(e.x);", "auto x = e.load(e.x);\n    if (e.has(e.b)) x = x + e.load(e.b);"),
                  ("(x + e.load(e.b))", "x"))
        self.edit(folder / "problems.txt", ("verify softcap.forward rows=1,3 cols", "verify softcap.forward rows=1,3 master=yes,no cols"))
        self.assertRegex(self.loaded(folder, "verify", "--quick", "--op", "softcap.forward"), EQUAL)

    def test_limits_are_of_the_values_that_are_compared(self):
        folder = self.copy("softcap")
        self.edit(folder / "contract.txt", ("option   cap  f32 = 50 > 1e-30 < 1e30     : what", "option   cap  f32 = 0.1 <= 0.1     : what"))
        (folder / "problems.txt").write_text("verify softcap.forward rows=1 cols=1,9 cap=0.1\n")
        self.assertIn("finite and <= 0.1", self.loaded(folder, "ops", "softcap.forward"))

    def test_names_of_the_librarys_own(self):
        for name in ("std", "cpu", "patterns"):
            folder = self.copy("softcap", name)
            self.edit(folder / "contract.txt", ("operator softcap.forward", f"operator {name}.forward"))
            self.refused(folder, "the library itself has that name", ("contract.txt", 3))
            self.assertEqual(self.command("operator", "new", name, "--out", self.folder / "x").returncode, 2)

    def test_a_folder_that_is_not_there(self):
        self.assertIn("there is no such folder", self.refused(self.folder / "none", "none"))
        (self.folder / "empty").mkdir()
        self.refused(self.folder / "empty", "neither it nor a folder in it has a contract.txt")
        (self.folder / "file").write_text("x")
        self.refused(self.folder / "file", "is no folder")
        self.refused(self.copy_without("definition.h"), "definition.h")
        self.refused(self.copy_without("problems.txt"), "problems.txt")

    def copy_without(self, file):
        folder = self.copy("softcap", f"without-{file}")
        (folder / file).unlink()
        return folder

    def test_what_others_may_write_is_not_run(self):
        folder = self.copy("softcap")
        folder.chmod(0o777)
        self.refused(folder, "others may write it: its mode is 777")
        folder.chmod(0o755)
        for file in ("contract.txt", "definition.h", "problems.txt", "peer.py"):
            (folder / file).chmod(0o666)
            self.refused(folder, f"{file}.*others may write it")
            (folder / file).chmod(0o644)
        self.loaded(folder, "ops")

    def test_files_that_are_none(self):
        folder = self.copy("softcap")
        (folder / "definition.h").unlink()
        os.mkfifo(folder / "definition.h")
        self.refused(folder, "definition.h")
        (folder / "definition.h").unlink()
        (folder / "definition.h").write_bytes(b"\0" * 100)
        self.refused(folder, "definition.h.*no text")
        (folder / "definition.h").write_bytes(b"//" + b"x" * (2 << 20))
        self.refused(folder, "definition.h.*at most")

    def test_a_name_that_is_taken_is_refused_and_nothing_is_loaded(self):
        for path in (self.copy("softcap"), self.copy("softcap", "twice")):
            self.loaded(path, "ops")
        self.refused(self.folder, "the family has an operator softcap.forward already, from .*/softcap")
        folder = self.copy("huber", "layernorm")
        for path in (folder / "contract.txt", folder / "definition.h", folder / "problems.txt"):
            path.write_text(path.read_text().replace("huber", "softmax"))
        self.refused(folder, r"contract.txt:3: softmax.forward_backward: the family has an operator softmax.forward already")

    def test_an_error_of_another_compiler_is_told_too(self):
        if shutil.which("clang++-19") is None:
            self.skipTest("no clang++-19")
        folder = self.copy("softcap")
        self.edit(folder / "definition.h", ("auto x = e.load(e.x);", "auto x = e.load(e.gama);"))
        result = self.command("--operators", folder, "ops", env={**os.environ, "TOKITAI_CXX": "clang++-19"})
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(f"{folder}/definition.h:7: ", result.stderr)
        self.assertRegex(result.stderr, "asks for 'gama'")


if __name__ == "__main__":
    unittest.main()
