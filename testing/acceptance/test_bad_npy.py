# NumPy files that are cut short, lie about themselves or try to be programs: refused like any other
# bad input, quickly, whatever size they claim. Headers that NumPy itself may write are accepted.
import io
import struct
import time
import unittest

import numpy as np

from binary32 import F32
from harness import compare_bits
from refusal import RefusalTest, word

X = np.arange(15, dtype="<f4").reshape(3, 5)
GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }"


def npy(header, data=X.tobytes(), version=(1, 0), length=None, ending=b"\n", alignment=64):
    """A file made by hand; length is what the file claims its header to be, if not the truth."""
    raw = header.encode("latin-1") if isinstance(header, str) else header
    prefix = 10 if version[0] == 1 else 12
    raw += b" " * (-(prefix + len(raw) + len(ending)) % alignment) + ending
    claimed = len(raw) if length is None else length
    return (b"\x93NUMPY" + bytes(version) + struct.pack("<H" if prefix == 10 else "<I", claimed)
            + raw + data)


def described(descr="'<f4'", fortran="False", shape="(3, 5)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def saved(array, **how):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **how)
    return buffer.getvalue()


class BadNpy(RefusalTest):
    def check_files(self, files):
        for name, content in files.items():
            with self.subTest(name):
                started = time.monotonic()
                self.check_refused("softmax.forward", [word("x")], {"x": content})
                self.assertLess(time.monotonic() - started, 10, "slow to refuse")

    def test_truncated_files(self):
        whole = npy(GOOD)
        self.check_files({f"first {n} bytes": whole[:n] for n in
                          (0, 1, 6, 7, 8, 9, 10, 11, 60, 127, 128, 129, len(whole) - 1)})

    def test_truncated_operands_of_other_types(self):
        labels = saved(np.zeros(6, "<i8"))
        self.check_refused("cross_entropy.forward_backward", [word("labels")],
                           {"labels": labels[:-1]})
        self.check_refused("embedding.forward", [word("index")], {"index": labels[:-8]})
        self.check_refused("adamw.step", [word("v")],
                           {"v": saved(np.zeros(40, "<f4"))[:-3]})

    def test_not_numpy_files(self):
        self.check_files({
            "text": b"3 5\n1.0 2.0\n" * 40,
            "other magic": b"\x93NUMPZ" + npy(GOOD)[6:],
            "archive": b"PK\x03\x04" + bytes(200),
            "zeros": bytes(4096),
            "ones": b"\xff" * 4096,
        })

    def test_versions(self):
        self.check_files({f"version {v}": npy(GOOD, version=v)
                          for v in ((9, 9), (0, 0), (0, 1), (4, 0), (255, 255))})

    def test_header_lengths_that_lie(self):
        self.check_files({
            "beyond the file": npy(GOOD, length=65535),
            "beyond the file, version 2": npy(GOOD, version=(2, 0), length=2**32 - 1),
            "2 GiB, version 3": npy(GOOD, version=(3, 0), length=2**31),
            "none": npy(GOOD, length=0),
            "inside the dictionary": npy(GOOD, length=20),
            "the whole file": npy(GOOD, length=len(npy(GOOD)) - 10),
            "no newline at the end": npy(GOOD, ending=b" "),
        })

    def test_shapes_that_overflow(self):
        self.check_files({f"shape {shape}": npy(described(shape=shape)) for shape in (
            "(4294967296, 4294967296)", "(9223372036854775807, 2)", "(9223372036854775808, 5)",
            "(4611686018427387904, 4)", "(4611686018427387905, 4)", "(18446744073709551616, 5)",
            "(18446744073709551619, 5)", "(2305843009213693952, 8)", "(1000000, 1000000)",
            "(3, 4294967301)", "(4294967299, 5)", f"(1{'0' * 400}, 5)")})

    def test_shapes_that_are_none(self):
        self.check_files({f"shape {shape}": npy(described(shape=shape)) for shape in (
            "(-3, 5)", "(3, -5)", "(-3, -5)", "(-1, 5)", "(3.0, 5)", "(1e1, 5)", "('3', 5)",
            "(3, None)", "((3, 5))(", "(3 5)", "(3, 5", "3, 5", "[3, 5]", "None", "(3, , 5)",
            "(- 3, 5)", "((3,), (5,))")})

    def test_other_dimensions(self):
        self.check_files({f"shape {shape}": npy(described(shape=shape)) for shape in
                          ("()", "(15,)", "(1, 3, 5)", "(3, 5, 1)", "(0, 5)", "(3, 0)",
                           "(" + "1, " * 2000 + "15)")})

    def test_types(self):
        self.check_files({f"type {descr}": npy(described(descr=descr)) for descr in (
            "'|O'", "'O'", "'>f4'", "'>f2'", "'<f8'", "'<c8'", "'|b1'", "'|V4'", "'<M8[ns]'",
            "'<U1'", "'|S4'", "'<f3'", "'<f44'", "'<f4 '", "'f4x'", "''", "None", "4",
            "[('a', '<f4')]", "[('a', '<f2'), ('b', '<f2')]", "('<f4', (2,))", "'<f4, <f4'")})
        self.check_refused("softmax.forward", [word("x")],
                           {"x": saved(np.array([[1, 2.5], [None, "a"]], object))})

    def test_order(self):
        self.check_files({f"fortran_order {value}": npy(described(fortran=value))
                          for value in ("True", "None", "1", "'False'", "false", "Falsey", "")})
        self.check_refused("softmax.forward", [word("x")], {"x": saved(np.asfortranarray(X))})

    def test_dictionaries(self):
        self.check_files({
            "no descr": npy("{'fortran_order': False, 'shape': (3, 5), }"),
            "no fortran_order": npy("{'descr': '<f4', 'shape': (3, 5), }"),
            "no shape": npy("{'descr': '<f4', 'fortran_order': False, }"),
            "empty": npy("{}"),
            "nothing": npy(""),
            "another key": npy(GOOD[:-1] + "'extra': 1, }"),
            "a key twice": npy(GOOD[:-1] + "'shape': (1, 5), }"),
            "not closed": npy(GOOD[:-1]),
            "not opened": npy(GOOD[1:]),
            "text behind": npy(GOOD + " ; 1"),
            "two dictionaries": npy(GOOD + GOOD),
            "a list": npy("['<f4', False, (3, 5)]"),
            "a string not closed": npy("{'descr': '<f4, 'fortran_order': False, 'shape': (3, 5)}"),
            "a zero byte": npy(GOOD.replace("<f4", "<f4\0")),
            "bytes beyond ASCII": npy(GOOD.replace("descr", "d\xe9scr")),
            "nesting": npy("(" * 60000, alignment=1),
            "nesting in the shape": npy(described(shape="(" * 30000 + ")" * 30000), alignment=1),
            "blanks only": npy(" " * 60000, alignment=1),
        })

    def test_programs(self):
        trap = self.folder / "trap"
        call = f"__import__('os').system('touch {trap}')"
        self.check_files({
            "in descr": npy(described(descr=call)),
            "in shape": npy(described(shape=f"({call}, 5)")),
            "in fortran_order": npy(described(fortran=call)),
            "instead of a dictionary": npy(call),
            "behind the dictionary": npy(f"{GOOD} and {call}"),
            "an expression": npy(described(shape="(1+2, 5)")),
            "a power": npy(described(shape="(3, 9**9**9)")),
        })
        self.assertFalse(trap.exists())


class GoodNpy(RefusalTest):
    def test_headers_that_numpy_may_write(self):
        want = self.run_operator("softmax.forward", F32, {"x": X}, {}, {"y": 1})["y"][0]
        files = {f"version {v}": saved(X, version=v) for v in ((1, 0), (2, 0), (3, 0))}
        files["keys in another order"] = npy(
            "{'shape': (3, 5), 'fortran_order': False, 'descr': '<f4'}")
        files["aligned to 16"] = npy(GOOD, alignment=16)
        files["not aligned"] = npy(GOOD, alignment=1)
        for name, content in files.items():
            with self.subTest(name):
                got = self.run_operator("softmax.forward", F32, {"x": content}, {}, {"y": 1})
                compare_bits(got["y"][0], want, name)

    def test_written_files_are_plain(self):
        self.run_operator("softmax.forward", F32, {"x": X}, {}, {"y": 1})
        with open(self.folder / "out-0-0.npy", "rb") as file:
            self.assertEqual(np.lib.format.read_magic(file), (1, 0))
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
            self.assertEqual((shape, fortran_order, dtype.str), ((3, 5), False, "<f4"))
            self.assertEqual(len(file.read()), 60)


if __name__ == "__main__":
    unittest.main()
