# Two outputs of one command never go to one file, nor one where another operand, a key or the evidence is read from:
# such a command is refused before anything is written, however the two paths are spelt.
import os
import subprocess
import unittest

import numpy as np

from command_test import TIME_LIMIT
from harness import compare_bits
from refusal import RefusalTest

PROBLEM = ("--problem", "softmax.backward rows=2 cols=3")


class Collisions(RefusalTest):
    def setUp(self):
        super().setUp()
        (self.folder / "sub").mkdir()
        for name in ("x", "a", "b"):
            np.save(self.folder / f"{name}.npy", np.ones((3, 3), "<f2"))

    def spellings(self, name):
        """The same file by other names."""
        (self.folder / f"link_{name}").unlink(missing_ok=True)
        (self.folder / f"link_{name}").symlink_to(name)
        return (name, f"./{name}", f"sub/../{name}", str(self.folder / name), f"link_{name}")

    def test_an_output_and_the_report(self):
        for name in ("r.json", "r.md"):
            for there in (False, True):
                if there:
                    (self.folder / name).write_text("an earlier result")
                for other in self.spellings(name)[:5 if there else 4]:
                    self.check_refusal(["run", "softmax.forward", "--in", "x=x.npy", "--out", f"y={other}",
                                        "--report", name], ["y", "--report", "both", name])

    def test_tables_and_json(self):
        for command in ("accuracy", "gradients"):
            for path in ("out", "./out", "sub/../out"):
                self.check_refusal([command, *PROBLEM, "--json", "out", "--markdown", path],
                                   ["--json", "--markdown", "both", "out"])
            self.check_refusal([command, *PROBLEM, "--json", "-", "--markdown", "-"], ["both", "standard output"])

    def test_evidence_and_json(self):
        for name in ("evidence.json", "report.md", "report.html"):
            self.check_refusal(["verify", *PROBLEM, "--report", "sub", "--json", f"sub/{name}"],
                               ["--report", "--json", "both", name])

    def test_a_key_is_not_written_over(self):
        self.assertEqual(self.command("key", "new", self.folder / "mine.key").returncode, 0)
        for path in self.spellings("mine.key"):
            self.check_refusal(["verify", *PROBLEM, "--report", "sub", "--sign", "mine.key", "--json", path],
                               ["--json", "--sign is read from"])

    def test_what_is_audited_is_not_written_over(self):
        made = self.command("verify", *PROBLEM, "--no-figures", "--report", self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        for path in self.spellings("evidence.json"):
            self.check_refusal(["audit", "evidence.json", "--json", path], ["--json", "FILE is read from"])

    def test_what_lies_beside_a_key_or_a_bundle_is_not_written_over(self):
        self.assertEqual(self.command("key", "new", self.folder / "k").returncode, 0)
        for path in self.spellings("k.pub"):
            self.check_refusal(["verify", *PROBLEM, "--report", "sub", "--sign", "k", "--json", path],
                               ["--json", "public key of --sign is read from"])
        made = self.command("verify", *PROBLEM, "--no-figures", "--report", self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        for name in ("report.md", "report.html"):
            for path in self.spellings(name):
                self.check_refusal(["audit", "evidence.json", "--json", path], ["--json", "report of FILE is read from"])

    def test_a_tensor_of_a_list_replaces_no_file_of_another(self):
        for name in ("a", "b", "c"):
            np.save(self.folder / f"{name}.npy", np.ones(3, "<f2"))
            np.save(self.folder / f"m{name}.npy", np.ones(3, "<f4"))
            np.save(self.folder / f"v{name}.npy", np.ones(3, "<f4"))

        def step(first, second):
            return ["run", "adamw.step", "--set", "t=1",
                    "--in", *(f"{name}.npy".replace("!", t) for t in "ab"
                              for name in ("theta=!", "m=m!", "v=v!", "grad=!")),
                    "--out", f"theta={first}.npy", f"theta={second}.npy",
                    *(f"{name}.npy".replace("!", t) for t in "ab" for name in ("m=m!", "v=v!"))]

        for second in ("c", "a"):
            self.check_refusal(step("b", second), [r"theta\[list index 0\] would be written",
                                                   r"theta\[list index 1\] is read from"])
        done = self.command(*step("d", "e"), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_link_to_a_file_that_is_yet_to_be_made_is_followed(self):
        (self.folder / "ylink.npy").symlink_to("sub/y.npy")
        (self.folder / "farther.npy").symlink_to("ylink.npy")
        for name in ("ylink.npy", "farther.npy"):
            done = self.command("run", "softmax.forward", "--in", "x=x.npy", "--out", f"y={name}", cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((self.folder / name).is_symlink())
            self.assertTrue((self.folder / "sub" / "y.npy").is_file())
            (self.folder / "sub" / "y.npy").unlink()
        (self.folder / "r.json").symlink_to("sub/y.npy")
        self.check_refusal(["run", "softmax.forward", "--in", "x=x.npy", "--out", "y=sub/y.npy", "--report", "r.json"],
                           ["y", "--report", "both"])
        (self.folder / "round.npy").symlink_to("round.npy")
        self.check_refusal(["run", "softmax.forward", "--in", "x=x.npy", "--out", "y=round.npy"], ["round.npy"])

    def test_an_operand_is_not_written_over_by_another(self):
        for path in self.spellings("a.npy"):
            self.check_refusal(["run", "gemm.forward", "--in", "a=a.npy", "b=b.npy", "--out", f"c={path}"],
                               ["c would be written", "a is read from"])
        (self.folder / "a.npy").rename(self.folder / "a.json")
        self.check_refusal(["run", "gemm.forward", "--in", "a=a.json", "b=b.npy", "--out", "c=c.npy", "--report",
                            "a.json"], ["--report", "a is read from"])

    def test_what_standard_output_or_error_goes_to_is_not_written_over(self):
        for stream, name in (("stdout", "standard output"), ("stderr", "standard error")):
            said = self.folder / "said.json"
            said.write_text("an earlier line\n")
            os.link(said, self.folder / f"{stream}.json")
            for path in (*self.spellings("said.json"), f"{stream}.json", f"/dev/{stream}"):
                for words in (["run", "softmax.forward", "--in", "x=x.npy", "--out", f"y={path}"],
                              ["run", "softmax.forward", "--in", "x=x.npy", "--out", "y=y.npy", "--report", path],
                              ["gradients", *PROBLEM, "--json", path],
                              ["gradients", *PROBLEM, "--json", "g.json", "--markdown", path]):
                    if path.startswith("/dev/") and "--report" in words:
                        continue  # its name has no ending
                    with self.subTest(" ".join(words), stream=stream), open(said, "a") as file:
                        before = self.contents()
                        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: file}
                        done = subprocess.run([self.executable, *words], cwd=self.folder, timeout=TIME_LIMIT, text=True,
                                              stdin=subprocess.DEVNULL, **streams)
                        after = self.contents()
                        message = done.stderr if stream == "stdout" else after[said].decode()
                        self.assertEqual(done.returncode, 2, message)
                        self.assertIn(f"{name} goes there", message)
                        for contents in (before, after):
                            for appended in (said, self.folder / f"{stream}.json", self.folder / "link_said.json"):
                                contents.pop(appended, None)
                        self.assertEqual(after, before)
            said.unlink()
        self.assertNotIn("y.npy", {path.name for path in self.contents()})

    def test_a_name_with_a_newline_begins_no_line(self):
        forged = "a\nwrote"
        (self.folder / forged).mkdir(mode=0o700)
        for words in (["run", "softmax.forward", "--in", "x=x.npy", "--out", f"y={forged}/y.npy"],
                      ["key", "new", f"{forged}/mine.key"],
                      ["verify", *PROBLEM, "--no-figures", "--report", f"{forged}/report"],
                      ["cache", "ls"]):
            done = self.command(*words, cwd=self.folder,
                                env={**os.environ, "TOKITAI_CACHE": str(self.folder / forged)})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("a\\u000awrote", done.stdout)
            self.assertNotIn(forged, done.stdout)

    def test_an_output_may_replace_the_input_it_is_computed_over(self):
        np.save(self.folder / "labels.npy", np.array([0, 2, 1], "<i8"))
        results = []
        for output in ("y.npy", "x.npy"):  # cross_entropy's contract lets the gradient lie over the logits
            done = self.command("run", "cross_entropy.forward_backward", "--in", "logits=x.npy", "labels=labels.npy",
                                "--out", "loss=loss.npy", f"grad={output}", cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            results.append(np.load(self.folder / output))
        compare_bits(*results, "over its input and beside it")


if __name__ == "__main__":
    unittest.main()
