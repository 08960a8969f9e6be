# tokitai serve, from outside: the example client's bits against the command's own, the status, signals, bad usage.
import importlib.util
import json
import os
import pathlib
import signal
import stat
import struct
import subprocess
import sys
import threading
import time

import numpy as np

from command_test import TIME_LIMIT, ExecutableTest, run
from families import generator

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "layernorm_client.py"


def example():
    spec = importlib.util.spec_from_file_location("layernorm_client", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ServeTest(ExecutableTest):
    def setUp(self):
        super().setUp()
        self.socket = str(self.folder / "socket")
        self.server = None

    def start(self, *arguments):
        self.server = subprocess.Popen([self.executable, "serve", "--socket", self.socket, *arguments],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.assertEqual(self.server.stdout.readline(), f"serving cpu at {self.socket}\n")

    def stop(self, number=signal.SIGTERM):
        if self.server is None:
            return None
        self.server.send_signal(number)
        _, said = self.server.communicate(timeout=TIME_LIMIT)
        code, self.server = self.server.returncode, None
        return code, said

    def test_a_server_whose_words_nobody_reads_serves_and_leaves_nothing_behind(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.server = subprocess.Popen([self.executable, "serve", "--socket", self.socket], stdout=writer,
                                       stderr=subprocess.PIPE, text=True)
        os.close(writer)
        self.addCleanup(self.stop)
        ask = [self.executable, "serve", "--status", "--socket", self.socket]
        while self.server.poll() is None and subprocess.run(ask, capture_output=True).returncode != 0:
            time.sleep(0.01)
        self.assertEqual(self.stop(), (3, "tokitai: cannot write to standard output\n"))
        self.assertFalse(os.path.exists(self.socket))

    def status(self):
        return json.loads(run(self.executable, "serve", "--status", "--socket", self.socket, "--json").stdout)

    def test_the_example_gives_the_commands_bits(self):
        self.start()
        client = example()
        for rows, cols in ((1, 1), (3, 7), (33, 1031), (64, 4096)):
            random = generator(f"serve {rows} {cols}")
            x, gamma, beta = (random.standard_normal(shape).astype("<f2") for shape in ((rows, cols), cols, cols))
            found = client.layernorm_forward(self.socket, rows, cols, x.tobytes(), gamma.tobytes(), beta.tobytes())
            for name, array in (("x", x), ("gamma", gamma), ("beta", beta)):
                np.save(self.folder / f"{name}.npy", array)
            run(self.executable, "run", "layernorm.forward",
                *(word for name in ("x", "gamma", "beta") for word in ("--in", f"{name}={self.folder}/{name}.npy")),
                *(word for name in ("y", "mean", "rstd") for word in ("--out", f"{name}={self.folder}/{name}.npy")),
                "--set", "eps=1e-5")
            for name, data in zip(("y", "mean", "rstd"), found):
                self.assertEqual(np.load(self.folder / f"{name}.npy").tobytes(), data, (rows, cols, name))

    def test_the_example_runs_and_is_short(self):
        self.start()
        said = subprocess.run([sys.executable, EXAMPLE, self.socket], capture_output=True, text=True, timeout=TIME_LIMIT)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("mean 4.0 rstd", said.stdout)
        self.assertLessEqual(len(EXAMPLE.read_text().splitlines()), 64)
        for arguments in ([], ["one", "too many"]):
            unsaid = subprocess.run([sys.executable, EXAMPLE, *arguments], capture_output=True, text=True,
                                    timeout=TIME_LIMIT)
            self.assertEqual(unsaid.returncode, 2, unsaid.stderr)
            self.assertIn("layernorm_client.py /tmp/tokitai.socket", unsaid.stderr)

    def test_the_example_tells_what_the_server_refuses(self):
        self.start()
        with self.assertRaisesRegex(RuntimeError, "^status 2: .*eps"):
            example().layernorm_forward(self.socket, 1, 2, bytes(4), bytes(4), bytes(4), eps=-1.0)

    def test_python_and_c_clients_at_once(self):
        self.start("--workers", "2")
        client, failures = example(), []
        ones, zeros = struct.pack("<64e", *[1] * 64), bytes(128)
        np.save(self.folder / "x.npy", np.ones((4, 8), "<f2"))

        def call():
            try:
                for _ in range(20):
                    y, mean, _ = client.layernorm_forward(self.socket, 1, 64, ones, ones, zeros)
                    assert (y, mean) == (zeros, struct.pack("<f", 1))
            except Exception as failure:
                failures.append(failure)

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        run(self.executable, "run", "softmax.forward", "--in", f"x={self.folder}/x.npy", "--out",
            f"y={self.folder}/y.npy", "--device", f"unix:{self.socket}")
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(np.load(self.folder / "y.npy").tolist(), [[0.125] * 8] * 4)
        status = self.status()
        self.assertEqual((status["calls_failed"], status["restarts"]), (0, 0))
        self.assertGreaterEqual(status["calls"], 161)
        self.assertEqual((status["device"], status["clients"], status["workers"]), ("cpu", 0, 2))

    def test_status_in_words(self):
        self.start()
        said = run(self.executable, "serve", "--status", "--socket", self.socket).stdout
        self.assertIn("calls in the queue", said)
        self.assertIn("latency in us, 99 %", said)

    def test_signals_end_it_and_take_its_socket_away(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start()
            self.assertEqual(stat.S_IMODE(os.lstat(self.socket).st_mode), 0o600)
            self.assertEqual(self.stop(number), (0, ""))
            self.assertFalse(os.path.lexists(self.socket))

    def test_one_that_was_killed_is_followed_by_the_next(self):
        self.start()
        self.assertEqual(self.stop(signal.SIGKILL)[0], -signal.SIGKILL)
        self.assertTrue(os.path.lexists(self.socket))
        self.start()
        self.assertEqual(self.status()["calls"], 0)

    def test_bad_usage(self):
        self.assertIn("no server at", run(self.executable, "serve", "--status", "--socket", self.socket, code=3).stderr)
        run(self.executable, "serve", code=2)
        run(self.executable, "serve", "--socket", self.socket, "--json", code=2)
        run(self.executable, "serve", "--socket", self.socket, "--workers", "0", code=2)
        run(self.executable, "serve", "--socket", "/nonexistent/socket", code=2)
        run(self.executable, "serve", "--socket", "x" * 200, code=2)
        run(self.executable, "serve", "--socket", self.socket, "--device", "worker:cpu", code=2)
        run(self.executable, "serve", "--socket", self.socket, "--device", "cuda:77", code=3)
        run(self.executable, "serve", "--socket", self.socket, "--threads", "x", code=2)
        pathlib.Path(self.socket).write_text("a file")
        run(self.executable, "serve", "--socket", self.socket, code=2)
        self.assertEqual(pathlib.Path(self.socket).read_text(), "a file")
        os.unlink(self.socket)
        self.start()
        self.assertIn("listens at", run(self.executable, "serve", "--socket", self.socket, code=2).stderr)
