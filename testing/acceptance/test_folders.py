# A family's folder holds all there is of it, and everything that looks at all families finds it.
import ast
import json
import pathlib
import unittest

import oracle
from harness import CommandTest

ROOT = pathlib.Path(__file__).parents[2]
FILES = ("definition.h", "problems.txt", "README.md", "oracle.py", "peer.py", "golden.inc", "promises.txt",
         "edges_test.cpp")


class Folders(CommandTest):
    def test_each_folder_is_a_family_and_complete(self):
        contracts = json.loads(self.command("ops", "--json").stdout)
        operators = {contract["name"] for contract in contracts}
        self.assertEqual(set(oracle.OPERATORS), operators)
        self.assertEqual(set(oracle.PROBLEMS), operators)
        folders = {path.parent for path in (ROOT / "operators").glob("*/definition.h")}
        folders.remove(ROOT / "operators" / "specimen")  # for the tests of patterns alone
        self.assertEqual({folder.name for folder in folders} - {"skeleton"},
                         {name.split(".")[0] for name in operators})
        for folder in sorted(folders):
            for name in (*FILES, f"{folder.name}.h", f"{folder.name}.cpp"):
                with self.subTest(f"{folder.name}/{name}"):
                    self.assertTrue((folder / name).is_file())

    def test_each_operator_has_a_peer(self):
        for operator in oracle.OPERATORS:
            with self.subTest(operator):
                family = operator.split(".")[0]
                module = ast.parse((ROOT / "operators" / family / "peer.py").read_text())
                functions = {node.name: [a.arg for a in node.args.args] for node in module.body
                             if isinstance(node, ast.FunctionDef)}
                self.assertEqual(functions.get(operator.replace(".", "_")), ["p", "make"])


if __name__ == "__main__":
    unittest.main()
