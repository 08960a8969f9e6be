# The kernel cache and the files that compiling writes, from outside: damaged entries, folders that
# cannot be used, limits, entries in use, a full disk. What needs NVRTC or clang is skipped without.
import contextlib
import fcntl
import hashlib
import os
import re
import resource
import shutil
import subprocess
import unittest

from gpu_command import NVIDIA, SMALL, TIME_LIMIT, TWO, CompiledTest, GpuCommandTest


class CacheCommands(GpuCommandTest):
    ACTIONS = ("ls", "verify", "gc", "clear")

    def test_missing_and_empty_folders(self):
        for make in (False, True):
            if make:
                self.cache.mkdir()
            for action in self.ACTIONS:
                with self.subTest(action, exists=make):
                    self.assertTrue(self.succeed("cache", action).strip())
                    document = self.succeed_json("cache", action, "--json")
                    self.assertEqual(document["bytes"], 0)
                    self.assertEqual(self.cache.exists(), make)

    def test_folders_that_cannot_be(self):
        (self.folder / "file").write_text("not a folder")
        for action in self.ACTIONS:
            with self.subTest(action):
                self.check_failure(2, ["cache", action], ["file"],
                                   TOKITAI_CACHE=self.folder / "file")
                for path in ("/proc/tokitai", self.folder / "file" / "below", "/dev/null/x"):
                    document = self.succeed_json("cache", action, "--json", TOKITAI_CACHE=path)
                    self.assertEqual(document["bytes"], 0)
                self.check_failure(2, ["cache", action], ["TOKITAI_CACHE", "HOME"],
                                   TOKITAI_CACHE=None, XDG_CACHE_HOME=None, HOME=None)

    def test_the_folder_is_where_the_variables_say(self):
        home = self.folder / "home"
        for variables, place in (({"TOKITAI_CACHE": "here"}, "here"),
                                 ({"XDG_CACHE_HOME": home / "x"}, home / "x" / "tokitai"),
                                 ({"XDG_CACHE_HOME": "relative"}, home / ".cache" / "tokitai"),
                                 ({}, home / ".cache" / "tokitai")):
            given = {"TOKITAI_CACHE": None, "XDG_CACHE_HOME": None, "HOME": home, **variables}
            self.assertEqual(self.succeed_json("cache", "ls", "--json", **given)["folder"],
                             str(place))

    def test_limits(self):
        for limit in ("nonsense", "-1", "1T", "1.5G", "1g", " 1", "1 ", "0x10", "K", "1KK",
                      "99999999999999999999", "17179869184G"):
            with self.subTest(limit):
                for arguments in (["cache", "ls"], ["cache", "gc"],
                                  ["compile", *SMALL, "--target", NVIDIA]):
                    self.check_failure(2, arguments, ["TOKITAI_CACHE_LIMIT", f"'{limit}'"],
                                       TOKITAI_CACHE_LIMIT=limit)
        for limit, number in (("0", 0), ("5", 5), ("2K", 2048), ("3M", 3 << 20), ("4G", 4 << 30),
                              ("", 1 << 30)):
            self.assertEqual(self.succeed_json("cache", "ls", "--json",
                                               TOKITAI_CACHE_LIMIT=limit)["limit"], number)

    def test_usage(self):
        for arguments in ([], ["fly"], ["ls", "verify"], ["ls", "--fly"]):
            with self.subTest(arguments=arguments):
                self.check_failure(2, ["cache", *arguments], ["cache --help"])

    def test_what_is_not_ours_stays(self):
        self.cache.mkdir()
        (self.cache / "notes.txt").write_text("mine")
        (self.cache / ("A" * 64)).mkdir()
        for action in self.ACTIONS:
            self.succeed("cache", action)
        self.assertEqual((self.cache / "notes.txt").read_text(), "mine")
        self.assertTrue((self.cache / ("A" * 64)).is_dir())

    def test_what_dead_processes_left_is_swept(self):
        left = self.cache / "making" / "0123456789ab-XYZ"
        left.mkdir(parents=True)
        (left / "binary").write_bytes(b"half")
        swept = self.succeed_json("cache", "gc", "--json")
        self.assertEqual((swept["leftovers"], swept["bytes"]), (1, 4))
        self.assertFalse(left.exists())


