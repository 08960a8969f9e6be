"""Asks other solvers the questions of `tokitai prove --smt2`: their answers must be the ones that it found.

    recheck.py TOKITAI [--all] [--one-in N]

One file of every claim, or all files; of every part of plans, or a sample. A solver may leave a few unanswered in its time, but each claim is answered by one
at the least. Exit code 0: the same answers; 1: another answer, or none; 3: no solver.
"""
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

LIMIT = 10  # seconds of one answer
# A question that is not answered in one way is asked in the next; an answer in a good way takes milliseconds.
WAYS = {
    "z3": ([], ["tactic.default_tactic=smt"]),
    "cvc5": ([], ["--decision=internal", "--arith-eq-solver"]),
}
TIME_LIMIT = {"z3": lambda seconds: f"-T:{seconds}", "cvc5": lambda seconds: f"--tlimit={seconds * 1000}"}
SOLVERS = {name: [[name, TIME_LIMIT[name](seconds), *way] for seconds in (1, LIMIT) for way in ways]
           for name, ways in WAYS.items()}


def chosen(folder, everything):
    """The files, or of each claim (the first line names it) the first one."""
    claims = {}
    for path in sorted(folder.glob("*.smt2")):
        claims.setdefault(path.name if everything else path.open().readline(), path)
    return list(claims.values())


def answer(solver, path):
    """sat, unsat, or nothing where the solver gives none in time."""
    for way in SOLVERS[solver]:
        result = subprocess.run([*way, path], capture_output=True, text=True, check=False)
        found = result.stdout.split("\n")[0]
        if "error" in found:
            raise ValueError(f"{path}: {found}")
        if found in ("sat", "unsat"):
            return found
    return ""


def main(tokitai, everything, sample):
    solvers = [name for name in SOLVERS if shutil.which(name)]
    for name in SOLVERS.keys() - solvers:
        print(f"no {name}: nothing is asked of it (Debian, Ubuntu: package {name})")
    with tempfile.TemporaryDirectory() as folder:
        proved = subprocess.run([tokitai, "prove", *sample, "--smt2", folder], capture_output=True, text=True, check=False)
        if proved.returncode != 0:
            print(proved.stdout[-2000:] + proved.stderr)
            return proved.returncode
        print(proved.stdout.splitlines()[-1])
        if not solvers:
            return 3
        files = chosen(Path(folder), everything)
        wrong, answered = 0, set()
        with ThreadPoolExecutor(cpu_count()) as pool:
            for name in solvers:
                answers = list(pool.map(lambda p, n=name: answer(n, p), files))
                for path, found in zip(files, answers):
                    text = path.read_text()
                    if found and found != text.partition("(set-info :status ")[2].partition(")")[0]:
                        wrong += 1
                        print(f"{name} says {found}: " + "; ".join(text.split("\n")[:2]))
                    if found:
                        answered.add(path)
                print(f"{name}: {len(files)} claims, {answers.count('')} of them without an answer in {LIMIT} s")
        for path in sorted(set(files) - answered):
            print("no answer: " + "; ".join(path.read_text().split("\n")[:2]))
    return 1 if wrong or len(answered) != len(files) or not files else 0


if __name__ == "__main__":
    words = sys.argv[2:]
    sampled = words[words.index("--one-in"):][:2] if "--one-in" in words else []
    sys.exit(main(sys.argv[1], "--all" in words, sampled))
