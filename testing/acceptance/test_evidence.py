# Evidence from outside: a bundle is written, read by the standard library alone, by an independent
# implementation of in-toto and DSSE where there is one, audited, replayed and tampered with.
import base64
import hashlib
import html.parser
import json
import os
import pathlib
import stat
import struct
import subprocess
import unittest

import numpy as np

from command_test import ExecutableTest, run
from harness import CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
except ImportError:
    load_pem_public_key = None
try:
    from google.protobuf import json_format
    from in_toto_attestation.v1 import statement_pb2
    from in_toto_attestation.v1.statement import Statement
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey
except ImportError:
    Envelope = None


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Evidence(ExecutableTest):
    """One bundle, signed, and one that is not: two small operators each."""

    def setUp(self):
        super().setUp()
        self.key = self.folder / "test.key"
        run(self.executable, "key", "new", self.key)

    def verify(self, name, *arguments):
        problems = ("softmax.forward rows=3,7 cols=5,300 data=all", "adamw.step n=5+0+300 t=2 master=yes",
                    "embedding.backward queries=40 dim=5 vocab=9 type=f16,f32 pad=3")
        lines = [word for line in problems for word in ("--problem", line)]
        run(self.executable, "verify", "--threads", 1, *lines, "--no-figures", "--report", self.folder / name, *arguments)
        return self.folder / name / "evidence.json"

    def signed(self, name="signed"):
        return self.verify(name, "--sign", self.key)

    def audit(self, path, *arguments, code=0):
        return run(self.executable, "audit", path, *arguments, code=code)

    @staticmethod
    def payload(path):
        return base64.b64decode(json.loads(path.read_text())["payload"], validate=True)


class Bundles(Evidence):
    def test_the_statement_fits_its_schema_and_names_the_sources(self):
        for statement in (json.loads(self.verify("plain").read_text()), json.loads(self.payload(self.signed()))):
            self.assertEqual(statement["_type"], STATEMENT)
            digests = {s["name"]: s["digest"]["sha256"] for s in statement["subject"]}
            for name, digest in digests.items():
                if "/" in name and (ROOT / name).is_file():
                    self.assertEqual(sha256((ROOT / name).read_bytes()), digest, name)
            self.assertIn("operators/softmax/definition.h", digests)
            self.assertIn("numerics/elementary.h", digests)
            self.assertEqual(digests["tokitai"], sha256(pathlib.Path(self.executable).read_bytes()))
            contracts = {c["name"]: c["digest"]["sha256"]
                         for c in json.loads(run(self.executable, "ops", "--json").stdout)}
            for name in ("softmax.forward", "adamw.step", "embedding.backward"):
                self.assertEqual(digests[f"contract/{name}"], contracts[name])
            if jsonschema:
                schema = json.loads((ROOT / "docs/schema/evidence.schema.json").read_text())
                jsonschema.Draft202012Validator.check_schema(schema)
                jsonschema.Draft202012Validator(schema).validate(statement)

    def test_input_digests_are_those_of_the_bytes(self):
        """A constant tensor can be made again here: its digest must be that of its elements."""
        path = self.folder / "constant"
        run(self.executable, "verify", "--threads", 1, "--no-figures", "--report", path, "--problem",
            "softmax.forward rows=3 cols=4 type=f32 data=zero pad=5")
        problem = json.loads((path / "evidence.json").read_text())["predicate"]["problems"][0]
        zeros = {sha256(b"".join(struct.pack("<f", -0.0 if mask >> i & 1 else 0.0) for i in range(12)))
                 for mask in range(1 << 12)}
        self.assertIn(problem["inputs"]["x"], zeros)
        third = struct.unpack("<f", struct.pack("<f", 0.25))[0]
        self.assertEqual(problem["outputs"]["y"], sha256(struct.pack("<f", third) * 12))

    @unittest.skipUnless(load_pem_public_key, "python3-cryptography is not installed")
    def test_the_signature_verifies_with_another_ed25519(self):
        path = self.signed()
        envelope = json.loads(path.read_text())
        key = load_pem_public_key((self.folder / "test.key.pub").read_bytes())
        payload = self.payload(path)
        encoded = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), encoded)
        with self.assertRaises(Exception):
            key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), encoded + b" ")

    @unittest.skipUnless(Envelope, "securesystemslib and in-toto-attestation are not installed (PyPI)")
    def test_an_independent_in_toto_verifier_accepts_it(self):
        path = self.signed()
        document = json.loads(path.read_text())
        key_file = load_pem_public_key((self.folder / "test.key.pub").read_bytes())
        key = SSlibKey.from_crypto(key_file, keyid=document["signatures"][0]["keyid"])
        envelope = Envelope.from_dict(json.loads(path.read_text()))
        self.assertIn(key.keyid, envelope.verify([key], 1))
        Statement.copy_from_pb(json_format.Parse(envelope.payload, statement_pb2.Statement())).validate()
        edited = json.loads(path.read_text())
        edited["payload"] = base64.b64encode(self.payload(path).replace(b"adamw", b"adamW")).decode()
        with self.assertRaises(Exception):
            Envelope.from_dict(edited).verify([key], 1)

    def test_the_private_key_is_nowhere_in_it(self):
        path = self.signed()
        lines = self.key.read_text().splitlines()
        self.assertEqual(stat.S_IMODE(os.stat(self.key).st_mode), 0o600)
        seed = base64.b64decode(lines[1])[-32:]
        shown = run(self.executable, "key", "show", self.key).stdout
        for data in (*(f.read_bytes() for f in path.parent.iterdir()), self.payload(path), shown.encode()):
            for secret in (seed, lines[1].encode(), base64.b64encode(seed), seed.hex().encode()):
                self.assertNotIn(secret, data)