class FoldersOfOthers(GpuCommandTest):
    """Whoever can write to the cache decides what code runs: it is refused before anything is compiled or loaded."""

    def commands(self):
        run, _ = self.run_arguments("lockstep")
        yield from (["cache", action] for action in CacheCommands.ACTIONS)
        yield ["compile", *SMALL, "--target", NVIDIA]
        yield run
        yield ["verify", "--device", "lockstep", "--problem", "softmax.forward rows=3 cols=5"]

    def test_a_folder_that_others_may_write_to(self):
        self.cache.mkdir()
        (self.folder / "link").symlink_to(self.cache)
        for mode in (0o777, 0o775, 0o1777):
            self.cache.chmod(mode)
            for arguments in self.commands():
                for path in (self.cache, self.folder / "link"):
                    with self.subTest(arguments=arguments, mode=oct(mode), path=path.name):
                        self.check_failure(2, arguments, [path, f"mode is {mode:o}", "chmod 700"], TOKITAI_CACHE=path)
                        self.assertEqual(list(self.cache.iterdir()), [])
        self.cache.chmod(0o755)
        self.succeed("cache", "ls")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a folder away")
    def test_a_folder_of_another_user(self):
        self.cache.mkdir()
        os.chown(self.cache, 65534, 65534)
        for arguments in self.commands():
            with self.subTest(arguments=arguments):
                self.check_failure(2, arguments, [self.cache, "belongs to user 65534"])

    def test_folders_that_are_made_are_their_owners_alone(self):
        self.cache = self.folder / "new" / "cache"
        result = self.command("verify", "--device", "lockstep", "--problem", "softmax.forward rows=3 cols=5",
                              preexec=lambda: os.umask(0))
        if result.returncode == 3:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, self.shown)
        folders = [self.cache.parent, self.cache, *(p for p in self.cache.iterdir() if p.is_dir())]
        self.assertGreater(len(folders), 4)
        for path in folders:
            self.assertEqual(path.stat().st_mode & 0o777, 0o700, path)


