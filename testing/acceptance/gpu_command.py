# What the tests of the command around GPUs share: a working folder and a cache for each test, what
# a failure must look like, and compilers where there are any. Only the standard library is used.
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

from command_test import TIME_LIMIT, ExecutableTest

CRASHED = re.compile(r"terminate called|assert|segmentation|core dumped|runtime error|sanitizer"
                     r"|exception|internal error|std::", re.IGNORECASE)
NOWHERE = "/nonexistent/library"
NVIDIA, AMD = "sm_80", "gfx90a"
SMALL = ("softmax.forward", "--shape", "rows=3", "cols=40")  # one kernel
TWO = ("layernorm.backward", "--shape", "rows=3", "cols=40")  # two: rows, then columns


def npy(rows, cols):
    """The bytes of a file of f16 ones."""
    text = f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() \
        + b"\x00\x3c" * (rows * cols)


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


class GpuCommandTest(ExecutableTest):
    """Each test has a cache of its own too; variables of ours come from the test alone."""

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def environment(self, variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TOKITAI")}
        changed = {"TOKITAI_CACHE": str(self.cache), **variables}
        return {k: str(v) for k, v in {**kept, **changed}.items() if v is not None}

    def command(self, *arguments, preexec=None, **variables):
        """Runs in the working folder. A variable that is None is not set."""
        result = subprocess.run([self.executable, *map(str, arguments)], capture_output=True,
                                cwd=self.folder, env=self.environment(variables), text=True,
                                errors="replace", timeout=TIME_LIMIT, stdin=subprocess.DEVNULL,
                                preexec_fn=preexec)
        self.shown = f"{' '.join(map(str, arguments))} {variables}\nexit {result.returncode}: " \
                     f"{result.stderr[:2000]}"
        self.assertIn(result.returncode, (0, 1, 2, 3), self.shown)  # neither a signal nor our bug
        self.assertIsNone(CRASHED.search(result.stderr), self.shown)
        return result

    def succeed(self, *arguments, **variables):
        result = self.command(*arguments, **variables)
        self.assertEqual(result.returncode, 0, self.shown)
        return result.stdout

    def succeed_json(self, *arguments, **variables):
        return self.parsed(self.succeed(*arguments, **variables))

    def parsed(self, text):
        return json.loads(text, parse_constant=no_constant)

    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*")
                if path.is_file() and self.cache not in path.parents}

    def check_failure(self, code, arguments, words=(), lines=2, **variables):
        """Fails with that code (or one of them) and a sentence that has these words; no file
        outside the cache is created or changed. Returns the sentence."""
        before = self.contents()
        result = self.command(*arguments, **variables)
        message = result.stderr.strip()
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), self.shown)
        self.assertTrue(message.startswith("tokitai: "), self.shown)
        self.assertLessEqual(len(message.splitlines()), lines, self.shown)
        for word in words:
            self.assertIn(str(word), message, self.shown)
        self.assertEqual(self.contents(), before, f"files changed\n{self.shown}")
        return message

    def run_arguments(self, device):
        """An operator over a file, and where its output would be."""
        (self.folder / "x.npy").write_bytes(npy(2, 5))
        output = self.folder / "y.npy"
        return ["run", "softmax.forward", "--in", "x=x.npy", "--out", f"y={output}", "--device",
                device], output


class CompiledTest(GpuCommandTest):
    """Compiles with whichever of NVRTC and clang is here."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="acceptance-")
        cls.addClassCleanup(folder.cleanup)
        cls.warm = pathlib.Path(folder.name) / "cache"  # compilers' digests and one entry a target
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TOKITAI")}
        environment["TOKITAI_CACHE"] = str(cls.warm)
        codes = {target: subprocess.run(
            [cls.executable, "compile", *SMALL, "--target", target], capture_output=True,
            env=environment, timeout=TIME_LIMIT, stdin=subprocess.DEVNULL).returncode for target in (NVIDIA, AMD)}
        if not set(codes.values()) <= {0, 3}:
            raise AssertionError(f"compile ended with {codes}, where 0 is good and 3 a missing compiler")
        cls.targets = [target for target, code in codes.items() if code == 0]
        if not cls.targets:
            raise unittest.SkipTest("neither NVRTC nor clang is here")
        cls.target = cls.targets[0]

    def setUp(self):
        super().setUp()
        shutil.copytree(self.warm, self.cache)

    def compile(self, *what, target=None, **variables):
        """One kernel's result, from JSON."""
        document = self.succeed_json("compile", *(what or SMALL), "--target", target or self.target,
                                     "--json", "-", **variables)
        for kernel in document:
            self.assertEqual(kernel["result"], "clean", kernel)
        return document[0]

    def entry(self):
        """The folder of the warm entry for the first target."""
        listed = self.succeed_json("cache", "ls", "--json")["entries"]
        return self.cache / next(e["key"] for e in listed if e["target"] == self.target)
