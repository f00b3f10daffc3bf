#!/usr/bin/env python3
"""Two builds of one program on one database, as in a rolling deploy: the old one, the new one beside it, the new one
alone, and back. Each run stays with the build that it was recorded by as long as one of that build lives; nothing is
ever blocked.

Usage: rolling_test.py PAWL HOST_1 HOST_2 sqlite|postgres [RUNS]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "postgres"))
import serve  # noqa: E402

import rolling_host  # noqa: E402

PAWL = HOSTS = STORE = None
RUNS = 60


class Host(rolling_host.Host):
    """A process of one build."""

    def __init__(self, build, url):
        super().__init__(HOSTS[build], url)

    def stop(self):
        """Ends it in good order; returns what it has complained about."""
        code = super().stop()
        if code != 0:
            raise RuntimeError(f"a host ended with {code}: " + "".join(self.errors))
        return self.errors


class Rolling(unittest.TestCase):
    def setUp(self):
        if STORE == "postgres":
            server = serve.Server()
            self.addCleanup(server.close)
            self.url = server.url()
        else:
            directory = tempfile.TemporaryDirectory()
            self.addCleanup(directory.cleanup)
            self.url = f"sqlite:{directory.name}/rolling.db"
        self.half = RUNS // 2

    def start(self, build):
        host = Host(build, self.url)
        self.addCleanup(host.end)
        return host

    def pawl(self, *words):
        done = subprocess.run([PAWL, *words, "--store", self.url, "-o", "json"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def expect(self, host, prefix, first, last, result):
        self.assertEqual(set(host.do("wait", prefix, first, last)), {f"{prefix}-{i} {result}" for i in range(first, last)})

    def expect_none_blocked(self):
        self.assertEqual(self.pawl("count", "--status", "blocked")["count"], 0)

    def test_there_and_back(self):
        old = self.start(1)
        old.do("start", "same", "old", RUNS)
        old.do("start", "order", "old-order", RUNS)

        # Side by side, each under load, each told of the runs of the other one.
        new = self.start(2)
        new.ask("start", "same", "new", RUNS)
        old.ask("start", "order", "late-order", RUNS)
        new.answer()
        old.answer()
        new.do("start", "order", "new-order", RUNS)
        for prefix, far, near in (("old", new, old), ("new", old, new)):
            for kind in ("", "-order"):
                far.ask("go", prefix + kind, 0, self.half)
                near.ask("go", prefix + kind, self.half, RUNS if kind else self.half)
                far.answer()
                near.answer()
        new.do("go", "late-order", 0, RUNS)
        self.expect(new, "old", 0, self.half, "1 1")
        self.expect(new, "new", 0, self.half, "2 2")
        for prefix, build in (("old-order", 1), ("late-order", 1), ("new-order", 2)):
            self.expect(new, prefix, 0, RUNS, f"{build} {build}")
        self.expect_none_blocked()
        self.assertEqual(sorted(each["name"] for each in self.pawl("workers")["workers"]), ["build-1", "build-2"])

        # The old one goes: what it leaves goes on under the new one.
        self.assertEqual(old.stop(), [])
        new.do("go", "old", self.half, RUNS)
        self.expect(new, "old", self.half, RUNS, "1 2")
        self.expect_none_blocked()

        # Back: as long as the new one lives, it keeps its runs.
        old = self.start(1)
        old.do("start", "same", "back", RUNS)
        old.do("go", "new", self.half, self.half + 5)
        self.expect(old, "new", self.half, self.half + 5, "2 2")
        new.do("go", "back", 0, self.half)
        self.expect(new, "back", 0, self.half, "1 1")
        self.assertEqual(new.stop(), [])
        old.do("go", "new", self.half + 5, RUNS)
        old.do("go", "back", self.half, RUNS)
        self.expect(old, "new", self.half + 5, RUNS, "2 1")
        self.expect(old, "back", self.half, RUNS, "1 1")
        self.expect_none_blocked()
        self.assertEqual(self.pawl("count", "--status", "open")["count"], 0)
        self.assertEqual(old.stop(), [])

    def test_a_run_whose_code_is_gone_waits_and_says_so(self):
        old = self.start(1)
        old.do("start", "order", "order", 1)
        old.stop()
        # It may not have come to its signal.
        [finding] = [each for each in self.pawl("why", "order-0")["findings"] if each["code"] in ("workers", "unclaimed")]
        self.assertEqual(finding["who"], "there is no live worker; one with the kind 'order' is needed")
        [row] = self.pawl("list")["runs"]
        self.assertTrue(row["needsWorker"])
        self.assertEqual(self.pawl("stats")["needWorker"]["runs"], [{"kind": "order", "count": 1}])
        old = self.start(1)
        [row] = self.pawl("list")["runs"]
        self.assertNotIn("needsWorker", row)
        old.do("go", "order", 0, 1)
        self.expect(old, "order", 0, 1, "1 1")
        old.stop()


if __name__ == "__main__":
    PAWL, STORE = sys.argv[1], sys.argv[4]
    HOSTS = {1: sys.argv[2], 2: sys.argv[3]}
    RUNS = int(sys.argv[5]) if len(sys.argv) > 5 else RUNS
    unittest.main(argv=sys.argv[:1])
