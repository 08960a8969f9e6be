# Files that are none: every command, with every place where it takes a file, finds a FIFO, a folder, a loop of links,
# a device, a socket, a file it may not read, a sparse one larger than memory. It must say so and end, at once.
import json
import os
import shutil
import socket
import subprocess
import unittest

import numpy as np

from command_test import TIME_LIMIT, ExecutableTest, run
from gpu_command import CRASHED

NOBODY = 65534
HUGE = 1 << 40


def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def loop(path):
    path.symlink_to(path)


def device(path):
    path.symlink_to("/dev/zero")


def a_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def unreadable(path):
    path.write_text("{}")
    path.chmod(0)


def huge(path):
    with open(path, "wb") as file:
        file.truncate(HUGE)


KINDS = (fifo, folder, loop, device, a_socket, unreadable, huge)


class OddFiles(ExecutableTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = ExecutableTest()
        cls.shared.setUp()
        cls.addClassCleanup(cls.shared.doCleanups)
        folder_ = cls.shared.folder
        cls.evidence = folder_ / "evidence"
        run(cls.executable, "verify", "--threads", 1, "--no-figures", "--report", cls.evidence, "--problem",
            "softmax.forward rows=3 cols=5")
        cls.key = folder_ / "good.key"
        run(cls.executable, "key", "new", cls.key)
        cls.x = folder_ / "x.npy"
        np.save(cls.x, np.ones((3, 5), "<f2"))
        # What a command reads is bounded, so that this much memory is enough; not for the sanitizers' own.
        little = ["bash", "-c", 'ulimit -d 8000000; exec "$@"', "bash", cls.executable]
        bounded = subprocess.run([*little, "--version"], capture_output=True).returncode == 0
        cls.start = little if bounded else [cls.executable]

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def odd(self, kind, name="odd"):
        path = self.folder / name
        kind(path)
        return path

    def command(self, *arguments, **variables):
        """Ends within the limit, by itself, with one of the codes that mean something."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TOKITAI")}
        environment = {**kept, "TOKITAI_CACHE": str(self.cache), **{k: str(v) for k, v in variables.items()}}

        def as_nobody():  # root may read everything
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        lower = os.geteuid() == 0 and self.kind is unreadable
        if lower:
            for path in (self.folder, self.shared.folder):
                path.chmod(0o777)
        result = subprocess.run([*self.start, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT,
                                preexec_fn=as_nobody if lower else None)
        shown = f"{arguments} {variables}: {result.returncode}: {result.stderr[:500]}"
        self.assertIn(result.returncode, (0, 1, 2, 3), shown)
        self.assertIsNone(CRASHED.search(result.stderr), shown)
        self.shown = shown
        return result

    def each(self, act, kinds=KINDS):
        for kind in kinds:
            with self.subTest(kind.__name__):
                self.kind = kind
                for path in self.folder.iterdir():
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                act(kind)

    def refused(self, code, *arguments, name="odd", **variables):
        result = self.command(*arguments, **variables)
        self.assertEqual(result.returncode, code, self.shown)
        self.assertIn(name, result.stderr, self.shown)

    # What is read.

    def test_operands(self):
        self.each(lambda kind: self.refused(2, "run", "softmax.forward", "--in", f"x={self.odd(kind)}", "--out",
                                            f"y={self.folder / 'y.npy'}"))

    def test_bundles(self):
        self.each(lambda kind: self.refused(2, "audit", self.odd(kind)))

    def test_reports_beside_a_bundle(self):
        for name in ("report.md", "report.html"):
            def act(kind):
                shutil.copy(self.evidence / "evidence.json", self.folder)
                self.odd(kind, name)
                self.refused(1, "audit", self.folder / "evidence.json", name=name)
            self.each(act)

    def test_keys(self):
        for arguments in (("key", "show"), ("verify", "--report", "out", "--sign"),
                          ("audit", self.evidence / "evidence.json", "--key")):
            self.each(lambda kind: self.refused(2, *arguments, self.odd(kind)))

    def test_sockets(self):
        kinds = [kind for kind in KINDS if kind is not unreadable]
        self.each(lambda kind: self.refused(3, "serve", "--status", "--socket", self.odd(kind)), kinds)
        self.each(lambda kind: self.refused(3, "run", "softmax.forward", "--in", f"x={self.x}", "--out", "y=y.npy",
                                            "--device", f"unix:{self.odd(kind)}"), kinds)

    def test_libraries_and_programs_that_variables_name(self):
        for variable, arguments in (
                ("TOKITAI_CUDA_DRIVER", ("devices",)), ("TOKITAI_HIP_RUNTIME", ("devices",)),
                ("TOKITAI_NVRTC", ("compile", "softmax.forward", "--target", "sm_90a")),
                ("TOKITAI_CLANG", ("compile", "softmax.forward", "--target", "gfx942")),
                ("TOKITAI_CXX", ("verify", "--device", "lockstep", "--problem", "softmax.forward rows=3 cols=5")),
                ("TOKITAI_PROVER", ("prove", "each")),
                ("TOKITAI_WORKER", ("run", "softmax.forward", "--in", f"x={self.x}", "--out", "y=y.npy", "--device",
                                    "worker:cpu"))):
            expected = 0 if arguments == ("devices",) else 3
            def act(kind):
                result = self.command(*arguments, **{variable: self.odd(kind)})
                self.assertEqual(result.returncode, expected, self.shown)
            self.each(act)

    def test_a_python_for_the_peer(self):
        self.each(lambda kind: self.refused(3, "bench", "--peer", "torch", "--python", self.odd(kind), "--problem",
                                            "softmax.forward rows=3 cols=5", "--seconds", "0.01"))

    # What is written.

    def written(self, *arguments, name="odd"):
        """A file that is none is refused and stays; a huge one is a file like any other."""
        def act(kind):
            path = self.odd(kind, name)
            if kind in (unreadable, huge):
                result = self.command(*arguments, path)
                self.assertIn(result.returncode, (0, 2), self.shown)
                return
            before = os.lstat(path)
            self.refused(2, *arguments, path, name=name)
            after = os.lstat(path)
            self.assertEqual((before.st_mode, before.st_ino), (after.st_mode, after.st_ino))
        self.each(act)

    def test_outputs(self):
        def act(kind):
            path = self.odd(kind)
            result = self.command("run", "softmax.forward", "--in", f"x={self.x}", "--out", f"y={path}")
            self.assertEqual(result.returncode, 0 if kind is huge else 2, self.shown)
        self.each(act)

    def test_results(self):
        problem = ("--problem", "softmax.forward rows=3 cols=5")
        self.written("verify", "--threads", 1, *problem, "--json")
        self.written("accuracy", *problem, "--json")
        self.written("accuracy", *problem, "--markdown")
        self.written("gradients", "--problem", "softmax.backward rows=3 cols=5", "--json")
        self.written("audit", self.evidence / "evidence.json", "--json")
        self.written("compile", "softmax.forward", "--target", "sm_90a", "--emit", "plan", "-o")
        self.written("run", "softmax.forward", "--in", f"x={self.x}", "--out", "y=y.npy", "--report", name="odd.json")

    def test_folders_for_reports(self):
        arguments = ("verify", "--threads", 1, "--no-figures", "--problem", "softmax.forward rows=3 cols=5", "--report")
        kinds = [kind for kind in KINDS if kind is not folder]
        self.each(lambda kind: self.refused(2, *arguments, self.odd(kind)), kinds)
        for name in ("evidence.json", "report.md", "report.html"):
            def act(kind):
                (self.folder / "out").mkdir()
                (self.folder / "out").chmod(0o777)
                path = self.odd(kind, f"out/{name}")
                result = self.command(*arguments, self.folder / "out")
                self.assertEqual(result.returncode, 0 if kind is huge else 2, self.shown)
                if kind is not huge:
                    self.assertIn(name, result.stderr)
                    self.assertEqual(os.listdir(path.parent), [name])
            self.each(act)

    def test_new_keys(self):
        for name in ("odd", "odd.pub"):
            self.each(lambda kind: (self.odd(kind, name), self.refused(2, "key", "new", self.folder / "odd")))

    def test_sockets_to_serve_at(self):
        kinds = [kind for kind in KINDS if kind is not a_socket]
        self.each(lambda kind: self.refused(2, "serve", "--socket", self.odd(kind)), kinds)

    # The cache.

    def test_a_cache_that_is_none(self):
        def act(kind):
            path = self.odd(kind)
            for action in ("ls", "verify", "gc", "clear"):
                self.refused(2, "cache", action, TOKITAI_CACHE=path)
        self.each(act, [kind for kind in KINDS if kind is not folder])

    def test_odd_things_in_a_cache(self):
        key = "ab" * 32
        for name in (key, f"{key}/manifest", f"{key}/binary", f"locks/{key}", "locks", f"making/{key}", "making",
                     "compilers", f"compilers/{key}"):
            def act(kind):
                (self.cache / name).parent.mkdir(parents=True, mode=0o755)
                self.odd(kind, f"cache/{name}")
                if kind is unreadable:
                    for path in (self.cache, *self.cache.rglob("*")):
                        os.chown(path, NOBODY, NOBODY, follow_symlinks=False) if os.geteuid() == 0 else None
                for action in ("ls", "verify", "gc", "clear"):
                    self.command("cache", action)
            with self.subTest(name):
                self.each(act)


class Terminal(ExecutableTest):
    """What a file holds, and what it is called, never steers a terminal."""

    HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r"

    def setUp(self):
        super().setUp()
        run(self.executable, "verify", "--threads", 1, "--no-figures", "--report", self.folder / "out", "--problem",
            "softmax.forward rows=3 cols=5")
        self.honest = json.loads((self.folder / "out" / "evidence.json").read_text())

    def harmless(self, *arguments, **variables):
        result = subprocess.run([self.executable, *map(str, arguments)], capture_output=True, timeout=TIME_LIMIT,
                                stdin=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, **variables})
        self.assertIn(result.returncode, (0, 1, 2, 3), result.stderr)
        for data in (result.stdout, result.stderr):
            text = data.decode()  # and it is UTF-8
            controls = {c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0}
            self.assertEqual(controls, set(), text)
        return result

    def strings(self, value, path=()):
        if isinstance(value, str):
            yield path
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) \
                if isinstance(value, list) else ():
            yield from self.strings(inner, (*path, key))

    def test_any_text_of_a_bundle(self):
        paths = list(self.strings(self.honest))
        self.assertGreater(len(paths), 50)
        for path in paths:
            statement = json.loads(json.dumps(self.honest))
            place = statement
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = f"{place[path[-1]]}{self.HOSTILE}\ntokitai: it holds"
            (self.folder / "edited.json").write_text(json.dumps(statement))
            for extra in ((), ("--json", "-")):
                result = self.harmless("audit", "edited.json", *extra)
                for line in (result.stdout + result.stderr).decode().splitlines():
                    self.assertFalse(line.startswith("tokitai: it holds"), line)  # nor forges a line of ours

    def test_names_of_files_and_keys_of_objects(self):
        name = f"a{self.HOSTILE}b"
        (self.folder / name).write_text(json.dumps({"_type": "x", self.HOSTILE: 1}))
        self.harmless("audit", name)
        self.harmless("run", "softmax.forward", "--in", f"x={name}", "--out", "y=y.npy")
        self.harmless("run", f"soft{self.HOSTILE}max")
        self.harmless("key", "show", name)
        self.harmless("verify", "--problem", f"softmax.forward rows={self.HOSTILE}")
        self.harmless(f"co{self.HOSTILE}mmand")
        self.harmless("verify", f"--{self.HOSTILE}")
        self.harmless("serve", "--status", "--socket", name)
        self.harmless("devices", TOKITAI_CUDA_DRIVER=f"/nowhere/{name}")
        self.harmless("cache", "ls", TOKITAI_CACHE=name)
        self.harmless("audit", os.fsdecode(b"not\xffUTF-8\x9b"))

    def test_manifests_of_the_cache(self):
        cache = self.folder / "cache"
        (cache / ("ab" * 32)).mkdir(parents=True, mode=0o700)
        (cache / ("ab" * 32) / "manifest").write_text(f"label={self.HOSTILE}\n{self.HOSTILE}=1\n")
        for action in ("ls", "verify"):
            self.harmless("cache", action, TOKITAI_CACHE=str(cache))

    def test_headers_of_operands(self):
        header = f"{{'descr': '{self.HOSTILE}', 'fortran_order': False, 'shape': (3, 5), }}\n".encode()
        (self.folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        self.harmless("run", "softmax.forward", "--in", "x=x.npy", "--out", "y=y.npy")

    def test_what_a_compiler_says_of_itself(self):
        program = self.folder / "c++"
        program.write_text("#!/bin/sh\nprintf 'g++ \\033[2J\\233 1.0\\n'; exit 1\n")
        program.chmod(0o755)
        self.harmless("verify", "--device", "lockstep", "--problem", "softmax.forward rows=3 cols=5",
                      TOKITAI_CXX=str(program), TOKITAI_CACHE=str(self.folder / "cache"))


if __name__ == "__main__":
    unittest.main()