class Audits(Evidence):
    def test_a_bundle_replays_with_other_threads_and_devices(self):
        path = self.verify("plain")
        for choice in (("--threads", 2), ("--threads", 1), ("--device", "reference"), ("--isa", "portable")):
            self.assertIn("the same bits", self.audit(path, "--replay", *choice).stdout)
        self.assertIn("not signed", self.audit(path).stdout)
        self.audit(self.signed(), "--key", self.folder / "test.key.pub", "--replay")

    def test_a_signed_bundle_wants_its_key(self):
        path = self.signed()
        other = self.folder / "other.key"
        run(self.executable, "key", "new", other)
        self.assertIn("--key", self.audit(path, code=2).stderr)
        self.assertIn("not with the one given", self.audit(path, "--key", f"{other}.pub", code=1).stderr)
        self.assertIn("not signed", self.audit(self.verify("plain"), "--key", f"{other}.pub", code=1).stderr)

    def test_what_was_changed_is_named(self):
        honest = json.loads(self.verify("plain").read_text())
        path = self.folder / "edited.json"

        def edited(code, part, change):
            statement = json.loads(json.dumps(honest))
            change(statement)
            path.write_text(json.dumps(statement))
            self.assertIn(part, self.audit(path, "--replay", code=code).stderr)

        edited(2, "$.predicate.version is 9", lambda s: s["predicate"].update(version=9))
        edited(2, "$._type", lambda s: s.update(_type="x"))
        edited(2, "$.predicate.problems[0].line is missing", lambda s: s["predicate"]["problems"][0].pop("line"))
        edited(1, "contract/softmax.forward", lambda s: s["predicate"]["operators"][0].update(
            contract_sha256="0" * 64))
        edited(1, "other bits", lambda s: s["predicate"]["problems"][0]["outputs"].update(y="0" * 64))

    def test_what_does_not_hold_is_not_replayed(self):
        statement = json.loads(self.verify("plain").read_text())
        problem = statement["predicate"]["problems"][0]
        problem["outputs"]["y"] = "0" * 64  # which a replay would find
        problem["outputs_compared"] += 1
        path = self.folder / "edited.json"
        path.write_text(json.dumps(statement))
        result = json.loads(self.audit(path, "--replay", "--json", "-", code=1).stdout)
        self.assertEqual([check["verdict"] for check in result["checks"] if check["what"] == "replay"], ["not_checked"])

    def test_what_is_no_evidence_is_refused(self):
        honest = self.verify("plain").read_bytes()
        path = self.folder / "wrong.json"
        for data, part in ((b"", "not JSON"), (b"\0" * 100, "not JSON"), (honest[:1000], "not JSON"),
                           (b"[" * 10_000_000, "nested"), (b'{"a":' * 5_000_000, "nested"), (b"[]", "neither"),
                           (b'{"_type": 1, "_type": 2}', "stands twice"), (b'{"_type": 7}', "$._type"),
                           (b'{"payloadType": "x"}', "$.payload is missing")):
            path.write_bytes(data)
            self.assertIn(part, self.audit(path, code=2).stderr)
        with open(path, "wb") as file:
            file.truncate(1 << 30)  # a gigabyte, sparse
        self.assertIn("at most", self.audit(path, code=2).stderr)
        self.audit(self.folder, code=2)
        self.audit(self.folder / "absent.json", code=2)

    def test_a_changed_report_is_named(self):
        path = self.verify("plain")
        with open(path.parent / "report.html", "a") as file:
            file.write(" ")
        self.assertIn("report.html", self.audit(path, code=1).stderr)

    def test_json_says_what_the_table_says(self):
        path = self.verify("plain")
        result = json.loads(self.audit(path, "--replay", "--json", "-").stdout)
        self.assertTrue(result["holds"])
        self.assertFalse(result["signed"])
        self.assertIn("replay", {check["what"] for check in result["checks"]})


