"""Asks other solvers the questions of `tokitai prove --smt2`: their answers must be the ones that it found.

    recheck.py TOKITAI [--all]

One file of every claim, or all files. Exit code 0: the same answers; 1: another answer, or none; 3: no solver.
"""
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

LIMIT = 60  # seconds of one answer
SOLVERS = {"z3": ["z3", f"-T:{LIMIT}"], "cvc5": ["cvc5", f"--tlimit={LIMIT * 1000}"]}


def chosen(folder, everything):
    """The files, or of each claim (the first line names it) the first one."""
    claims = {}
    for path in sorted(folder.glob("*.smt2")):
        claims.setdefault(path.name if everything else path.open().readline(), path)
    return list(claims.values())


def answer(solver, path):
    result = subprocess.run([*SOLVERS[solver], path], capture_output=True, text=True, check=False)
    return result.stdout.split("\n")[0] or result.stderr.strip()[:200]


def main(tokitai, everything):
    solvers = [name for name in SOLVERS if shutil.which(name)]
    for name in SOLVERS.keys() - solvers:
        print(f"no {name}: nothing is asked of it (Debian, Ubuntu: package {name})")
    if not solvers:
        return 3
    with tempfile.TemporaryDirectory() as folder:
        proved = subprocess.run([tokitai, "prove", "--smt2", folder], capture_output=True, text=True, check=False)
        if proved.returncode != 0:
            print(proved.stdout[-2000:] + proved.stderr)
            return proved.returncode
        files = chosen(Path(folder), everything)
        wrong = 0
        with ThreadPoolExecutor(cpu_count()) as pool:
            for name in solvers:
                for path, found in zip(files, pool.map(lambda p, n=name: answer(n, p), files)):
                    text = path.read_text()
                    expected = text.partition("(set-info :status ")[2].partition(")")[0]
                    if found != expected:
                        wrong += 1
                        print(f"{name} says {found}, not {expected}: " + "; ".join(text.split("\n")[:2]))
                print(f"{name}: {len(files)} claims")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--all" in sys.argv[2:]))
