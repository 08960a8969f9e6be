# Contracts for programs: `ops --json` against the published schema, the digest made again from the
# document alone, and the documentation's tables against what the command prints.
import hashlib
import json
import pathlib
import re
import unittest

from command_test import ExecutableTest, run

ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import jsonschema
except ImportError:
    jsonschema = None


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(contract):
    return hashlib.sha256(canonical({k: v for k, v in contract.items() if k != "digest"})).hexdigest()


def table_rows(text):
    """The cells of each row of a Markdown table, without its head."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in text.splitlines() if line.startswith("|")]
    return rows[2:]


class Contracts(ExecutableTest):
    def setUp(self):
        super().setUp()
        self.contracts = json.loads(run(self.executable, "ops", "--json").stdout)

    @unittest.skipUnless(jsonschema, "python3-jsonschema is not installed")
    def test_every_contract_fits_the_schema(self):
        schema = json.loads((ROOT / "docs/schema/contract.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        check = jsonschema.Draft202012Validator(schema)
        self.assertEqual(len({contract["name"] for contract in self.contracts}), len(self.contracts))
        check.validate(self.contracts)
        for contract in self.contracts:
            check.validate(json.loads(run(self.executable, "ops", contract["name"], "--json").stdout))
        for break_it in (lambda c: c.pop("ensures"), lambda c: c["ensures"][0].update(kind="perfect"),
                         lambda c: c.update(more=1), lambda c: c["digest"].update(sha256="0")):
            broken = json.loads(json.dumps(self.contracts))
            break_it(broken[0])
            self.assertFalse(check.is_valid(broken))

    def test_digests_can_be_made_again_from_the_document(self):
        for contract in self.contracts:
            with self.subTest(contract["name"]):
                self.assertEqual(digest_of(contract), contract["digest"]["sha256"])
                shown = run(self.executable, "ops", contract["name"]).stdout
                self.assertIn(contract["digest"]["sha256"], shown)
                contract["summary"] = contract["summary"].replace(" ", "  ", 1)
                self.assertNotEqual(digest_of(contract), contract["digest"]["sha256"])

    def test_the_readme_lists_the_operators_as_the_command_does(self):
        readme = (ROOT / "README.md").read_text()
        section = readme[readme.index("## The operators"):]
        section = section[:section.index("\n## ", 3)]
        shown = [re.split(r" {2,}", line) for line in run(self.executable, "ops").stdout.splitlines()]
        listed = [[cell for cell in row if cell] for row in table_rows(section)]
        self.assertTrue(listed)
        names = {row[0] for row in listed}  # a family that was just added need not be among them
        self.assertEqual(listed, [row for row in shown if row[0] in names])

    def test_each_readme_lists_the_options_of_its_contracts(self):
        for contract in self.contracts:
            family = contract["name"].split(".")[0]
            text = (ROOT / f"operators/{family}/README.md").read_text()
            listed = {row[0].strip("`"): row for row in table_rows(text)}
            for option in contract["options"]:
                with self.subTest(f"{contract['name']} {option['name']}"):
                    self.assertIn(option["name"], listed)
                    cells = listed[option["name"]]
                    self.assertIn(option["range"], cells)
                    if option["kind"] == "choice" and option["default"] is not None:
                        self.assertEqual(cells[1], option["default"])
                    elif option["default"] is not None:
                        numbers = [float(c) for c in cells if re.fullmatch(r"[-+.\de]+", c)]
                        self.assertIn(option["default"], numbers)


if __name__ == "__main__":
    unittest.main()
