# Every command's --help ends in examples, and every example does what it says: each is run as it is written, in a folder
# that holds the files it names. Where a compiler or a device is missing, code 3 is right too.
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import numpy as np

from command_test import TIME_LIMIT
from harness import CommandTest

MATRIX = np.linspace(-1, 1, 24, dtype="<f2").reshape(4, 6)
FILES = {"x": MATRIX, "gamma": MATRIX[0], "beta": MATRIX[1], "a": MATRIX, "b": MATRIX.T, "w": MATRIX[2],
         "g": MATRIX[3], "m": np.zeros(6, "<f4"), "v": np.zeros(6, "<f4")}


def commands_in(text):
    """The names of the list under "Commands:" or "Subcommands:"."""
    section = re.search(r"^(?:Commands|Subcommands):\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\w+)", section[1], re.MULTILINE) if section else []


def examples_in(text):
    section = re.search(r"^Examples:\n((?:  .*\n?)+)", text, re.MULTILINE)
    return [line.strip() for line in section[1].splitlines()] if section else []


class Examples(CommandTest):
    def help(self, *words):
        result = self.command(*words, "--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def shell(self, line, folder):
        """Runs the line; one that ends in & is left running until its socket is there."""
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        if not line.endswith("&"):
            return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=folder, env=environment,
                                  timeout=10 * TIME_LIMIT, stdin=subprocess.DEVNULL)
        server = subprocess.Popen(shlex.split(line[:-1]), cwd=folder, env=environment, stdout=subprocess.PIPE,
                                  text=True, stdin=subprocess.DEVNULL)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        said = server.stdout.readline()  # it says so when it listens
        return subprocess.CompletedProcess(line, 0 if said else server.wait(), said, "")

    def prepared(self, name, examples):
        """A folder with what examples name and do not make themselves."""
        template = self.folder / "template"
        if not template.exists():
            (template / "bin").mkdir(parents=True)
            (template / "bin" / "tokitai").symlink_to(self.executable)
            for file, array in FILES.items():
                np.save(template / f"{file}.npy", np.ascontiguousarray(array))
            for line in ("tokitai key new mine.key",
                         "tokitai verify --quick --op softmax.forward --no-figures --report out --sign mine.key"):
                made = self.shell(line, template)
                self.assertEqual(made.returncode, 0, made.stderr)
        folder = self.folder / (name or "tokitai")
        made = {file for words, file in (("key new", "mine.key"), ("key new", "mine.key.pub"), ("--report out", "out"))
                if any(words in example for example in examples)}
        shutil.copytree(template, folder, symlinks=True, ignore=lambda _, names: made.intersection(names))
        return folder

    def test_every_example_of_every_command_works(self):
        names = commands_in(self.help())
        self.assertGreater(len(names), 10)
        for name in ["", *names]:
            examples = examples_in(self.help(*([name] if name else [])))
            with self.subTest(name):
                self.assertTrue(examples, "its --help has no examples")
            folder = self.prepared(name, examples)
            for example in examples:
                with self.subTest(example):
                    self.assertIn(f"tokitai {name}".strip(), " ".join(examples))
                    result = self.shell(example, folder)
                    self.assertIn(result.returncode, (0, 3), f"{result.stdout}{result.stderr}")
                    if result.returncode == 3:
                        self.assertRegex(result.stderr, "compiler|device|solver|peer|OpenBLAS")

    def test_the_exit_codes_are_those_of_the_document(self):
        document = pathlib.Path(__file__).resolve().parents[2] / "docs" / "command.md"
        documented = re.findall(r"^\| (\d) \| (.*) \|$", document.read_text(), re.MULTILINE)
        self.assertEqual(re.findall(r"^  (\d)  (.*)$", self.help(), re.MULTILINE), documented)
        self.assertEqual(len(documented), 5)

    def test_no_flag_shows_what_it_sets(self):
        for name in commands_in(self.help()):
            self.assertNotRegex(self.help(name), r"--[\w-]+\{")

    def test_every_command_says_what_its_words_mean(self):
        for name in commands_in(self.help()):
            for sub in commands_in(self.help(name)):
                self.assertRegex(self.help(name, sub), "Positionals:\n  [A-Z]+ ")


if __name__ == "__main__":
    unittest.main()
