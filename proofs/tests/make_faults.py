"""Makes C++ of faults.txt: every broken index function under a namespace of its own, and the table of them.

    make_faults.py ROOT OUTPUT
"""
import re
import sys
from pathlib import Path


def read_faults(path):
    faults = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        key, _, value = line.partition(" ")
        if key == "fault:":
            faults.append({"fault": value, "-": [], "+": [], "k-": [], "k+": []})
        elif key in ("-", "+", "k-", "k+"):
            faults[-1][key].append(value)
        else:
            faults[-1][key.rstrip(":")] = value
    return faults


def function_around(text, begin):
    """The name of the function that a place of the text lies in, and where the function begins and ends."""
    starts = [m.start() for m in re.finditer(r"^(template|(?<!>\n)constexpr|inline)\b", text, re.M)]
    first = max(s for s in starts if s <= begin)
    depth, end = 0, text.index("{", first)
    for end in range(end, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            break
    return re.search(r"(\w+)\(", text[first:end])[1], first, end + 1


def broken(text, old, new):
    """The function that holds `old`, with `new` in its place; white space does not count."""
    places = [i for i, c in enumerate(text) if not c.isspace()]
    bare, wanted = "".join(text[i] for i in places), "".join(old.split())
    if bare.count(wanted) != 1:
        raise ValueError(f"stands there {bare.count(wanted)} times")
    at = bare.index(wanted)
    begin, end = places[at], places[at + len(wanted) - 1] + 1
    name, first, last = function_around(text, begin)
    return name, text[first:begin] + new + text[end:last]


def without_claim(root, broken_functions):
    """The functions that make places (friends of class Place) and that no fault breaks: no claim is known to see one."""
    friends = (root / "machines/lockstep/makers.inc").read_text()
    words_of_the_machine = {"thread_index", "group_index", "lane_index", "block_index", "cluster_rank"}
    return set(re.findall(r"friend [^(;]*?(\w+)\(", friends)) - set(broken_functions) - words_of_the_machine


def main(root, output):
    faults, texts, table, names = read_faults(root / "proofs/tests/faults.txt"), [], [], []
    for number, fault in enumerate(faults):
        where = f"faults.txt: {fault['fault']}"
        try:
            name, function = broken((root / fault["file"]).read_text(), "\n".join(fault["-"]), "\n".join(fault["+"]))
        except ValueError as e:
            sys.exit(f"{where}: its text in {fault['file']} {e}")
        names.append(name)
        texts.append(f"namespace tokitai::fault_{number} {{\nusing namespace device;\nusing proofs::PassSchedule, "
                     f"proofs::Schedule, proofs::Symbol;\n{function}\n}}\n")
        table.append(f'    {{"{fault["fault"]}", "{fault["claim"]}", '
                     f"[](Functions& f) {{ f.{name} = fault_{number}::{name}; }}}},\n")
    if missing := without_claim(root, names):
        sys.exit(f"faults.txt breaks no {', '.join(sorted(missing))}: a function that makes places needs a claim")
    output.write_text('// Made from faults.txt by make_faults.py.\n#include "proofs/tests/faults.h"\n\n' + "\n".join(texts) + "\nnamespace tokitai::proofs {\n\n"
                      "const std::vector<Fault>& faults() {\n  static const std::vector<Fault> all{\n" + "".join(table) +
                      "  };\n  return all;\n}\n\n}  // namespace tokitai::proofs\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
