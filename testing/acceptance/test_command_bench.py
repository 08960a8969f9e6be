# The benchmark's peer, from outside: what a stand-in for a Python with torch is given, and what is made of its answers.
import json
import unittest

from command_test import ExecutableTest, run

PEER = """#!/bin/sh
case "$1" in -c) exit 0;; esac
env > '{folder}/environment'
echo '{{"version": "of a stand-in"}}'
while read -r line; do
  key=$(printf '%s' "$line" | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')
  printf '{{"key": "%s", "seconds": 0.5, "remark": "does other work"}}\\n' "$key"
done
"""


class TorchPeer(ExecutableTest):
    def bench(self, *arguments):
        python = self.folder / "python"
        python.write_text(PEER.format(folder=self.folder))
        python.chmod(0o755)
        return run(self.executable, "bench", "--peer", "torch", "--python", python, "--threads", 1, "--seconds", "0.01",
                   "--problem", "adamw.step n=64 t=1", "--problem", "embedding.forward queries=100 dim=8 vocab=1000000",
                   *arguments).stdout

    def test_its_memory_is_touched_as_ours_is(self):
        """Else its times are those of page faults: every large tensor would be mapped anew."""
        self.bench()
        lines = (self.folder / "environment").read_text().splitlines()
        self.assertIn("MALLOC_MMAP_MAX_=0", lines)
        self.assertIn("MALLOC_TRIM_THRESHOLD_=1099511627776", lines)

    def test_the_table_says_where_its_work_is_another(self):
        table = self.bench()
        self.assertEqual(table.count("does other work"), 2)
        for line in table.splitlines():
            if line.startswith("adamw.step"):
                self.assertIn("does other work", line)
        document = json.loads(self.bench("--json"))
        for result in document["results"]:
            self.assertEqual(result["peers"]["torch of a stand-in"]["note"], "does other work")

    def test_a_gather_counts_the_rows_that_it_reads(self):
        gather = json.loads(self.bench("--json"))["results"][1]
        # At most 100 of a million rows are read, and y is as large as those; 8 bytes an index.
        self.assertLessEqual(gather["bytes"], 100 * 8 + 2 * 100 * 8 * 2)
        self.assertGreater(gather["bytes"], 100 * 8 + 100 * 8 * 2)
        equal = json.loads(run(self.executable, "bench", "--json", "--threads", 1, "--seconds", "0.01", "--problem",
                               "embedding.forward queries=100 dim=8 vocab=1000 index=i64 spread=equal").stdout)
        self.assertEqual(equal["results"][0]["bytes"], 100 * 8 + 1 * 8 * 2 + 100 * 8 * 2)


if __name__ == "__main__":
    unittest.main()