class Kernels(Evidence):
    def test_kernels_compiled_at_run_time_are_in_it_and_it_replays_on_the_cpu(self):
        folder = self.folder / "lockstep"
        result = subprocess.run([self.executable, "verify", "--device", "lockstep", "--report", folder, "--problem",
                                 "softmax.forward rows=3 cols=30"], capture_output=True, text=True)
        if result.returncode == 3:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        statement = json.loads((folder / "evidence.json").read_text())
        digests = {s["name"]: s["digest"]["sha256"] for s in statement["subject"]}
        self.assertIn("machines/device/row.h", digests)
        self.assertTrue(statement["predicate"]["kernels"])
        for kernel in statement["predicate"]["kernels"]:
            self.assertIn(kernel["artifact_sha256"], digests.values())
            self.assertIn("softmax.forward", kernel["label"])
        self.assertIn("the same bits", self.audit(folder / "evidence.json", "--replay").stdout)


class Keys(Evidence):
    def test_a_key_is_never_written_over(self):
        before = self.key.read_bytes()
        self.assertIn("never written over", run(self.executable, "key", "new", self.key, code=2).stderr)
        self.assertEqual(self.key.read_bytes(), before)

    def test_bad_keys_are_refused_before_anything_is_run(self):
        wrong = self.folder / "wrong.key"
        wrong.write_text("hello")
        for path in (wrong, self.folder / "absent.key", self.folder, self.folder / "test.key.pub"):
            result = run(self.executable, "verify", "--report", self.folder / "out", "--sign", path, code=2)
            self.assertIn(str(path), result.stderr)
        os.chmod(self.key, 0o644)
        result = run(self.executable, "verify", "--report", self.folder / "out", "--sign", self.key, code=2)
        self.assertIn("can be read by others", result.stderr)
        self.assertFalse((self.folder / "out" / "evidence.json").exists())

    def test_signing_without_a_report_is_bad_usage(self):
        self.assertIn("--report", run(self.executable, "verify", "--sign", self.key, code=2).stderr)
        self.assertIn("--report", run(self.executable, "verify", "--prove", code=2).stderr)