class Damage(CompiledTest):
    def damages(self):
        def flip(name, at):
            def damage(entry):
                data = bytearray((entry / name).read_bytes())
                data[at if at >= 0 else len(data) + at] ^= 0x20
                (entry / name).write_bytes(data)
            return damage

        def truncate(name, share):
            return lambda entry: os.truncate(entry / name,
                                             int(os.path.getsize(entry / name) * share))

        def replace(name, data):
            return lambda entry: (entry / name).write_bytes(data)

        def remove(name):
            return lambda entry: (entry / name).unlink()

        def folder(name):
            def damage(entry):
                (entry / name).unlink()
                (entry / name).mkdir()
            return damage

        def another_entry(entry):
            text = (entry / "manifest").read_text()
            other = entry.parent / ("0" * 64)
            shutil.copytree(entry, other)
            (other / "manifest").write_text(text)

        yield from ((f"{name}: {what}", make(name)) for name in ("binary", "text", "manifest")
                    for what, make in (("first byte", lambda n: flip(n, 0)),
                                       ("last byte but one", lambda n: flip(n, -2)),
                                       ("half", lambda n: truncate(n, 0.5)),
                                       ("empty", lambda n: truncate(n, 0)),
                                       ("gone", remove), ("folder", folder)))
        def signed(text):
            return text + b"manifest_digest=" + hashlib.sha256(text).hexdigest().encode() + b"\n"

        for junk in (b"null", b"=", b"\n", b"\xff\xfe", b"\x00" * 10, b"manifest_digest=", b"manifest_digest=7\n",
                     signed(b""), signed(b"key"), signed(b"key=\n" * 10**6), signed(b"\x00=\n"), signed(b"key=\\")):
            yield f"manifest: {junk[:30]!r}", replace("manifest", junk)
        yield "the entry is a file", lambda entry: (shutil.rmtree(entry), entry.write_text("x"))
        yield "another key", another_entry

    def test_damage_is_found_and_rebuilt(self):
        good = self.compile()
        self.assertTrue(good["from_cache"])
        for number, (name, damage) in enumerate(self.damages()):
            with self.subTest(name):
                shutil.rmtree(self.cache)
                shutil.copytree(self.warm, self.cache)
                damage(self.entry())
                result = self.command("cache", "verify", "--json")
                self.assertEqual(result.returncode, 1, self.shown)
                self.assertRegex(result.stderr, r"^tokitai: 1 of \d entries damaged")
                document = self.parsed(result.stdout)
                self.assertEqual(document["damaged"], 1)
                self.assertEqual(sum(bool(e["damage"]) for e in document["entries"]), 1)
                self.succeed("cache", "ls")
                if name == "another key":
                    continue  # that entry is nobody's; gc takes it
                if number % 4 == 0:  # compiling takes its time
                    rebuilt = self.compile()
                    self.assertFalse(rebuilt["from_cache"])
                    self.assertEqual(rebuilt["binary_digest"], good["binary_digest"])
                    self.assertEqual(self.succeed_json("cache", "verify", "--json")["damaged"], 0)
                    self.assertTrue(self.compile()["from_cache"])

    def test_gc_removes_the_damaged_alone(self):
        (self.entry() / "binary").write_bytes(b"")
        swept = self.succeed_json("cache", "gc", "--json")
        self.assertEqual((swept["entries"], swept["kept"]), (1, 0))
        document = self.succeed_json("cache", "verify", "--json")
        self.assertEqual(len(document["entries"]), len(self.targets) - 1)

    def test_an_entry_in_use_stays(self):
        key = self.entry().name
        with open(self.cache / "locks" / key, "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            result = self.command("cache", "clear", "--json")
            self.assertEqual(result.returncode, 1, self.shown)
            self.assertEqual(self.parsed(result.stdout)["kept"], 1)
            self.assertEqual([e["key"] for e in self.succeed_json("cache", "ls", "--json")
                              ["entries"]], [key])
        self.succeed("cache", "clear")
        self.assertEqual(self.succeed_json("cache", "ls", "--json")["entries"], [])


class UnusableCaches(CompiledTest):
    def test_compiling_goes_on_and_says_why_nothing_is_stored(self):
        (self.folder / "file").write_text("not a folder")
        # As root every folder is writable; these cannot be made by anyone.
        for path in ("/proc/tokitai", self.folder / "file", self.folder / "file" / "below"):
            with self.subTest(path):
                kernel = self.compile(TOKITAI_CACHE=path)
                self.assertFalse(kernel["from_cache"])
                self.assertRegex(kernel["note"], rf"^not stored: .*{re.escape(str(path))}")
        shown = self.succeed("compile", *SMALL, "--target", self.target,
                             TOKITAI_CACHE="/proc/tokitai")
        self.assertIn("not stored: ", shown)
        kernel = self.compile(TOKITAI_CACHE=None, XDG_CACHE_HOME=None, HOME=None)
        self.assertRegex(kernel["note"], "TOKITAI_CACHE")
        self.assertEqual((self.folder / "file").read_text(), "not a folder")

    def test_a_small_limit_keeps_the_latest(self):
        self.compile("softmax.backward", "--shape", "rows=3", "cols=40", TOKITAI_CACHE_LIMIT=1)
        entries = self.succeed_json("cache", "ls", "--json")["entries"]
        self.assertEqual(len(entries), 1)
        self.assertIn("softmax.backward", entries[0]["label"])

    def test_processes_that_ask_at_once(self):
        self.succeed("cache", "clear")
        arguments = [self.executable, "compile", *SMALL, "--target", self.target, "--json", "-"]
        with contextlib.ExitStack() as stack:
            processes = [stack.enter_context(subprocess.Popen(
                arguments, env=self.environment({}), cwd=self.folder, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)) for _ in range(3)]
            results = [self.parsed(p.communicate(timeout=TIME_LIMIT)[0])[0] for p in processes]
        self.assertEqual(sorted(r["from_cache"] for r in results), [False, True, True])
        self.assertEqual(len({r["binary_digest"] for r in results}), 1)
        self.assertEqual(self.succeed_json("cache", "verify", "--json")["damaged"], 0)


class Emission(CompiledTest):
    def test_what_is_written(self):
        for target in self.targets:
            with self.subTest(target):
                kind, word = ("ptx", b".visible .entry softmax_forward") if target == NVIDIA \
                    else ("asm", b".amdhsa_kernel softmax_forward")
                for emitted, begins, holds in ((kind, b"", word), ("binary", b"\x7fELF", b"")):
                    path = self.folder / "out"
                    path.write_bytes(b"an earlier, longer result" * 100000)
                    self.succeed("compile", *SMALL, "--target", target, "--emit", emitted, "-o",
                                 path)
                    data = path.read_bytes()
                    self.assertTrue(data.startswith(begins))
                    self.assertIn(holds, data)
                    self.assertNotIn(b"earlier", data)

    def test_a_file_for_each_binary(self):
        self.succeed("compile", *TWO, "--target", self.target, "--emit", "binary", "-o", "out")
        kernel = "layernorm_backward"
        written = {f"out.{kernel}", f"out.{kernel}_columns"}
        self.assertEqual({path.name for path in self.contents()}, written)
        # One that cannot be written leaves the other as it was.
        (self.folder / f"out.{kernel}").unlink()
        (self.folder / f"out.{kernel}").mkdir()
        (self.folder / f"out.{kernel}_columns").write_text("as it was")
        self.check_failure(2, ["compile", *TWO, "--target", self.target, "--emit", "binary",
                               "-o", "out"], [f"out.{kernel}"])

    def test_a_full_disk_changes_nothing(self):
        def little():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        path = self.folder / "out"
        for before in (None, b"an earlier result"):
            if before:
                path.write_bytes(before)
            for option in (["--emit", "binary", "-o", path], ["--json", path]):
                with self.subTest(option=option, before=before):
                    self.check_failure(2, ["compile", *SMALL, "--target", self.target, *option],
                                       [path], preexec=little)


if __name__ == "__main__":
    unittest.main()
