# Standard output or error that cannot be written, because a disk is full, it is closed, or nobody reads it: no command
# crashes, says that this is a bug, or takes lost text for good, whatever it prints and however much.
import itertools
import os
import subprocess
import unittest

import numpy as np

from command_test import TIME_LIMIT
from refusal import RefusalTest

# What is run, whether it prints on standard output, and its exit code where it can.
COMMANDS = [
    (["ops"], True, 0),
    (["ops", "--json"], True, 0),
    (["ops", "softmax.forward"], True, 0),
    (["devices"], True, 0),
    (["run", "softmax.forward", "--in", "x=x.npy", "--out", "y=y.npy"], True, 0),
    (["run", "softmax.forward", "--in", "x=x.npy", "--out", "y=y.npy", "--json"], True, 0),
    (["run", "--in", "x=missing.npy", "--out", "y=y.npy", "softmax.forward"], False, 2),
    (["gradients", "--problem", "softmax.backward rows=2 cols=3", "--json", "-"], True, 0),
    (["compile", "softmax.forward", "--target", "sm_90a", "--emit", "plan"], True, 0),
    (["key", "new", "mine.key"], True, 0),
    (["cache", "ls"], True, 0),
    (["--help"], True, 0),
    (["run", "--help"], True, 0),
    (["--version"], True, 0),
    ([], False, 2),
    (["ops", "nosuch"], False, 2),
    (["nosuch"], False, 2),
    (["run", "--nosuch"], False, 2),
    (["audit", "missing.json"], False, 2),
]
KINDS = ("good", "full", "closed", "unread")


class Streams(RefusalTest):
    def ending(self, words, kinds):
        """The exit code and what was said on standard error, if that is good."""
        opened = []

        def descriptor(kind):
            if kind == "unread":
                reader, writer = os.pipe()
                os.close(reader)
                opened.append(writer)
                return writer
            opened.append(os.open("/dev/full" if kind == "full" else "/dev/null", os.O_WRONLY))
            return opened[-1]

        def close():  # between fork and exec
            for number, kind in enumerate(kinds, start=1):
                if kind == "closed":
                    os.close(number)

        streams = [subprocess.PIPE if kind == "good" else descriptor(kind) for kind in kinds]
        try:
            # SIGPIPE is as a shell leaves it: Python restores it for what it starts.
            done = subprocess.run([self.executable, *words], stdin=subprocess.DEVNULL, stdout=streams[0],
                                  stderr=streams[1], cwd=self.folder, timeout=TIME_LIMIT, preexec_fn=close,
                                  text=True, errors="replace",
                                  env={**os.environ, "TOKITAI_CACHE": str(self.folder / "kernels")})
        finally:
            for number in opened:
                os.close(number)
        return done.returncode, done.stderr

    def prepare(self):
        for path in self.folder.iterdir():
            if path.is_file():
                path.unlink()
        np.save(self.folder / "x.npy", np.ones((3, 3), "<f2"))

    def test_a_stream_that_cannot_be_written_has_one_code(self):
        for (words, prints, usual), kinds in itertools.product(COMMANDS, itertools.product(KINDS, KINDS)):
            with self.subTest(" ".join(words), stdout=kinds[0], stderr=kinds[1]):
                self.prepare()
                before = self.contents()
                code, said = self.ending(words, kinds)
                lost = prints and kinds[0] != "good"
                self.assertEqual(code, 3 if lost else usual, said)
                if code == 2:
                    self.assertEqual(self.contents(), before)
                if lost and kinds[1] == "good":
                    self.assertEqual(said, "tokitai: cannot write to standard output\n")

    def test_descriptors_that_are_closed_are_not_taken_for_files(self):
        """Without standard streams a file would be opened as one of them, and what is said would go there."""
        self.prepare()
        words = ["run", "softmax.forward", "--in", "x=x.npy", "--out", "y=y.npy"]
        self.ending(words, ("good", "good"))
        wanted = (self.folder / "y.npy").read_bytes()
        (self.folder / "y.npy").unlink()
        done = subprocess.run(["bash", "-c", '"$0" "$@" 0<&- 1>&- 2>&-', self.executable, *words], cwd=self.folder,
                              timeout=TIME_LIMIT)
        self.assertEqual(done.returncode, 3)
        self.assertEqual((self.folder / "y.npy").read_bytes(), wanted)


if __name__ == "__main__":
    unittest.main()