class Calls(CommandTest):
    """A report of one call over files."""

    def call(self, report, *arguments, code=0):
        inputs = self.save({"x": np.linspace(-3, 3, 77 * 5, dtype="<f4").reshape(77, 5).astype("<f2")})
        result = self.command("run", "softmax.forward", *inputs, "--out", f"y={self.folder / 'y.npy'}",
                              "--report", self.folder / report, *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_tells_what_was_read_written_and_compared(self):
        for device in ("cpu", "reference"):
            self.call("call.json", "--device", device)
            report = json.loads((self.folder / "call.json").read_text())
            y = np.load(self.folder / "y.npy")
            x, written = report["operands"]
            self.assertEqual(x["read_sha256"], sha256(np.load(self.folder / "in0.npy").tobytes()))
            self.assertEqual(written["written_sha256"], sha256(y.tobytes()))
            self.assertEqual((report["outputs_compared"], report["mismatches"]), (y.size, 0))
            self.assertGreater(report["worst_ulp"], 0.3)
            self.assertLessEqual(report["worst_ulp"], report["bound_ulp"])
            self.assertLess(report["bound_ulp"], 0.51)
            self.assertEqual(report["device"]["name"], device)
            contract = json.loads(run(self.executable, "ops", "softmax.forward", "--json").stdout)
            self.assertEqual(report["contract_sha256"], contract["digest"]["sha256"])
            self.assertEqual(report["non_claims"], contract["non_claims"])

    def test_has_the_form_of_its_name(self):
        self.call("call.md")
        self.assertTrue((self.folder / "call.md").read_text().startswith("# softmax.forward"))
        self.call("call.html")
        reader = Reader()
        reader.feed((self.folder / "call.html").read_text())
        self.assertEqual((reader.open, reader.faults, reader.references), ([], [], []))
        self.assertIn(".json, .md or .html", self.call("call.txt", code=2).stderr)
        self.assertIn("absent", self.call("absent/call.md", code=2).stderr)

    def test_a_refused_call_writes_no_report(self):
        self.call("call.md", "--set", "eps=1", code=2)
        self.assertFalse((self.folder / "call.md").exists())


class Reader(html.parser.HTMLParser):
    """Balance of tags, and every reference to something else."""

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.references, self.text = [], [], [], ""

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.references += [value for name, value in attributes if name in ("src", "href", "data", "action")]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text += data


class Reports(Evidence):
    def test_the_page_is_whole_and_needs_nothing_else(self):
        folder = self.folder / "all"
        run(self.executable, "verify", "--quick", "--threads", 1, "--isa", "portable", "--no-figures", "--report", folder)
        page = (folder / "report.html").read_text()
        reader = Reader()
        reader.feed(page)
        self.assertEqual((reader.open, reader.faults), ([], []))
        self.assertTrue(all(reference.startswith("#") for reference in reader.references), reader.references)
        for elsewhere in ("http:", "https:", "url(", "@import", "<script", "<link", "<img"):
            self.assertNotIn(elsewhere, page)
        markdown = (folder / "report.md").read_text()
        for contract in json.loads(run(self.executable, "ops", "--json").stdout):
            for text in (reader.text, markdown):
                self.assertIn(contract["name"], text)
                self.assertIn(contract["non_claims"][0], text)

    def test_figures_are_measured_and_drawn(self):
        folder = self.folder / "figures"
        run(self.executable, "verify", "--threads", 1, "--problem", "softmax.forward rows=3 cols=50", "--report", folder)
        (figures,) = [one["error"] for one in json.loads((folder / "evidence.json").read_text())["predicate"]["operators"]]
        self.assertEqual(sum(figures["bins"]), figures["outputs"])
        self.assertEqual(figures["exceeded"], 0)
        self.assertLessEqual(figures["worst_ulp"], figures["bound_ulp"])
        self.assertEqual((folder / "report.html").read_text().count("<svg"), 2)
        run(self.executable, "audit", folder / "evidence.json", "--replay")


if __name__ == "__main__":
    unittest.main()
