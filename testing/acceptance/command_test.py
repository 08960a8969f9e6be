# A test of the command that the environment variable TOKITAI names, with a working folder of its own.
# A missing command fails every test that needs it. Only the standard library is used.
import os
import pathlib
import subprocess
import tempfile
import unittest

# Seconds for one call; a hang is a failure. Sanitizers are slow.
TIME_LIMIT = int(os.environ.get("TOKITAI_TIME_LIMIT", 60))


def run(executable, *arguments, code=0):
    """Runs the command, which must end with that code."""
    result = subprocess.run([executable, *map(str, arguments)], capture_output=True, text=True,
                            timeout=TIME_LIMIT, stdin=subprocess.DEVNULL)
    if result.returncode != code:
        raise AssertionError(f"{arguments}: {result.returncode}, not {code}: {result.stderr}")
    return result


class ExecutableTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = os.environ.get("TOKITAI")
        if not path or not os.access(path, os.X_OK):
            raise AssertionError(f"TOKITAI must name the tokitai command to test; it is {path!r}")
        cls.executable = os.path.abspath(path)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="acceptance-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
