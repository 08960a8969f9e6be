# A test of the command that the environment variable TOKITAI names, with a working folder of its own.
# A missing command fails every test that needs it. Only the standard library is used.
import os
import pathlib
import tempfile
import unittest

TIME_LIMIT = 60  # seconds for one call; a hang is a failure


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
