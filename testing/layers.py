#!/usr/bin/env python3
"""Layers are what ARCHITECTURE.md says, and a forbidden include does not compile: layers.py BUILD_FOLDER.

Holds the table of ARCHITECTURE.md against that of cmake/layers.cmake, and tries every header of every layer with the
compiler and the include path that the build has for each other layer's code.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


def documented(text):
    """{layer: [those it may include]} of a table as ARCHITECTURE.md has it."""
    rows = re.findall(r"^\| `([\w/]+?)/?` \|.*\| *([^|]*?) *\|$", text, re.M)
    return {layer: [one for one in may.split(", ") if one] for layer, may in rows}


def built(text):
    """The same of calls of tokitai_layer."""
    found = {}
    for words in re.findall(r"^tokitai_layer\(([^)]*)\)", text, re.M):
        layer, _, rest = words.partition(" ")
        uses = re.search(r"\bUSES ([\w/\s]+?)(?:\s+NEEDS\b|\s*$)", rest)
        found[layer] = uses[1].split() if uses else []
    return found


LAYERS = built((ROOT / "cmake" / "layers.cmake").read_text())
COMMANDS = json.loads((BUILD / "compile_commands.json").read_text())


def target_of(command):
    return re.search(r" -o \S*CMakeFiles/(\w+)[.]dir/", command["command"])[1]


def folders_seen(command):
    return [word[2:] for word in shlex.split(command["command"]) if word.startswith("-I")]


def headers_of(layer):
    """By the names that code includes them by."""
    folder = ROOT / layer
    found = [str(path.relative_to(ROOT)) for path in folder.rglob("*.h") if "tests" not in path.parts]
    public = BUILD / "layers" / layer.replace("/", "_") / "tokitai"
    return found + [f"tokitai/{path.name}" for path in public.glob("*.h")]


class Layers(unittest.TestCase):
    def test_the_table_is_that_of_the_build(self):
        text = (ROOT / "ARCHITECTURE.md").read_text()
        self.assertEqual(documented(text), LAYERS)
        self.assertGreater(len(LAYERS), 20)
        # The comparison itself: a layer that may use one more, one less, or is not there.
        for old, new in (("| base, numerics, contract |", "| base, contract |"), ("| base |", "| base, numerics |"),
                         ("| `accuracy/` |", "| `accurate/` |")):
            self.assertIn(old, text)
            self.assertNotEqual(documented(text.replace(old, new)), LAYERS)

    def test_every_folder_with_code_is_a_layer(self):
        outside = {"testing", "examples", "cmake", "tools", "docs", "build"}
        for path in (*ROOT.glob("*/*.h"), *ROOT.glob("*/*.cpp"), *ROOT.glob("machines/*/*.h")):
            layer = str(path.parent.relative_to(ROOT))
            self.assertTrue(layer in LAYERS or layer.split("/")[0] in outside or path.parent.name == "tests", layer)

    def test_a_layer_sees_what_it_may_include_and_nothing_else(self):
        own = {target_of(one)[len("layer_"):]: one for one in COMMANDS if target_of(one).startswith("layer_")}
        own["operators"] = next(one for one in COMMANDS if target_of(one) == "operators_built_in")
        own["library"] = next(one for one in COMMANDS if target_of(one) == "all_devices")
        own["proofs"] = next(one for one in COMMANDS if target_of(one) == "tokitai_subjects")
        headers = [(layer, name) for layer in LAYERS for name in headers_of(layer)]
        self.assertGreater(len(headers), 250)
        tried = 0
        for layer, uses in LAYERS.items():
            command = own.get(layer.replace("/", "_"))
            if command is None:  # headers only
                self.assertFalse(list((ROOT / layer).glob("*.cpp")), layer)
                continue
            tried += 1
            with tempfile.TemporaryDirectory() as folder:
                asked = pathlib.Path(folder) / "asked.cpp"
                asked.write_text("".join(f'#if __has_include("{name}")\nfound {i}\n#endif\n'
                                         for i, (_, name) in enumerate(headers)))
                said = self.compile(command, asked, "-E").stdout
            found = {int(number) for number in re.findall(r"^found (\d+)$", said, re.M)}
            for i, (of, name) in enumerate(headers):
                self.assertEqual(i in found, of == layer or of in uses, f"{layer} and {name}")
        self.assertGreater(tried, 15)

    def test_a_forbidden_include_does_not_compile(self):
        command = next(one for one in COMMANDS if target_of(one) == "layer_contract")
        with tempfile.TemporaryDirectory() as folder:
            one = pathlib.Path(folder) / "one.cpp"
            for name, allowed in (("base/files.h", True), ("contract/contract.h", True), ("tokitai/status.h", True),
                                  ("runtime/machine.h", False), ("tokitai/device.h", False),
                                  ("machines/cpu/pool.h", False), ("evidence/verify.h", False)):
                one.write_text(f'#include "{name}"\n')
                done = self.compile(command, one, "-fsyntax-only")
                self.assertEqual(done.returncode == 0, allowed, f"{name}: {done.stderr}")
                if not allowed:
                    self.assertIn(f"{name}: No such file or directory", done.stderr)

    def test_no_way_around(self):
        # The sources' root is on the path of tests alone, and nobody climbs out of a folder.
        tests = re.compile(r"_(test|check|smoke|skeleton|specimen)$|^tokitai_testing$|^fake_driver$|^bad_worker$|^plain_server$")
        seen = 0
        for command in COMMANDS:
            if not tests.search(target_of(command)):
                seen += 1
                self.assertNotIn(str(ROOT), folders_seen(command), command["command"])
        self.assertGreater(seen, 200)
        for layer in LAYERS:
            for path in (ROOT / layer).rglob("*"):
                if path.suffix in (".h", ".cpp", ".in", ".inc"):
                    self.assertNotRegex(path.read_text(), r'#\s*include\s*["<](\.\.|/)', str(path))

    @staticmethod
    def compile(command, source, how):
        words = shlex.split(command["command"])
        compiler = words[1] if words[0].endswith("ccache") else words[0]
        return subprocess.run([compiler, "-std=c++20", how, *(f"-I{folder}" for folder in folders_seen(command)), source],
                              cwd=command["directory"], capture_output=True, text=True)


unittest.main()
