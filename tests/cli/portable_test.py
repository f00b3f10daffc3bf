#!/usr/bin/env python3
"""pawl export, import, fork and retry, as a user runs them, beside a program that works on the same file.

Usage: portable_test.py PATH_TO_PAWL PATH_TO_CLI_PORTABLE_HOST
"""

import json
import os
import subprocess
import sys
import time
import unittest

import commands_test
from commands_test import FAILURE, NOT_FOUND, USAGE, Beside


def without(document, *fields):
    return {key: value for key, value in document.items() if key not in fields}


class Files(Beside):
    def exported(self, *arguments):
        return json.loads(self.done("export", *arguments))

    def assert_same(self, copy, original, *fields):
        """But for these fields, the run id, and ids that are made from it."""
        bare = [{**without(document, "runId", *fields),
                 "log": [without(entry, "operationId", "taskExecutionId") for entry in document["log"]]}
                for document in (copy, original)]
        self.assertEqual(*bare)

    def test_a_copy_is_the_same_and_goes_on(self):
        self.start("order", "order-1", "waiting", "--tag", "customer=7")
        file = self.root / "order-1.json"
        self.assertEqual(self.done("export", "order-1", "-f", file), "")
        original = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(original["format"], "pawl-run/1")
        self.assertEqual(original["status"], "waiting")
        self.assertEqual(original["tags"], [{"name": "customer", "value": "7"}])
        self.assertEqual([entry["event"] for entry in original["log"]], ["OperationCompleted", "SignalAwaited"])
        self.assertEqual(json.loads(self.done("history", "order-1", "-o", "json")), original)
        new_id = "it has a new run id, since the store has a run with that of the file\n"
        self.assertEqual(self.done("import", file, "--id", "copy-1", "--paused"),
                         "imported copy-1, which is paused\n" + new_id)
        copy = self.exported("copy-1")
        self.assertEqual(copy["paused"], True)
        self.assertNotEqual(copy["runId"], original["runId"])
        self.assert_same(copy, original, "id", "paused")
        self.done("unpause", "copy-1")
        self.done("signal", "copy-1", "pay", '{"cents": 5}')
        result = json.loads(self.done("result", "copy-1", "--timeout", "30s"))
        self.assertEqual(result, {"number": original["log"][0]["result"], "paid": {"cents": 5}, "weight": 7.5})
        # Payloads with blanks, and numbers with a point, in an ended one.
        ended = self.exported("copy-1")
        self.assertEqual(self.done("import", "-", "--id", "copy-2", stdin=json.dumps(ended)),
                         "imported copy-2, which is completed\n" + new_id)
        self.assert_same(self.exported("copy-2"), ended, "id")
        self.assertEqual(json.loads(self.done("result", "copy-2")), result)
        made = json.loads(self.done("import", "-", "--id", "copy-3", "-o", "json", stdin=json.dumps(ended)))
        self.assertEqual((made["id"], made["hasNewRunId"]), ("copy-3", True))
        ids = [each["runId"] for each in self.json("list", "-q", "id in (order-1, copy-1, copy-2, copy-3)")["runs"]]
        self.assertEqual(len(set(ids)), 4)
        # Of a task that is out, row and entry keep the same id.
        self.start("retries", "out", "waiting")
        self.done("import", "-", "--id", "out-copy", "--paused", stdin=self.done("export", "out"))
        copy = self.exported("out-copy")
        self.assertEqual(copy["tasks"][0]["id"], copy["log"][0]["taskExecutionId"])
        self.assertNotEqual(copy["tasks"][0]["id"], self.exported("out")["tasks"][0]["id"])

    def test_from_store_to_store(self):
        path = self.root / "other.db"
        with subprocess.Popen([commands_test.HOST, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as host:
            self.assertEqual(host.stdout.readline(), "ready\n")
            self.start("order", "moving", "waiting")
            self.done("pause", "moving")
            other = f"sqlite:{path}"
            self.assertEqual(self.done("import", "-", PAWL_STORE=other, stdin=self.done("export", "moving")),
                             "imported moving, which is paused\n")
            self.done("unpause", "moving", PAWL_STORE=other)
            self.done("signal", "moving", "pay", "1", PAWL_STORE=other)
            self.assertEqual(json.loads(self.done("result", "moving", "--timeout", "30s", PAWL_STORE=other))["paid"], 1)
            self.assertEqual(self.json("describe", "moving")["status"], "waiting")
            host.communicate(timeout=30)

    def test_many_runs_are_many_files(self):
        for run in ("many-1", "many/../2", "x" * 400):
            self.start("order", run, "waiting", "--tag", "many=1")
        folder = self.root / "runs"
        self.assertEqual(self.done("export", "--tag", "many=1", "--status", "open", "-d", folder), "exported 3\n")
        names = sorted(file.name for file in folder.iterdir())
        self.assertEqual(names[:2], ["many%2F..%2F2.1.json", "many-1.1.json"])
        self.assertRegex(names[2], r"^x{150}\.[0-9a-f-]{36}\.1\.json$")
        ids = {json.loads(file.read_text(encoding="utf-8"))["id"] for file in folder.iterdir()}
        self.assertEqual(ids, {"many-1", "many/../2", "x" * 400})
        self.assertIn("name a run", self.told(USAGE, "export"))
        self.assertIn("not both", self.told(USAGE, "export", "many-1", "--all", "-d", folder))
        self.assertIn("by -d", self.told(USAGE, "export", "--all"))
        self.assertIn("by -f", self.told(USAGE, "export", "many-1", "-d", folder))
        self.assertIn("there is no run", self.told(NOT_FOUND, "export", "nobody"))
        self.assertIn("No such file", self.told(FAILURE, "export", "many-1", "-f", self.root / "no" / "file"))

    def test_what_is_no_plain_file_is_written_to(self):
        self.start("order", "piped", "waiting")
        text = self.done("export", "piped")
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
            self.done("export", "piped", "-f", pipe)
            self.assertEqual(reader.communicate(timeout=30)[0], text)
        self.assertTrue(pipe.is_fifo())
        real, link = self.root / "real.json", self.root / "link.json"
        real.write_text("old", encoding="utf-8")
        link.symlink_to(real)
        self.done("export", "piped", "-f", link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(real.read_text(encoding="utf-8"), text)
        self.assertIn("not for a filter", self.told(USAGE, "export", "--all", "-d", self.root / "x", "--number", "2"))

    def test_what_is_not_imported(self):
        self.start("order", "there", "waiting")
        text = self.done("export", "there")
        self.assertIn("there is a run 'there' already; nothing was changed",
                      self.told(FAILURE, "import", "-", stdin=text))
        self.assertIn("standard input: malformed JSON at line 2, column ",
                      self.told(USAGE, "import", "-", "--id", "new", stdin=text.replace('"format":', '"format"')))
        self.assertIn("'pawl-run/9'", self.told(USAGE, "import", "-", stdin=text.replace("pawl-run/1", "pawl-run/9")))
        self.assertIn("log: entry 1 (OperationCompleted): its id is",
                      self.told(FAILURE, "import", "-", "--id", "new", stdin=text.replace(
                          json.loads(text)["runId"], "11111111-2222-4333-8444-555555555555")))
        self.assertIn("status: it is completed, but", self.told(
            FAILURE, "import", "-", "--id", "new", stdin=text.replace('"status": "waiting"', '"status": "completed"')))
        for field, moment in (("startedAt", -5), ("startedAt", 2**63 - 1), ("changedAt", -1)):
            document = {**json.loads(text), field: moment}
            self.assertIn(f"{field}: expected a whole number from 0 to ",
                          self.told(USAGE, "import", "-", "--id", "new", stdin=json.dumps(document)))
        self.assertIn("No such file", self.told(NOT_FOUND, "import", self.root / "missing.json"))
        self.assertIn("there is no run", self.told(NOT_FOUND, "describe", "new"))


class Forks(Beside):
    def finished(self, run):
        self.start("order", run, "waiting")
        self.done("signal", run, "pay", '"cash"')
        return json.loads(self.done("result", run, "--timeout", "30s"))

    def test_a_fork_goes_on_from_a_step(self):
        result = self.finished("done-1")
        plan = self.done("fork", "done-1", "--at", "2", "--dry-run")
        self.assertEqual(plan, "done again, if the code takes the same way:\n  {3} task ship\n"
                               "not seen: signal pay\n")
        self.assertIn("there is no run", self.told(NOT_FOUND, "describe", "done-1-fork"))
        self.assertTrue(self.done("fork", "done-1", "--at", "{2}", "--yes").endswith("forked done-1 as done-1-fork\n"))
        self.await_status("done-1-fork", "waiting")
        self.done("signal", "done-1-fork", "pay", '"card"')
        self.assertEqual(json.loads(self.done("result", "done-1-fork", "--timeout", "30s")), {**result, "paid": "card"})
        # What was done before the fork is not done again; from the first step on, all of it is.
        made = json.loads(self.done("fork", "done-1", "--at", "1", "--yes", "-o", "json"))
        self.assertEqual(made["id"], "done-1-fork-2")
        self.assertEqual(made["run"]["runId"], made["runId"])
        self.assertEqual([step["name"] for step in made["again"]], ["reserve", "ship"])
        self.await_status("done-1-fork-2", "waiting")
        self.done("signal", "done-1-fork-2", "pay", '"cash"')
        again = json.loads(self.done("result", "done-1-fork-2", "--timeout", "30s"))
        self.assertGreater(again["number"], result["number"])
        self.assertEqual(json.loads(self.done("result", "done-1")), result)

    def test_results_are_replaced(self):
        self.finished("edit-1")
        self.done("fork", "edit-1", "--at", "end", "--set", "1=5", "--set", '2={"by": "card"}', "--set", "3=0.25",
                  "--id", "edited")
        self.assertEqual(json.loads(self.done("result", "edited", "--timeout", "30s")),
                         {"number": 5, "paid": {"by": "card"}, "weight": 0.25})

    def test_a_task_that_is_out_is_put_out_again(self):
        self.start("retries", "slow", "waiting")
        self.done("fork", "slow", "--at", "end", "--id", "slow-fork", "--paused")
        tasks = json.loads(self.done("export", "slow-fork"))["tasks"]
        self.assertEqual([task["type"] for task in tasks], ["flaky"])

    def test_what_cannot_be_forked(self):
        self.finished("odd-1")
        for arguments, text in (
            (("--at", "9"), "the run has no command at {9}; its last one is at {3}"),
            (("--at", "x"), "a location looks like {2} or {3, 1}"),
            (("--at", "2", "--set", "3=1"), "{3} cannot be set: it stands behind the cut"),
            (("--at", "2", "--set", "1"), "--set wants LOCATION=JSON"),
            (("--at", "2", "--set", "1=nope"), "--set {1}: malformed JSON"),
            (("--at", "2"), "say --yes if that is meant"),
        ):
            with self.subTest(arguments):
                code, _, err = self.pawl("fork", "odd-1", *arguments)
                self.assertEqual(code, USAGE)
                self.assertIn(text, err)
        self.assertIn("there is a run 'odd-1' already",
                      self.pawl("fork", "odd-1", "--at", "2", "--id", "odd-1", "--yes")[2])
        self.assertIn("there is no run", self.told(NOT_FOUND, "describe", "odd-1-fork"))


class Retries(Beside):
    def test_a_failed_step_is_tried_again(self):
        self.start("fragile", "fragile-1", "failed")
        self.assertIn("fragile-1: would go on from {1} task second_try\n", self.done("retry", "fragile-1", "--dry-run"))
        self.assertEqual(self.done("retry", "fragile-1"), "fragile-1: goes on as run 2 from {1} task second_try\n")
        self.assertEqual(self.done("result", "fragile-1", "--timeout", "30s"), "5\n")
        self.assertEqual(self.json("describe", "fragile-1")["number"], 2)
        self.assertIn("there is no failure to undo", self.told(USAGE, "retry", "fragile-1"))

    def test_what_waits_for_another_attempt_is_tried_now(self):
        self.start("retries", "later", "waiting")
        deadline = time.monotonic() + 30
        while json.loads(self.done("export", "later"))["tasks"][0]["state"] != "delayed":
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(self.done("retry", "later"), "later: one attempt is due now\n")
        self.start("order", "patient", "waiting")
        code, out, _ = self.pawl("retry", "patient")
        self.assertEqual((code, out), (FAILURE, "patient: nothing in it waits for another attempt\n"))

    def test_what_was_undone_has_to_be_forced(self):
        self.start("undoes", "undone", "failed")
        self.assertIn("has compensated ('undo')", self.told(USAGE, "retry", "undone"))
        out = self.done("retry", "undone", "--force")
        self.assertIn("warning: the original has compensated: 'undo'", out)
        self.assertIn("undone: goes on as run 2 from its end", out)

    def test_many_are_tried_again(self):
        for run in ("all-1", "all-2"):
            self.start("fails", run, "failed", "--tag", "many=1")
        self.start("undoes", "all-3", "failed", "--tag", "many=1")
        self.start("order", "all-4", "waiting", "--tag", "many=1")
        self.assertIn("retry 3 runs?", self.told(USAGE, "retry", "--tag", "many=1"))
        out = self.done("retry", "--tag", "many=1", "--dry-run")
        self.assertIn("would retry 2, skipped 1 (refused, e.g. all-3)\n", out)
        self.assertEqual(self.json("describe", "all-1")["number"], 1)
        out = self.done("retry", "--tag", "many=1", "--yes")
        self.assertIn("all-2: goes on as run 2 from its end", out)
        self.assertIn("all-3: run 'all-3' has compensated", out)
        self.assertTrue(out.endswith("retried 2, skipped 1 (refused, e.g. all-3)\n"), out)
        self.assertEqual(self.json("describe", "all-1")["number"], 2)
        # Those that have gone on are not tried twice; of several that are named, one may be refused.
        self.await_status("all-1", "failed")
        self.await_status("all-2", "failed")
        again = json.loads(self.done("retry", "-q", "id in (all-1, all-2) and status = failed", "--yes", "-o", "json"))
        self.assertEqual(again, {"done": 2, "skipped": 2, "why": {"a newer run is there": 2}})
        code, out, _ = self.pawl("retry", "all-3", "all-4", "-o", "json")
        self.assertEqual((code, json.loads(out)), (FAILURE, {"done": 0, "skipped": 2, "why": {
            "nothing in it waits for another attempt": 1, "refused": 1}}))
        self.assertIn("there is no run 'nowhere'", self.told(NOT_FOUND, "retry", "all-1", "nowhere"))
        self.assertIn("name runs, or say which", self.told(USAGE, "retry"))
        self.assertIn("not both", self.told(USAGE, "retry", "all-1", "--kind", "fails"))

    def test_a_child_has_to_be_deleted_first(self):
        self.start("parent", "the-parent", "failed")
        self.assertIn("delete it and try again", self.told(USAGE, "retry", "the-parent"))
        self.done("delete", "the-child")
        self.assertEqual(self.done("retry", "the-parent"), "the-parent: goes on as run 2 from {1} child the-child\n")
        self.await_status("the-parent", "failed")
        self.assertEqual(self.json("describe", "the-child")["status"], "failed")


if __name__ == "__main__":
    commands_test.PAWL, commands_test.HOST = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
