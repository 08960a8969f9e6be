#!/usr/bin/env python3
"""Breaks the code on purpose, one fault of tools/mutants.txt at a time, and sees whether the checks catch it.

Works on a copy of the source tree, builds one operator family for one instruction set beside the reference, and runs
testing/mutant_check.cpp on it. What is no operator family (PARTS) is built with few operators and run against tests of
its own. The unbroken tree must pass first. Exit 1 if any fault survives.
"""
import argparse
import concurrent.futures
import dataclasses
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
SKIPPED = {"build", ".git", "__pycache__"}
CHECK_LIMIT = 60  # seconds; a fault may also make the check hang
# Parts of the tree that faults name beside operator families: the operators they are built with, and the target whose
# program, a GoogleTest one, is run.
PARTS = {
    "lists": ("adamw", "lists_test"),
    "command": ("adamw;layernorm;softmax;embedding;gemm", "command_mutant_check"),
    "evidence": ("adamw;cross_entropy;gemm;softmax", "evidence_mutant_check"),
    "server": ("adamw;softmax", "server_mutant_check"),
    "promises": ("embedding;gemm;layernorm;softmax", "promises_mutant_check"),
    "gpu": ("adamw;cross_entropy;layernorm;softmax", "gpu_mutant_check"),
    "runtime": ("adamw;softmax", "runtime_mutant_check"),
    "rows": ("softmax", "specimen_mutant_check"),
    "rope_table": ("rope", "rope_table_test"),
    "loader": ("adamw;softmax", "loader_test"),
    "edges": ("gemm", "edges_test"),
}


@dataclasses.dataclass
class Fault:
    name: str
    file: str = ""
    family: str = ""
    breaks: str = ""
    isa: str = ""
    old: str = ""
    new: str = ""


def read_faults(path):
    faults = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("fault: "):
            faults.append(Fault(line[7:]))
        elif line[:2] == "- ":
            faults[-1].old += "\n" * bool(faults[-1].old) + line[2:]
        elif line[:2] == "+ ":
            faults[-1].new += "\n" * bool(faults[-1].new) + line[2:]
        else:
            key, separator, value = line.partition(": ")
            if not separator or key not in ("file", "family", "breaks", "isa"):
                sys.exit(f"{path.name}:{number}: cannot read '{line}'")
            setattr(faults[-1], key, value)
    for fault in faults:
        missing = [key for key in ("file", "family", "breaks", "old", "new") if not getattr(fault, key)]
        if missing:
            sys.exit(f"{path.name}: '{fault.name}' has no {', '.join(missing)}")
        count = (ROOT / fault.file).read_text().count(fault.old)
        if count != 1:
            sys.exit(f"{path.name}: '{fault.name}': its text occurs {count} times in {fault.file}; it must occur once")
    return faults


def machine_isa():
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        flags = []
    return "avx2" if {"avx2", "fma", "f16c", "bmi2"} <= set(flags) else "portable"


