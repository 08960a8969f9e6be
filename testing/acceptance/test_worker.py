# tokitai worker, from outside: every request of the older protocol, good and bad, with its fields and status codes.
# Requests are written here as the specification has them; answers are held against the oracle, bit for bit.
import struct
import subprocess
import unittest

import numpy as np

import oracle
from binary32 import F16, F32
from command_test import TIME_LIMIT, ExecutableTest
from families import generator
from harness import compare


def text(values):
    """Half precision as 16-bit patterns in decimal, everything else as numbers that read back the same."""
    values = np.asarray(values)
    if values.dtype == np.float16:
        values = values.view(np.uint16)
    return " ".join(repr(v.item()) if values.dtype != np.float32 else np.format_float_positional(v, unique=True)
                    for v in values.ravel())


def request(*parts):
    return "\n".join(part if isinstance(part, str) else text(part) for part in parts) + "\n"


def frame(payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return struct.pack("<I", len(payload)) + payload


def frames_of(output):
    frames = []
    while output:
        (length,) = struct.unpack_from("<I", output)
        frames.append(output[4:4 + length])
        assert len(frames[-1]) == length, "a frame was cut short"
        output = output[4 + length:]
    return frames


def half(shape, seed):
    return F16.round(generator(seed).standard_normal(shape).astype(np.float32))


HEADER = "0.001 0.9 0.999 1e-08 0.01"
OPTIONS = dict(zip(("lr", "beta1", "beta2", "eps", "weight_decay"), HEADER.split()))


class WorkerTest(ExecutableTest):
    def serve(self, family, data, *extra):
        return subprocess.run([self.executable, "worker", family, *extra], input=data, capture_output=True,
                              timeout=TIME_LIMIT)

    def answer(self, family, payload):
        """The fields of one good request, asked with and without --server; and that both say the same."""
        framed = self.serve(family, frame(payload), "--server")
        self.assertEqual((framed.returncode, framed.stderr), (0, b""))
        single = self.serve(family, payload.encode())
        self.assertEqual((single.returncode, single.stderr), (0, b""))
        (only,) = frames_of(framed.stdout)
        lines = [one.decode().splitlines() for one in (only, single.stdout)]
        for answer in lines:
            self.assertRegex(answer[0], r"^DEVICE_NAME=cpu \(")
            self.assertRegex(answer[1], r"^KERNEL_TIME_MS=\d+\.\d+$")
        self.assertEqual(lines[0][2:], lines[1][2:])
        return dict(line.split("=", 1) for line in lines[0][2:])

    def refused(self, family, payload, status, words=""):
        framed = self.serve(family, frame(payload), "--server")
        (said,) = frames_of(framed.stdout)
        self.assertEqual(framed.returncode, status, said)
        self.assertIn(words, said.decode())
        self.assertTrue(said)
        if isinstance(payload, str):
            single = self.serve(family, payload.encode())
            self.assertEqual((single.returncode, single.stdout), (status, b""))
            self.assertIn(said, single.stderr)

    def check(self, field, want, separator=","):
        found = np.array([float(v) for v in field.split(separator)])
        kind = want.dtype if hasattr(want, "dtype") else want.lo.dtype
        shape = want.shape if hasattr(want, "shape") else want.lo.shape
        stored = found.astype(np.uint16).view(np.float16) if kind == np.float16 else found.astype(np.float32)
        compare(stored.reshape(shape), want, F16, "worker")


class TextTest(WorkerTest):
    def adamw(self, n=37):
        theta, grad = half(n, "theta"), half(n, "grad")
        m, v = half(n, "m").astype(np.float32), np.abs(half(n, "v")).astype(np.float32)
        want = oracle.adamw_step(F16, {"theta": [theta], "m": [m], "v": [v], "grad": [grad]}, OPTIONS | {"t": "3"})
        return theta, m, v, grad, want

    def test_adamw(self):
        theta, m, v, grad, want = self.adamw()
        fields = self.answer("adamw", request(f"37 {HEADER} 3", theta, m, v, grad))
        self.assertEqual(list(fields), ["N", "THETA", "M", "V"])
        self.assertEqual(fields["N"], "37")
        for name in ("theta", "m", "v"):
            self.check(fields[name.upper()], want[name][0])

    def test_adamw_refusals(self):
        theta, m, v, grad, _ = self.adamw(3)
        self.refused("adamw", "", 2, "the header is not")
        self.refused("adamw", f"3 {HEADER}", 2)
        self.refused("adamw", f"3x {HEADER} 1", 2)
        self.refused("adamw", f"9223372036854775808 {HEADER} 1", 2)
        self.refused("adamw", f"0 {HEADER} 1", 3, "N = 0")
        self.refused("adamw", f"-3 {HEADER} 1", 3)
        self.refused("adamw", f"999999999999 {HEADER} 1", 3)
        self.refused("adamw", f"3 {HEADER} 0", 4, "T = 0")
        arrays = [theta, m, v, grad]
        for short in range(4):
            cut = arrays[:short] + [arrays[short][:2]]
            self.refused("adamw", request(f"3 {HEADER} 1", *cut), 5 + short)
            self.refused("adamw", request(f"3 {HEADER} 1", *arrays[:short], "1 2 x"), 5 + short)
        self.refused("adamw", request(f"268435456 {HEADER} 1", *arrays), 5)  # a count that lies
        self.refused("adamw", request(f"3 {HEADER} 1", "1 2 65536", m, v, grad), 5)
        self.refused("adamw", request(f"3 {HEADER} 1", *arrays, "7"), 42)
        self.refused("adamw", request("3 -1 0.9 0.999 1e-08 0.01 1", *arrays), 40, "lr = -1")

    def test_layernorm(self):
        x, dy, gamma, beta = half((5, 33), "x"), half((5, 33), "dy"), half(33, "gamma"), half(33, "beta")
        want = oracle.layernorm_forward(F16, {"x": x, "gamma": gamma, "beta": beta}, {"eps": "1e-05"})
        fields = self.answer("layernorm", request("1 5 33 256 1e-05", gamma, beta, x))
        self.assertEqual(list(fields), ["N_ROWS", "N_COLS", "OUTPUT", "MEAN", "RSTD"])
        for field, name in (("OUTPUT", "y"), ("MEAN", "mean"), ("RSTD", "rstd")):
            self.check(fields[field], want[name])
        mean, rstd = want["mean"], want["rstd"]
        want = oracle.layernorm_backward(F16, {"dy": dy, "x": x, "gamma": gamma, "mean": mean, "rstd": rstd}, {})
        fields = self.answer("layernorm", request("2 5 33 256 1e-05 128", gamma, beta, dy, x, F16.round(mean),
                                                  F16.round(rstd), mean, rstd))
        self.assertEqual(list(fields), ["N_ROWS", "N_COLS", "GRAD_INPUT", "GRAD_GAMMA", "GRAD_BETA"])
        for field, name in (("GRAD_INPUT", "dx"), ("GRAD_GAMMA", "dgamma"), ("GRAD_BETA", "dbeta")):
            self.check(fields[field], want[name])

    def test_layernorm_refusals(self):
        x, gamma = half((2, 3), "x"), half(3, "gamma")
        self.refused("layernorm", "1 2 3 256", 2)
        self.refused("layernorm", "2 2 3 256 1e-5", 2)  # no GRAD_BLOCK_SIZE
        self.refused("layernorm", "3 2 3 256 1e-5", 3, "OP = 3")
        self.refused("layernorm", "1 0 3 256 1e-5", 4)
        self.refused("layernorm", "1 4294967296 4294967296 256 1e-5", 4)
        self.refused("layernorm", "1 2 3 0 1e-5", 5)
        self.refused("layernorm", "2 2 3 256 1e-5 0", 5)
        self.refused("layernorm", request("1 2 3 256 1e-5", gamma[:2]), 6)
        self.refused("layernorm", request("1 2 3 256 1e-5", gamma, gamma[:2]), 7)
        self.refused("layernorm", request("1 2 3 256 1e-5", gamma, gamma, x.ravel()[:5]), 8)
        self.refused("layernorm", request("1 2 3 256 -1", gamma, gamma, x), 40, "eps = -1")

    def test_gemm_backward(self):
        m, n, k = 3, 5, 4
        a, b, dc = half((m, k), "a"), half((k, n), "b"), half((m, n), "dc")
        fields = self.answer("gemm_backward", request(f"1 {m} {n} {k}", dc, b))
        self.assertEqual(list(fields), ["M", "N", "K", "RESULTS"])
        self.check(fields["RESULTS"], oracle.gemm_grad_a(F16, {"dc": dc, "b": b}, {})["da"], " ")
        fields = self.answer("gemm_backward", request(f"2 {m} {n} {k}", dc, a))
        self.check(fields["RESULTS"], oracle.gemm_grad_b(F16, {"dc": dc, "a": a}, {})["db"], " ")
        self.refused("gemm_backward", "1 3 5", 2)
        self.refused("gemm_backward", "0 3 5 4", 3, "KERNEL_ID = 0")
        self.refused("gemm_backward", "1 3 5 0", 4)
        self.refused("gemm_backward", request("1 3 5 4", dc.ravel()[:14]), 5)
        self.refused("gemm_backward", request("1 3 5 4", dc, b.ravel()[:19]), 6)

    def test_embedding(self):
        weight, dy, index = half((7, 6), "weight"), half((4, 6), "dy"), np.array([3, 0, 3, 6])
        fields = self.answer("embedding", request("4 6 7 0", index, weight))
        self.assertEqual(list(fields), ["N_QUERIES", "DIM", "VOCAB", "OUTPUT"])
        self.check(fields["OUTPUT"], weight[index], " ")
        fields = self.answer("embedding", request("4 6 7 1", index, dy))
        want = oracle.embedding_backward(F16, {"dy": dy, "index": index}, {"vocab": "7"})["dweight"]
        self.check(fields["OUTPUT"], want, " ")
        self.refused("embedding", "4 6 7", 2)
        self.refused("embedding", "4 6 0 0", 3)
        self.refused("embedding", "4 6 7 2", 4, "OP = 2")
        self.refused("embedding", request("4 6 7 0", index[:3]), 5)
        self.refused("embedding", request("4 6 7 0", index, weight.ravel()[:41]), 6)
        self.refused("embedding", request("4 6 7 0", np.array([3, 7, 0, 0]), weight), 40, "index[1] = 7")

    def test_softmax(self):
        x, dy = half((3, 17), "x"), half((3, 17), "dy")
        fields = self.answer("softmax", request("0 3 17", x))
        self.assertEqual(list(fields), ["N_ROWS", "N_COLS", "OUTPUT"])
        self.check(fields["OUTPUT"], oracle.softmax_forward(F16, {"x": x}, {})["y"])
        y = np.array([int(v) for v in fields["OUTPUT"].split(",")], np.uint16).view(np.float16).reshape(3, 17)
        fields = self.answer("softmax", request("1 3 17", dy, y))
        self.check(fields["OUTPUT"], oracle.softmax_backward(F16, {"dy": dy, "y": y}, {})["dx"])
        self.refused("softmax", "0 3", 2)
        self.refused("softmax", "2 3 17", 3, "MODE = 2")
        self.refused("softmax", "0 3 -17", 4)
        self.refused("softmax", request("1 3 17", dy), 6)


class FrameTest(WorkerTest):
    def test_many_requests_then_the_end(self):
        x = half((2, 3), "x")
        result = self.serve("softmax", frame(request("0 2 3", x)) * 3, "--server")
        self.assertEqual(result.returncode, 0)
        answers = [one.decode().splitlines()[2:] for one in frames_of(result.stdout)]
        self.assertEqual(len(answers), 3)
        self.assertEqual(answers[0], answers[2])

    def test_input_that_ends_in_a_frame(self):
        good = frame(request("0 2 3", half((2, 3), "x")))
        self.assertEqual(self.serve("softmax", b"", "--server").returncode, 0)
        for length in (1, 2, 3):
            self.assertEqual(self.serve("softmax", good[:length], "--server").returncode, 20)
        for length in (4, 5, len(good) - 1):
            self.assertEqual(self.serve("softmax", good[:length], "--server").returncode, 21)
        self.assertEqual(self.serve("softmax", struct.pack("<I", 0xFFFFFFFF) + b"0 2 3", "--server").returncode, 21)

    def test_nothing_is_answered_after_a_failure(self):
        good = frame(request("0 2 3", half((2, 3), "x")))
        result = self.serve("softmax", good + frame("9 9 9") + good, "--server")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(len(frames_of(result.stdout)), 2)

    def test_families_and_devices_that_are_not_there(self):
        self.assertEqual(self.serve("relu", b"").returncode, 2)
        self.assertEqual(self.serve("softmax", b"", "--device", "nope").returncode, 3)


class BinaryTest(WorkerTest):
    MAGIC = 0x57414441

    def payload(self, n, t=3, magic=MAGIC, arrays=()):
        header = struct.pack("<IIfffffiI", magic, n, 0.001, 0.9, 0.999, 1e-8, 0.01, t, 0)
        self.assertEqual(len(header), 36)
        return header + b"".join(a.tobytes() for a in arrays)

    def test_adamw(self):
        theta, m, v, grad, want = TextTest.adamw(self, 1000)
        result = self.serve("adamw", frame(self.payload(1000, arrays=(theta, m, v, grad))), "--server")
        self.assertEqual(result.returncode, 0)
        (answer,) = frames_of(result.stdout)
        status, n, milliseconds, pad = struct.unpack_from("<IIfI", answer)
        self.assertEqual((status, n, pad), (0, 1000, 0))
        self.assertGreaterEqual(milliseconds, 0)
        self.assertEqual(len(answer), 16 + 1000 * 10)
        compare(np.frombuffer(answer, "<f2", 1000, 16), want["theta"][0], F16, "theta")
        compare(np.frombuffer(answer, "<f4", 1000, 2016), want["m"][0], F32, "m")
        compare(np.frombuffer(answer, "<f4", 1000, 6016), want["v"][0], F32, "v")

    def test_refusals(self):
        body = TextTest.adamw(self, 5)[:4]
        good = self.payload(5, arrays=body)
        self.refused("adamw", good[:35], 30, "35 bytes")
        self.refused("adamw", b"ADAW", 30)
        self.refused("adamw", self.payload(5, magic=0x57414442, arrays=body), 31)
        self.refused("adamw", self.payload(0), 32, "n = 0")
        self.refused("adamw", self.payload(2**28 + 1), 32)
        self.refused("adamw", self.payload(2**28), 34)  # a count that lies
        self.refused("adamw", self.payload(5, t=0, arrays=body), 33, "t = 0")
        self.refused("adamw", good[:-1], 34)
        self.refused("adamw", good + b"\0", 42)


if __name__ == "__main__":
    unittest.main()
