# Runs the command and compares the files it writes. Inputs and outputs get neutral names (in0.npy,
# out0.npy), so that an operand's name in a message cannot come from a path.
import pathlib
import subprocess

import numpy as np

import oracle
from binary32 import F32, Enclosure
from command_test import TIME_LIMIT, ExecutableTest


def storage_dtype_arguments(storage):
    return ["--dtype", "bf16"] if storage.name == "bf16" else []


def option_arguments(options):
    return [word for key, value in options.items() for word in ("--set", f"{key}={value}")]


class CommandTest(ExecutableTest):
    def command(self, *arguments, **how):
        return subprocess.run([self.executable, *map(str, arguments)], capture_output=True,
                              text=True, errors="replace", timeout=TIME_LIMIT,
                              stdin=subprocess.DEVNULL, **how)

    def save(self, operands):
        """Writes each operand, an array or a list of arrays (or the bytes of a whole file, or a
        path to take as it is); returns the --in arguments."""
        arguments = []
        for name, value in operands.items():
            for item in value if isinstance(value, list) else [value]:
                path = self.folder / f"in{len(arguments) // 2}.npy"
                if isinstance(item, pathlib.Path):
                    path = item
                elif isinstance(item, bytes):
                    path.write_bytes(item)
                else:
                    np.save(path, item)
                arguments += ["--in", f"{name}={path}"]
        return arguments

    def run_operator(self, operator, storage, operands, options, counts, *extra):
        """Runs an operator that must succeed. counts: tensors expected of each output name.

        Returns {name: [arrays]}; outputs are removed first, so an unwritten one is noticed.
        """
        paths = {name: [self.folder / f"out-{number}-{i}.npy" for i in range(count)]
                 for number, (name, count) in enumerate(counts.items())}
        written = [word for name in paths for path in paths[name]
                   for word in ("--out", f"{name}={path}")]
        for group in paths.values():
            for path in group:
                path.unlink(missing_ok=True)
        result = self.command("run", operator, *self.save(operands), *option_arguments(options),
                              *written, *storage_dtype_arguments(storage), *extra)
        self.assertEqual(result.returncode, 0, f"{operator} {options}: {result.stderr}")
        self.said = result.stdout + result.stderr
        return {name: [np.load(path, allow_pickle=False) for path in group]
                for name, group in paths.items()}

    def check_operator(self, operator, storage, operands, options=None, outputs=None, threads=None,
                       expected=None):
        """Reference and cpu against the oracle and against each other, bit for bit."""
        options = options or {}
        if expected is None:
            expected = oracle.OPERATORS[operator](storage, operands, options)
        outputs = outputs or list(expected)
        counts = {name: len(expected[name]) if isinstance(expected[name], list) else 1
                  for name in outputs}
        results = {}
        for device in ("reference", "cpu"):
            pool = ["--threads", threads] if threads and device == "cpu" else []
            results[device] = self.run_operator(operator, storage, operands, options, counts,
                                                "--device", device, *pool)
        for name in outputs:
            wanted = expected[name] if isinstance(expected[name], list) else [expected[name]]
            for i, want in enumerate(wanted):
                reference, cpu = results["reference"][name][i], results["cpu"][name][i]
                where = f"{operator} {storage.name} {options} {name}[{i}]"
                compare(reference, want, storage, f"{where} on reference")
                compare_bits(cpu, reference, f"{where}, cpu with reference")
        return results["reference"]


def bits_of(array):
    return array.view(f"<u{array.dtype.itemsize}")


def compare_bits(actual, expected, where):
    """Equal type, shape and bits; NaN and the sign of zero count."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        raise AssertionError(f"{where}: {actual.dtype}{list(actual.shape)}, "
                             f"expected {expected.dtype}{list(expected.shape)}")
    actual_bits, expected_bits = (bits_of(np.ascontiguousarray(v)) for v in (actual, expected))
    wrong = np.argwhere(actual_bits != expected_bits)
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(
            f"{where}: {len(wrong)} of {actual.size} differ, first at {list(at)}: "
            f"{actual[at]!r} (0x{actual_bits[at]:x}), "
            f"expected {expected[at]!r} (0x{expected_bits[at]:x})")


def compare(actual, expected, storage, where):
    """Bits where the specification fixes them, else membership of the enclosure.

    Where both ends of an enclosure are the same bits (an ignored row, a canonical NaN, an exact
    zero) those bits are required.
    """
    if not isinstance(expected, Enclosure):
        return compare_bits(actual, expected, where)
    sharp = bits_of(expected.lo) == bits_of(expected.hi)
    if actual.dtype != expected.lo.dtype or actual.shape != expected.lo.shape:
        raise AssertionError(f"{where}: {actual.dtype}{list(actual.shape)}, "
                             f"expected {expected.lo.dtype}{list(expected.lo.shape)}")
    compare_bits(actual[sharp], expected.lo[sharp], f"{where} (fixed bits)")
    widen = storage.widen if expected.lo.dtype == storage.dtype else F32.widen
    value, lo, hi = widen(actual), widen(expected.lo), widen(expected.hi)
    wrong = np.argwhere(~sharp & ~((lo <= value) & (value <= hi)))
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(f"{where}: {len(wrong)} of {actual.size} outside, first at "
                             f"{list(at)}: {value[at]!r} not within [{lo[at]!r}, {hi[at]!r}]")