class Tree:
    """A copy of the source tree that one family is built from, and its build as it was before any fault."""

    families = property(lambda self: self.family)
    tests = "OFF"
    target = "mutant_check"

    def __init__(self, family, isa):
        self.family, self.isa = family, isa
        self.source, self.build, self.clean = (WORK / family / name for name in ("source", "build", "clean"))

    def prepare(self):
        """Builds the unbroken tree; a reason why it is no use, or nothing."""
        subprocess.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1",
                        f"-DTOKITAI_FAMILIES={self.families}", f"-DTOKITAI_ONLY_ISAS={self.isa}",
                        f"-DTOKITAI_TESTS={self.tests}", "-DTOKITAI_WERROR=OFF"], check=True, stdout=subprocess.DEVNULL)
        built, output = self.make()
        if not built:
            return f"the unbroken tree does not build for {self.family}:\n{output}"
        found, words = self.check()
        if found:
            return f"the unbroken tree fails for {self.family}: {words}"
        shutil.rmtree(self.clean, ignore_errors=True)
        shutil.copytree(self.build, self.clean, symlinks=True)
        return None

    def copy_sources(self):
        """Copies what differs, so that a second run rebuilds little."""
        wanted = set()
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in SKIPPED]
            for name in files:
                path = pathlib.Path(folder, name).relative_to(ROOT)
                wanted.add(path)
                copy = self.source / path
                if not copy.exists() or not filecmp.cmp(ROOT / path, copy, shallow=False):
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / path, copy)
        for path in [p for p in self.source.rglob("*") if p.is_file()]:
            if path.relative_to(self.source) not in wanted:
                path.unlink()

    def make(self):
        result = subprocess.run(["ninja", "-C", self.build, "-j1", self.target], capture_output=True, text=True)
        return result.returncode == 0, result.stdout[-3000:]

    def check(self):
        """Whether the checks found something, and in which words."""
        try:
            result = subprocess.run([self.build / self.target], capture_output=True, text=True, timeout=CHECK_LIMIT)
        except subprocess.TimeoutExpired:
            return True, "the check did not end"
        if result.returncode < 0:
            return True, f"signal {-result.returncode}"
        return result.returncode != 0, self.words_of(result.stdout)

    @staticmethod
    def words_of(output):
        return (output.strip().splitlines() or ["no output"])[-1].removeprefix("caught by ")

    def try_fault(self, fault):
        path = self.source / fault.file
        text, times = path.read_text(), path.stat()
        path.write_text(text.replace(fault.old, fault.new))
        try:
            built, output = self.make()
            return self.check() if built else (False, f"does not build:\n{output}")
        finally:  # the build and the text with their times: nothing but the next fault is to be built again
            shutil.rmtree(self.build)
            shutil.copytree(self.clean, self.build, symlinks=True)
            path.write_text(text)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


class PartTree(Tree):
    """The same for one of PARTS, whose tests say what they caught."""

    families = property(lambda self: PARTS[self.family][0])
    tests = "ON"
    target = property(lambda self: PARTS[self.family][1])

    @staticmethod
    def words_of(output):
        failed = [line.split()[3].rstrip(",") for line in output.splitlines() if line.startswith("[  FAILED  ]")]
        return next((name for name in failed if "." in name), "nothing found")


def run_family(tree, faults):
    """Tries the faults of one family, printing as it goes; how many were caught, or why it could not begin."""
    begin = time.monotonic()
    if reason := tree.prepare():
        return reason
    report("(nothing broken)", tree.family, begin, "-")
    total = 0
    for fault in faults:
        begin = time.monotonic()
        caught, words = tree.try_fault(fault)
        total += caught
        report(fault.name, tree.family, begin, words if caught else f"SURVIVED: {words}")
    return total


def report(name, family, begin, words):
    print(f"{name:40}{family:15}{time.monotonic() - begin:8.1f}  {words}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", help="only faults of this operator family or part")
    parser.add_argument("--only", help="only faults whose name contains this text")
    parser.add_argument("--isa", default=machine_isa(), help="instruction set to build (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="families at a time (%(default)s)")
    parser.add_argument("--list", action="store_true", help="list the faults and stop")
    arguments = parser.parse_args()

    faults = [fault for fault in read_faults(ROOT / "tools" / "mutants.txt")
              if fault.isa in ("", arguments.isa)
              and (not arguments.family or fault.family in arguments.family)
              and (not arguments.only or arguments.only in fault.name)]
    if arguments.list or not faults:
        for fault in faults:
            print(f"{fault.family:14}{fault.name:38}{fault.file}: {fault.breaks}")
        return 0 if faults else "no fault of that name"

    start = time.monotonic()
    by_family = {}
    for fault in faults:
        by_family.setdefault(fault.family, []).append(fault)
    # What takes longest comes first: parts have the most to build.
    order = sorted(by_family, key=lambda name: (name not in PARTS, -len(by_family[name])))
    trees = [(PartTree if family in PARTS else Tree)(family, arguments.isa) for family in order]
    for tree in trees:
        tree.copy_sources()
    print(f"{'fault':40}{'family':15}{'seconds':>8}  caught by", flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda tree: run_family(tree, by_family[tree.family]), trees))
    if reasons := [result for result in results if isinstance(result, str)]:
        return "\n".join(reasons)
    caught = sum(results)
    print(f"\n{caught} of {len(faults)} caught in {time.monotonic() - start:.0f} seconds ({arguments.isa})")
    return 0 if caught == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
