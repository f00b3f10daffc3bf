#!/usr/bin/env python3
"""Commands that look at and change runs, as a user runs them, beside a program that works on the same file.

Usage: commands_test.py PATH_TO_PAWL PATH_TO_CLI_HOST PATH_TO_DOCS_CLI_MD
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PAWL = None
HOST = None
DOCS = None

OK, FAILURE, USAGE, RUN_FAILED, NOT_FOUND, MISFITS, STORE = range(7)


def plain_environment(**more):
    """Without what the caller's shell may have set."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("PAWL_STORE", "NO_COLOR", "TZ", "CLICOLOR", "CLICOLOR_FORCE")}
    return {**env, **more}


def run(*arguments, stdin=None, stdout=subprocess.PIPE, cwd=None, timeout=60, **env):
    words = [PAWL, *(str(argument).encode("utf-8", "surrogateescape") for argument in arguments)]
    source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, cwd=cwd, timeout=timeout, check=False,
                          env=plain_environment(**env), text=True, encoding="utf-8", **source)
    return done.returncode, done.stdout, done.stderr


class Beside(unittest.TestCase):
    """Has a program that works on the file."""

    MORE = ()  # Arguments for it.

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.directory.name)
        cls.path = cls.root / "host.db"
        cls.store = f"sqlite:{cls.path}"
        cls.host = subprocess.Popen([HOST, cls.path, *cls.MORE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if cls.host.stdout.readline() != "ready\n":
            raise RuntimeError("the host does not start")

    @classmethod
    def tearDownClass(cls):
        cls.host.communicate(timeout=30)
        cls.directory.cleanup()

    def pawl(self, *arguments, **more):
        more.setdefault("PAWL_STORE", self.store)
        return run(*arguments, **more)

    def done(self, *arguments, **more):
        """Standard output of what must succeed."""
        code, out, err = self.pawl(*arguments, **more)
        self.assertEqual((code, err), (OK, ""), (arguments, out))
        return out

    def told(self, code, *arguments, **more):
        """Standard error of what must fail with this code, and say why in one line."""
        got, out, err = self.pawl(*arguments, **more)
        self.assertEqual((got, out), (code, ""), (arguments, err))
        self.assertTrue(err.startswith("pawl: "), err)
        self.assert_plain(err)
        return err

    def json(self, command, *arguments, **more):
        return json.loads(self.done(command, "-o", "json", *arguments, **more))

    def await_status(self, run_id, status):
        deadline = time.monotonic() + 30
        while (last := self.json("describe", "--", run_id))["status"] != status:
            self.assertLess(time.monotonic(), deadline, last)
        return last

    def start(self, kind, run_id, status, *arguments):
        self.done("start", kind, f"--id={run_id}", *arguments)
        return self.await_status(run_id, status)

    def assert_plain(self, text):
        self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), repr(text))


class Start(Beside):
    def test_a_run_is_started_and_its_result_printed(self):
        self.assertEqual(self.done("start", "echoes", "--id", "a-1", "-i", '{"b": [1, 2.50, "ü"]}'), "started a-1\n")
        self.assertEqual(self.done("result", "a-1"), '{"b":[1,2.5,"ü"]}\n')
        self.assertEqual(self.done("start", "echoes", "-i", "7", "--wait", "--timeout", "30s"), "7\n")
        made = json.loads(self.done("start", "echoes", "-o", "json"))
        self.assertRegex(made["id"], r"^[0-9a-f-]{36}$")
        self.assertEqual((made["id"], made["kind"], made["isNew"]), (made["runId"], "echoes", True))
        self.assertEqual(self.done("result", made["id"]), "null\n")

    def test_input_from_a_file_and_from_standard_input(self):
        file = self.root / "input.json"
        file.write_text('\n {"a":\n 1}\n\n', encoding="utf-8")
        self.assertEqual(json.loads(self.done("start", "echoes", "-i", f"@{file}", "--wait")), {"a": 1})
        self.assertEqual(self.done("start", "echoes", "-i", "-", "--wait", stdin="[1]\n"), "[1]\n")

    def test_malformed_json_says_where(self):
        for text, place in (("{", "line 1, column 2: "), ('{"a" 1}', "line 1, column 6: "), ("", "line 1, column 1: "),
                            ("[1,\n 2,\n x]", "line 3, column 2: "), ("1 2", "line 1, column 3: ")):
            with self.subTest(text):
                err = self.told(USAGE, "start", "echoes", "-i", text)
                self.assertIn("the input: malformed JSON at " + place, err)
                self.assertIn(", found ", err)
        self.assertIn("found 'x'", self.told(USAGE, "start", "echoes", "-i", "[x"))
        self.assertIn("found the end", self.told(USAGE, "start", "echoes", "-i", "["))
        self.assertIn("in double quotes", self.told(USAGE, "start", "echoes", "-i", "hello"))
        self.assertIn("(standard input)", self.told(USAGE, "start", "echoes", "-i", "-", stdin="{"))
        self.assertIn("No such file", self.told(NOT_FOUND, "start", "echoes", "-i", "@/no/such/file"))
        self.assertIn("Is a directory", self.told(NOT_FOUND, "start", "echoes", "-i", f"@{self.root}"))
        deep = "[" * 3000 + "]" * 3000
        self.assertIn("malformed JSON", self.told(USAGE, "start", "echoes", "-i", deep))

    def test_input_has_a_limit(self):
        file = self.root / "huge.json"
        with open(file, "wb") as huge:
            huge.seek((64 << 20) + 10)
            huge.write(b"1")
        self.assertIn("more than 64 MiB", self.told(FAILURE, "start", "echoes", "-i", f"@{file}"))
        file.unlink()

    def test_an_id_that_is_taken(self):
        self.start("waits", "taken", "waiting")
        self.assertEqual(self.done("start", "waits", "--id", "taken"), "is there already: taken\n")
        self.assertIn("there is a run 'taken' already",
                      self.told(FAILURE, "start", "waits", "--id", "taken", "--on-existing", "fail"))
        self.assertIn("of the kind 'waits'", self.told(FAILURE, "start", "echoes", "--id", "taken"))
        self.done("start", "waits", "--id", "taken", "--on-existing", "replace")
        self.assertEqual(self.json("describe", "taken")["number"], 2)
        self.assertEqual(self.json("describe", "taken", "--number", "1")["status"], "failed")

    def test_a_signal_with_the_start(self):
        self.assertEqual(self.done("start", "waits", "--signal", "go={\"a\": 1}", "--wait"), '{"a":1}\n')
        self.assertEqual(self.done("start", "waits", "--signal", "go", "--wait"), "null\n")
        self.assertIn("the signal 'go': malformed", self.told(USAGE, "start", "waits", "--signal", "go={"))

    def test_tags(self):
        self.done("start", "echoes", "--id", "tagged", "--tag", "customer=7", "--tag", "odd name=a=b", "--tag", "empty=")
        self.assertEqual(self.json("describe", "tagged")["tags"], {"customer": "7", "odd name": "a=b", "empty": ""})
        for tag in ("customer", "=7", ""):
            self.assertIn("NAME=VALUE", self.told(USAGE, "start", "echoes", "--tag", tag))

    def test_bad_usage(self):
        for arguments in (["start"], ["start", "echoes", "x"], ["start", "echoes", "--on-existing", "x"],
                          ["start", "echoes", "--wait", "--timeout", "soon"], ["start", ""]):
            with self.subTest(arguments):
                code, out, err = self.pawl(*arguments)
                self.assertEqual((code, out), (USAGE, ""))
                self.assertNotEqual(err, "")

    def test_a_kind_that_nobody_has_waits(self):
        self.done("start", "nobody-has-it", "--id", "unserved")
        self.assertIn("has not ended in time; it is running", self.told(FAILURE, "result", "unserved", "--timeout", "0s"))
        self.assertIn("has not ended in time", self.told(FAILURE, "result", "unserved", "--timeout", "50ms"))


class Outcomes(Beside):
    def test_a_failed_run_is_exit_code_3(self):
        self.start("fails", "failed-1", "failed")
        code, out, err = self.pawl("result", "failed-1")
        self.assertEqual((code, out), (RUN_FAILED, ""))
        self.assertEqual(err, "pawl: run 'failed-1' has failed: std::runtime_error: no lamps\n")
        code, out, _ = self.pawl("start", "fails", "--wait")
        self.assertEqual((code, out), (RUN_FAILED, ""))

    def test_cancel_and_terminate(self):
        for run_id in ("c-1", "c-2", "t-1"):
            self.start("waits", run_id, "waiting")
        self.assertEqual(self.done("cancel", "c-1", "c-2", "--reason", "not needed"), "asked to end: 2\n")
        self.await_status("c-1", "cancelled")
        code, out, err = self.pawl("result", "c-1")
        self.assertEqual((code, out), (RUN_FAILED, ""))
        self.assertIn("was cancelled: not needed", err)
        self.assertEqual(self.done("kill", "t-1", "--reason", "wrong"), "terminated 1\n")
        self.assertIn("has failed: Terminated: wrong", self.pawl("result", "t-1")[2])
        code, out, _ = self.pawl("terminate", "t-1")
        self.assertEqual((code, out), (FAILURE, "terminated 0, skipped 1 (closed, e.g. t-1)\n"))

    def test_nothing_is_done_if_one_is_not_there(self):
        self.start("waits", "still-here", "waiting")
        self.assertIn("there is no run 'nowhere'", self.told(NOT_FOUND, "terminate", "still-here", "nowhere"))
        self.assertEqual(self.json("describe", "still-here")["status"], "waiting")

    def test_signals(self):
        self.start("waits", "s-1", "waiting")
        self.assertEqual(self.done("signal", "s-1", "other", "--event-id", "e-1"), "sent other to s-1\n")
        self.assertEqual(self.done("signal", "s-1", "other", "--event-id", "e-1"), "was sent before: other to s-1\n")
        self.done("start", "nobody-has-it", "--id", "s-2")
        for value in ("{}", "[]", '"x y"'):
            self.done("signal", "s-2", "other", value)
        self.done("signal", "s-2", "other")
        self.done("signal", "s-2", "other", "--", "-5")
        self.assertEqual([each["payload"] for each in self.json("describe", "s-2")["inbox"]], [{}, [], "x y", None, -5])
        self.done("signal", "s-1", "go", "-", stdin=' {"a": 1}\n')
        self.assertEqual(self.done("result", "s-1"), '{"a":1}\n')
        self.assertIn("run 's-1' has ended", self.told(FAILURE, "signal", "s-1", "go"))
        self.assertIn("malformed JSON", self.told(USAGE, "signal", "s-1", "go", "{"))
        self.assertIn("control characters", self.told(USAGE, "signal", "s-1", "go", "--event-id", "a\nb"))

    def test_promises(self):
        for run_id in ("p-1", "p-2", "p-3"):
            self.start("promises", run_id, "waiting")
        self.assertIn("has no promise 'recipe' yet; open ones: 'receipt'",
                      self.told(NOT_FOUND, "resolve", "p-1", "recipe", "1"))
        self.assertEqual(self.done("resolve", "p-1", "receipt", '{"r": 1}'), "resolved receipt of p-1\n")
        self.assertEqual(self.done("result", "p-1"), '{"r":1}\n')
        token = self.json("describe", "p-2")["promises"][0]["token"]
        self.done("resolve", "--token", token, "[5,[6]]")
        self.assertEqual(self.done("result", "p-2"), "[5,[6]]\n")
        self.done("reject", "p-3", "receipt", "--type", "Refused", "--message", "no money")
        self.assertIn("no money", self.pawl("result", "p-3")[2])
        for arguments in (["resolve"], ["resolve", "p-1"], ["resolve", "p-1", "receipt", "1", "2"],
                          ["resolve", "--token", token, "1", "2"], ["resolve", "--token", "???", "1"],
                          ["reject", "p-1", "receipt", "1"]):
            with self.subTest(arguments):
                self.told(USAGE, *arguments)


class Runs(Beside):
    """One run of each sort, for commands that look."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        for kind, run_id, status in (("echoes", "order-1", "completed"), ("echoes", "order-10", "completed"),
                                     ("fails", "failed", "failed"), ("waits", "waiting", "waiting"),
                                     ("promises", "promising", "waiting"), ("charges", "charging", "waiting"),
                                     ("sleeps", "sleeping", "waiting"), ("parents", "parent", "waiting"),
                                     ("notes", "noting", "waiting"), ("undoes", "undoing", "compensating"),
                                     ("retries", "retrying", "waiting")):
            self.start(kind, run_id, status, "--tag", f"sort={kind}")
        self.done("start", "nobody-has-it", "--id", "unserved", "--tag", "sort=none")
        self.await_status("the-child", "waiting")
        deadline = time.monotonic() + 30
        while self.json("describe", "retrying")["tasks"][0]["state"] != "delayed":
            if time.monotonic() > deadline:
                raise RuntimeError("the task is not tried")
        cls.count = 13

    def ids(self, *arguments):
        return {each["id"] for each in self.json("list", "--all", *arguments)["runs"]}

    # --- list and count ---

    def test_a_filter(self):
        for arguments, want in (
            ([], None),
            (["--kind", "echoes"], {"order-1", "order-10"}),
            (["--kind", "echoes", "--kind", "fails"], {"order-1", "order-10", "failed"}),
            (["--status", "failed", "--status", "compensating"], {"failed", "undoing"}),
            (["--status", "closed"], {"order-1", "order-10", "failed"}),
            (["--status", "open", "--kind", "waits"], {"waiting", "the-child"}),
            (["--status", "paused"], set()),
            (["--tag", "sort=waits"], {"waiting"}),
            (["--tag", "sort=waits", "--tag", "sort=fails"], set()),
            (["--started-after", "1h"], None),
            (["--started-before", "1h"], set()),
            (["--ended-after", "2000-01-01"], {"order-1", "order-10", "failed"}),
            (["--ended-before", "2000-01-01"], set()),
            (["-q", "status = failed or id = 'waiting'"], {"failed", "waiting"}),
            (["-q", "not (status = open)", "--kind", "echoes"], {"order-1", "order-10"}),
            (["-q", "tag.sort in (fails, waits)"], {"failed", "waiting"}),
            (["-q", "tag['sort'] != fails and status = closed"], {"order-1", "order-10"}),
            (["-q", "waiting = 'signal go'"], {"waiting", "the-child", "noting"}),
            (["-q", "started > 1h and ended <= now and id >= order"], {"order-1", "order-10"}),
        ):
            with self.subTest(arguments):
                want = want if want is not None else self.ids()
                self.assertEqual(self.ids(*arguments), want)
                self.assertEqual(self.json("count", *arguments), {"count": len(want)})
                self.assertEqual(self.done("count", *arguments), f"{len(want)}\n")
        self.assertEqual(len(self.ids()), self.count)

    def test_pages(self):
        seen, cursor, pages = [], None, 0
        while True:
            page = self.json("list", "--limit", "5", *(["--cursor", cursor] if cursor else []))
            seen += [each["id"] for each in page["runs"]]
            pages += 1
            self.assertLessEqual(len(page["runs"]), 5)
            cursor = page["next"]
            if cursor is None:
                break
        self.assertEqual((len(seen), len(set(seen)), pages), (self.count, self.count, 3))
        self.assertEqual(seen, [each["id"] for each in self.json("list", "--all")["runs"]])
        code, out, err = self.pawl("list", "--limit", "2", "-o", "jsonl")
        self.assertEqual((code, len(out.splitlines())), (OK, 2))
        self.assertRegex(err, r"^there are more: --cursor \S+\n$")
        for cursor in ("x", "1-", "-1", "1-2-3", "99999999999999999999-1"):
            self.told(USAGE, "list", "--cursor", cursor)

    def test_forms(self):
        lines = self.done("list", "--kind", "echoes").splitlines()
        self.assertRegex(lines[0], r"^id +kind +status +started +changed$")
        self.assertRegex(lines[1], r"^order-10 +echoes +completed +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d{4}-.*$")
        self.assertEqual(len(lines), 3)
        each = self.json("list", "--kind", "fails")["runs"][0]
        self.assertEqual(set(each), {"id", "number", "runId", "kind", "status", "startedAt", "changedAt", "endedAt",
                                     "isPaused"})
        self.assertIsInstance(each["startedAt"], int)
        for line in self.done("list", "-o", "jsonl").splitlines():
            self.assertIn("id", json.loads(line))
        self.assertEqual(self.done("list", "--kind", "none"), "")
        self.assertEqual(self.json("list", "--kind", "none"), {"runs": [], "next": None})

    def test_time_zones(self):
        started = self.json("describe", "order-1")["startedAt"] // 1000
        for arguments, zone, offset in (([], "XST-3", 3), (["--utc"], "XST-3", 0), (["--time-zone", "utc"], "XST-3", 0)):
            want = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(started + offset * 3600))
            self.assertIn(want, self.done("list", *arguments, TZ=zone))
        self.assertIn(" +03:00 (", self.done("describe", "order-1", TZ="XST-3"))
        self.assertIn(" UTC (", self.done("describe", "order-1", "--utc", TZ="XST-3"))
        code, _, err = self.pawl("list", "--time-zone", "Nowhere/Else")
        self.assertEqual(code, USAGE)
        self.assertIn("Nowhere/Else", err)

    def test_mistakes_in_a_filter(self):
        for arguments, text in ((["-q", "kind fulfil"], "query, column 6: expected one of"),
                                (["-q", "status = odd"], "query, column 10: expected a status"),
                                (["-q", "(kind = x"], "query, column 10: expected ')'"),
                                (["--status", "odd"], "there is no status 'odd'"),
                                (["--tag", "x"], "NAME=VALUE"),
                                (["--started-after", "soon"], "--started-after: 'soon' is no moment")):
            with self.subTest(arguments):
                for command in ("list", "count", "terminate"):
                    self.assertIn(text, self.told(USAGE, command, *arguments))

    # --- one run ---

    def test_describe(self):
        out = self.done("describe", "charging", "--utc")
        self.assertRegex(out, r"(?m)^run +charging$")
        self.assertRegex(out, r"(?m)^status +waiting for task charge$")
        self.assertRegex(out, r"(?m)^tags +sort=charges$")
        self.assertRegex(out, r"(?m)^charge +payments +ready +0")
        self.assert_plain(out)
        parent = self.json("describe", "parent")
        self.assertEqual([each["id"] for each in parent["children"]], ["the-child"])
        self.assertEqual(self.json("describe", "the-child")["parent"], {"id": "parent", "number": 1})
        self.assertIn("the-child", self.done("describe", "parent"))
        self.assertEqual(self.json("describe", "noting")["state"], {"step": 2})
        self.assertEqual(self.json("describe", "undoing")["compensations"][0]["state"], "open")
        self.assertEqual(self.json("describe", "failed")["outcome"]["message"], "no lamps")
        self.assertEqual(self.json("describe", "order-1")["outcome"], None)
        retrying = self.json("describe", "retrying")["tasks"][0]
        self.assertEqual((retrying["attempt"], retrying["lastError"]["message"]), (1, "no answer"))

    def test_state(self):
        self.assertEqual(self.json("state", "noting")["state"], {"step": 2})
        self.assertEqual(self.json("state", "noting", "--at", "1")["state"], {"step": 1})
        self.assertEqual(self.json("state", "noting", "--at", "2")["state"], {"step": 1, "who": "me"})
        self.assertEqual(self.done("state", "noting", "--key", "step", "--at", "3"), "2\n")
        self.assertRegex(self.done("state", "noting"), r"^key +value\nstep +2\n$")
        self.assertEqual(self.done("state", "order-1"), "")
        self.assertIn("has no 'who'", self.told(NOT_FOUND, "state", "noting", "--key", "who"))

    def test_why(self):
        for run_id, code, what, advice in (
            ("waiting", "signal", "waits for the signal 'go'", "pawl signal waiting go JSON"),
            ("promising", "promise", "waits for the promise 'receipt'", "pawl resolve promising receipt JSON"),
            ("sleeping", "timer", "which fires in 2 h 59 min", ""),
            ("charging", "task", "waits for the task 'charge' on the queue 'payments'", ""),
            ("retrying", "task", "attempt 2 of 5 in ", "pawl retry retrying"),
            ("parent", "child", "waits for its child 'the-child'", "pawl why the-child"),
            ("undoing", "compensating", "attempt 1 failed: std::runtime_error: the bank is closed", "pawl retry undoing"),
            ("failed", "ended", "has ended: failed, std::runtime_error: no lamps", "pawl history failed"),
            ("unserved", "unclaimed", "waits for somebody to take it", ""),
        ):
            with self.subTest(run_id):
                finding = self.json("why", run_id)["findings"][0]
                self.assertEqual(finding["code"], code)
                self.assertIn(what, finding["what"])
                self.assertIn(advice, finding["advice"])
                out = self.done("why", run_id)
                self.assertTrue(out.startswith(f"{run_id} ("), out)
                self.assertIn(what, out)
                self.assert_plain(out)
        finding = self.json("why", "charging")["findings"][0]
        self.assertEqual((finding["who"], finding["advice"]),
                         ("no live worker has the activity 'charge' on the queue 'payments'", "start one that has it"))
        finding = self.json("why", "unserved")["findings"][0]
        self.assertEqual((finding["who"], finding["advice"]),
                         ("no live worker has the kind 'nobody-has-it'", "start a program that has it"))
        self.assertEqual(len(self.json("why", "waiting")["findings"]), 1, "there is somebody who has its kind")

    def test_names_of_runs(self):
        self.assertEqual(self.json("describe", "order-1")["id"], "order-1", "an id that others begin with")
        self.assertEqual(self.json("describe", "order-10")["id"], "order-10")
        self.assertEqual(self.json("describe", "wait")["id"], "waiting", "a unique beginning")
        self.assertEqual(self.json("state", "not")["id"], "noting")
        err = self.told(USAGE, "describe", "order-")
        self.assertIn("'order-' is the beginning of several ids: order-1, order-10", err)
        self.assertIn("did you mean 'waiting'?", self.told(NOT_FOUND, "describe", "waitnig"))
        self.assertIn("did you mean 'order-1'", self.told(NOT_FOUND, "describe", "order-2"))
        self.assertIn("did you mean 'waiting'?", self.told(NOT_FOUND, "describe", "Waiting"))
        self.assertIn("the newest one has the number 1", self.told(NOT_FOUND, "describe", "order-1", "--number", "2"))
        self.assertEqual(self.told(NOT_FOUND, "describe", "quite-another"), "pawl: there is no run 'quite-another'\n")
        # What changes something wants the whole id.
        self.assertIn("there is no run 'wait'", self.told(NOT_FOUND, "signal", "wait", "go"))
        self.assertIn("there is no run 'wait'", self.told(NOT_FOUND, "terminate", "wait"))
        self.assertEqual(self.json("describe", "waiting")["status"], "waiting")

    # --- the store ---

    def test_tasks(self):
        for arguments, want in (([], {"charging", "retrying"}), (["--queue", "payments"], {"charging"}),
                                (["--type", "flaky"], {"retrying"}), (["--state", "delayed"], {"retrying"}),
                                (["--state", "running"], set())):
            with self.subTest(arguments):
                self.assertEqual({each["run"] for each in self.json("tasks", *arguments)["tasks"]}, want)
        self.assertTrue(self.json("tasks", "--limit", "1")["hasMore"])
        self.assertRegex(self.done("tasks", "--queue", "payments"), r"(?m)^charging +charge +payments +ready +0 ")
        self.assertEqual(len(self.done("tasks", "-o", "jsonl").splitlines()), 2)

    def test_stats(self):
        stats = self.json("stats")
        counts = {(each["kind"], each["status"]): each["count"] for each in stats["runs"]}
        self.assertEqual(counts["echoes", "completed"], 2)
        self.assertEqual(sum(counts.values()), self.count)
        self.assertEqual({each["queue"] for each in stats["tasks"]}, {"payments", "default"})
        self.assertEqual((stats["liveWorkers"], stats["paused"]), (1, 0))
        self.assertGreater(stats["bytes"], 4096)
        self.assertEqual(stats["needWorker"], {"runs": [{"kind": "nobody-has-it", "count": 1}],
                                               "tasks": [{"queue": "payments", "type": "charge", "count": 1}]})
        out = self.done("stats")
        self.assertRegex(out, r"(?m)^echoes +completed +2$")
        self.assertRegex(out, r"(?m)^size +\d+\.\d [KM]iB$")

    def test_workers(self):
        workers = self.json("workers")["workers"]
        self.assertEqual([each["name"] for each in workers], ["the-host"])
        self.assertTrue(workers[0]["isLive"])
        self.assertIn("waits", workers[0]["kinds"])
        self.assertEqual((workers[0]["activities"], workers[0]["queues"]), (["flaky", "undo"], ["default"]))
        self.assertRegex(self.done("workers"), r"(?m)^the-host +live")
        self.assertEqual(json.loads(self.done("workers", "-o", "jsonl")), {**workers[0], "expiresAt": unittest.mock.ANY})

    # --- output ---

    def test_colours(self):
        self.assertNotIn("\x1b", self.done("list"))
        self.assertIn("\x1b[32mcompleted\x1b[0m", self.done("list", "--color", "always"))
        self.assertIn("\x1b[32m", self.on_terminal("list"))
        self.assertNotIn("\x1b", self.on_terminal("list", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_terminal("list", "--color", "never"))
        self.assertNotIn("\x1b", self.on_terminal("list", TERM="dumb"))

    def test_tables_fit_the_terminal(self):
        for columns in (40, 60, 80):
            lines = self.on_terminal("list", "--color=never", columns=columns).splitlines()
            self.assertEqual(len(lines), self.count + 1)
            self.assertLessEqual(max(map(len, lines)), max(columns, 5 * 8 + 8))
            self.assertIn("…", "".join(lines))

    def on_terminal(self, *arguments, columns=120, **env):
        code, out = on_terminal([PAWL, *arguments], columns, plain_environment(**{"PAWL_STORE": self.store,
                                                                                  "TERM": "xterm", **env}))
        self.assertEqual(code, OK)
        return out

    def test_closed_output(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in (["list"], ["describe", "waiting"], ["--help"], ["man"], ["stats", "-o", "json"]):
                code, _, err = self.pawl(*arguments, stdout=full)
                self.assertEqual((code, err), (FAILURE, "pawl: standard output: No space left on device\n"), arguments)
        process = subprocess.Popen([PAWL, "list", "--all", "-o", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=plain_environment(PAWL_STORE=self.store))
        process.stdout.close()
        self.assertEqual(process.wait(timeout=30), FAILURE)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    # --- completion ---

    def complete_bash(self, line):
        """What bash offers for a line that the cursor is at the end of."""
        script = f"""
          PATH={pathlib.Path(PAWL).parent}:$PATH
          source <(pawl completion bash)
          COMP_LINE={quoted(line)}
          COMP_POINT=${{#COMP_LINE}}
          COMP_WORDS=({" ".join(quoted(word) for word in split_like_bash(line))})
          COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
          _pawl
          printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=False,
                              env=plain_environment(PAWL_STORE=self.store))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split("\n")) - {""}

    def test_bash(self):
        self.assertEqual(self.complete_bash("pawl st"), {"start", "state", "stats"})
        self.assertEqual(self.complete_bash("pawl describe order-"), {"order-1", "order-10"})
        self.assertEqual(self.complete_bash("pawl terminate waiting wa"), {"waiting"})
        self.assertEqual(self.complete_bash("pawl list --sta"), {"--status", "--started-after", "--started-before"})
        self.assertEqual(self.complete_bash("pawl list -o "), {"table", "json", "jsonl"})
        self.assertEqual(self.complete_bash("pawl list --output=js"), {"json", "jsonl"})
        self.assertEqual(self.complete_bash("pawl list --kind e"), {"echoes"})
        self.assertEqual(self.complete_bash("pawl start --id x f"), {"fails"})
        self.assertEqual(self.complete_bash(f"pawl describe --store={self.store} order-1"), {"order-1", "order-10"})
        self.assertEqual(self.complete_bash("pawl describe --store sqlite:/no/such/file order-"), set())
        self.assertEqual(self.complete_bash("pawl resolve prom"), {"promising"})
        self.assertEqual(self.complete_bash("pawl resolve promising "), set())
        self.assertEqual(self.complete_bash("pawl no-such-command x"), set())
        self.assertIn("--help", self.complete_bash("pawl --"))
        self.assertIn("list", self.complete_bash("pawl "))

    def test_other_shells(self):
        for shell, check in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
            script = self.done("completion", shell)
            self.assertIn("__complete", script)
            if shutil.which(shell):
                with self.subTest(shell):
                    file = self.root / f"completion.{shell}"
                    file.write_text(script, encoding="utf-8")
                    subprocess.run([shell, *check, file], check=True)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def split_like_bash(line):
    """At blanks, and around colons and equals signs."""
    words = []
    for word in line.split(" "):
        words += [part for part in re.split(r"([=:])", word) if part] or [""]
    return words


def on_terminal(words, columns, env, answers=b""):
    """Runs with a terminal for everything; returns exit code and what it showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.execvpe(words[0], words, env)
        finally:
            os._exit(127)
    import fcntl
    import struct
    import termios
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    shown = b""
    if answers:
        os.write(terminal, answers)
    while True:
        if not select.select([terminal], [], [], 30)[0]:
            break
        try:
            part = os.read(terminal, 65536)
        except OSError:  # The other end is closed.
            break
        if not part:
            break
        shown += part
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8").replace("\r\n", "\n")


class Batches(Beside):
    def make(self, prefix, count):
        for i in range(count):
            self.done("start", "waits", "--id", f"{prefix}-{i}", "--tag", f"batch={prefix}")
        for i in range(count):
            self.await_status(f"{prefix}-{i}", "waiting")

    def left(self, prefix, status):
        return self.json("count", "--tag", f"batch={prefix}", "--status", status)["count"]

    def test_they_ask(self):
        self.make("asked", 3)
        err = self.told(USAGE, "terminate", "--tag", "batch=asked")
        self.assertIn("terminate 3 runs? Nobody can be asked here; say --yes", err)
        env = plain_environment(PAWL_STORE=self.store, TERM="xterm")
        code, shown = on_terminal([PAWL, "terminate", "--tag", "batch=asked"], 100, env, b"n\n")
        self.assertEqual(code, FAILURE)
        self.assertIn("terminate 3 runs? [y/N]", shown)
        self.assertIn("nothing was done", shown)
        self.assertEqual(self.left("asked", "open"), 3)
        code, shown = on_terminal([PAWL, "terminate", "--tag", "batch=asked"], 100, env, b"y\n")
        self.assertEqual(code, OK)
        self.assertIn("terminated 3", shown)
        self.assertEqual(self.left("asked", "failed"), 3)

    def test_cancel_pause_resume_delete(self):
        self.make("b", 4)
        self.start("waits", "bystander", "waiting")
        self.assertEqual(self.json("pause", "--tag", "batch=b", "--yes"), {"done": 4, "skipped": 0, "why": {}})
        self.assertEqual(self.left("b", "paused"), 4)
        self.assertTrue(self.json("describe", "b-1")["isPaused"])
        self.assertEqual(self.json("why", "b-1")["findings"][0]["code"], "paused")
        self.assertEqual(self.json("pause", "--tag", "batch=b", "--yes")["why"], {"paused before": 4})
        self.done("signal", "b-0", "go", "1")
        self.assertEqual(self.json("unpause", "--status", "paused", "--yes")["done"], 4)
        self.assertEqual(self.done("result", "b-0"), "1\n")
        self.assertEqual(self.done("unpause", "--all", "--yes").split(", ")[0], "unpaused 0")
        self.assertEqual(self.json("resume", "--all", "--yes")["done"], 0, "none is blocked")
        self.assertEqual(self.json("cancel", "-q", "tag.batch = b", "--yes")["done"], 3)
        for i in (1, 2, 3):
            self.await_status(f"b-{i}", "cancelled")
        self.assertEqual(self.done("delete", "--tag", "batch=b", "--yes"), "deleted 4\n")
        self.assertEqual(self.json("count", "--tag", "batch=b")["count"], 0)
        self.assertEqual(self.json("describe", "bystander")["status"], "waiting")
        code, out, _ = self.pawl("purge", "bystander")
        self.assertEqual((code, out), (FAILURE, "deleted 0, skipped 1 (open, e.g. bystander)\n"))

    def test_an_empty_value_does_not_widen_a_filter(self):
        self.start("echoes", "e-1", "completed", "--tag", "empty=1")
        for option in (["--ended-before", ""], ["--ended-before="], ["--started-after", " "], ["-q", ""], ["-q", " "],
                       ["--query="], ["--number", "3"]):
            with self.subTest(option):
                code, out, err = self.pawl("delete", "--tag", "empty=1", *option, "--yes")
                self.assertEqual((code, out), (USAGE, ""), err)
                self.assertEqual(self.json("describe", "e-1")["status"], "completed")
        for arguments in (["start", "echoes", "--id", ""], ["start", "waits", "--signal", ""], ["list", "--cursor", ""],
                          ["result", "e-1", "--timeout", ""], ["tasks", "--queue", ""], ["list", "--store", ""],
                          ["fork", "e-1", "--at", ""], ["export", "e-1", "-f", ""]):
            with self.subTest(arguments):
                code, out, err = self.pawl(*arguments)
                self.assertEqual((code, out), (USAGE, ""))
                self.assertIn("a value is wanted, not ''", err)

    def test_nothing_behind_an_equals_sign_is_nothing(self):
        for run_id in ("n-1", "n-2"):
            self.start("waits", run_id, "waiting")
        self.assertEqual(self.done("terminate", "--reason=", "n-1", "n-2"), "terminated 2\n")
        self.done("start", "nobody-has-it", "--id=--odd=")
        self.assertEqual(self.json("describe", "--", "--odd=")["id"], "--odd=")

    def test_what_is_too_much_or_too_little(self):
        self.assertIn("--all means every one", self.told(USAGE, "terminate"))
        self.assertIn("not both", self.told(USAGE, "terminate", "a", "--kind", "b"))
        self.assertEqual(self.done("terminate", "--kind", "none-such"), "terminated 0\n")

    def test_many(self):
        processes = []
        for i in range(40):
            processes.append(subprocess.Popen([PAWL, "start", "nobody", "--id", f"many-{i}"], stdout=subprocess.DEVNULL,
                                              env=plain_environment(PAWL_STORE=self.store)))
        self.assertEqual({process.wait(timeout=60) for process in processes}, {OK})
        self.assertEqual(self.json("terminate", "--kind", "nobody", "--yes")["done"], 40)
        self.assertEqual(self.json("delete", "--kind", "nobody", "--yes")["done"], 40)


class Hostile(Beside):
    MORE = ("x" * 10, "100000")  # An id, and how often it is repeated.
    IDS = ("[a,b]", "\x1d[x]", "list", "two words", "two\nlines \x1b[2J", "-leading", "--", "it's \"odd\"; $(id)", "梨 😀", "a:b=c", "%s%n",
           b"no \xff UTF-8".decode("utf-8", "surrogateescape"))

    def test_ids(self):
        for run_id in self.IDS:
            with self.subTest(run_id[:20]):
                self.done("start", "waits", f"--id={run_id}", "--tag", f"{run_id.replace('=', '')}=[1,2]")
                self.done("pause", "--", run_id)
                self.assert_plain(self.done("describe", "--", run_id))
                self.assert_plain(self.done("why", "--", run_id))
                shown = re.sub("[\udc80-\udcff]", "\N{REPLACEMENT CHARACTER}", run_id)
                described = self.json("describe", "--", run_id)
                self.assertEqual((described["id"], described["tags"]), (shown, {shown.replace("=", ""): "[1,2]"}))
                self.assertEqual(self.json("count", f"--tag={run_id.replace('=', '')}=[1,2]"), {"count": 1})
                self.done("unpause", "--", run_id)
                self.done("signal", "--", run_id, "go", "1")
                self.assertEqual(self.done("result", "--", run_id), "1\n")
        # Of a megabyte, which only a program can make.
        self.assertEqual(self.done("describe", "xxx").splitlines()[0], "run         " + "x" * 200 + "…")
        self.assertEqual(self.done("__complete", "--", "describe", "xxx"), "")
        self.assertIn("the beginning of several", self.told(USAGE, "describe", "t"))
        self.done("start", "waits", "--id", "xxy")
        self.assertLess(len(self.told(USAGE, "describe", "xx")), 600)
        self.assertIn("did you mean 'xxy'", self.told(NOT_FOUND, "describe", "xxz"))
        self.assert_plain(self.done("list"))
        self.assertLess(max(map(len, self.done("list").splitlines())), 1000)
        for line in self.done("list", "-o", "jsonl").splitlines():
            json.loads(line)
        self.assertNotIn("\x1b", self.done("__complete", "--", "describe", "two"))
        self.assertIn("two words", self.done("__complete", "--", "describe", "two"))

    def test_numbers_that_are_too_large(self):
        self.done("start", "nobody-has-it", "--id", "large", "-i", "[1e400, -1e400]")
        out = self.done("describe", "large", "-o", "json")
        self.assertEqual(json.loads(out)["input"], [float("inf"), float("-inf")])
        self.assertNotIn("i.f", out)
        self.assertEqual(json.loads(self.done("export", "large"))["input"], {"$text": "[1e400, -1e400]"})

    def test_ids_that_are_not_there(self):
        for run_id in ("", "' OR 1=1 --", "%x", "no\x1b[31m\nred", "y" * 100_000):
            with self.subTest(run_id[:20]):
                for command in ("describe", "why", "result", "state", "terminate", "history"):
                    err = self.told(NOT_FOUND, command, "--", run_id)
                    self.assertLess(len(err), 600)


class Stores(unittest.TestCase):
    LOOKING = (["list"], ["count"], ["describe", "x"], ["why", "x"], ["result", "x"], ["state", "x"], ["history", "x"],
               ["tasks"], ["stats"], ["workers"])
    CHANGING = (["start", "x"], ["signal", "x", "y"], ["resolve", "x", "y"], ["reject", "x", "y"], ["cancel", "x"],
                ["terminate", "x"], ["resume", "x"], ["pause", "x"], ["unpause", "x"], ["delete", "x"])

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def make(self, name="good.db"):
        path = self.root / name
        host = subprocess.Popen([HOST, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(host.stdout.readline(), "ready\n")
        host.communicate(timeout=30)
        return path

    def refused(self, store, message, commands=None, **more):
        for arguments in commands or (*self.LOOKING, *self.CHANGING):
            with self.subTest(arguments, store=store):
                code, out, err = run(*arguments, "--store", store, **more)
                self.assertEqual((code, out), (STORE, ""), err)
                self.assertIn(message, err)
                self.assertEqual(err.count("\n"), 1)

    def test_wrong_files(self):
        (self.root / "empty.db").write_text("")
        (self.root / "text.db").write_text("no database at all\n" * 100)
        with sqlite3.connect(self.root / "other.db") as database:
            database.execute("CREATE TABLE t(a)")
        good = self.make()
        before = {path.name: path.read_bytes() for path in self.root.iterdir()}
        self.refused(f"sqlite:{self.root}/none.db", "there is no file")
        self.refused(f"sqlite:{self.root}/empty.db", "is empty: no engine has used it yet")
        self.refused(f"sqlite:{self.root}/text.db", "is not an SQLite database")
        self.refused(f"sqlite:{self.root}/other.db", "is the database of another program")
        self.refused(f"sqlite:{self.root}", "is a directory")
        self.refused(f"sqlite:{good}?namespace=typo", "has no namespace 'typo'")
        self.assertEqual({path.name: path.read_bytes() for path in self.root.iterdir()}, before)
        code, _, err = run("list", "--store", "shop.db")
        self.assertEqual(code, USAGE)
        self.assertIn("the URL of a store begins with sqlite: or postgres://", err)

    def test_a_pipe_is_no_store(self):
        os.mkfifo(self.root / "pipe")
        self.refused(f"sqlite:{self.root}/pipe", "is no file; name the file of a database")

    def test_who_waits_for_a_result_only_looks(self):
        path = self.make()
        run("start", "waits", "--id", "open", "--store", f"sqlite:{path}")
        before = {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in self.root.iterdir()}
        watched = self.root.stat().st_mtime_ns
        code, _, err = run("result", "open", "--timeout", "1s", "--store", f"sqlite:{path}")
        self.assertEqual(code, FAILURE)
        self.assertIn("has not ended in time", err)
        self.assertEqual({each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in self.root.iterdir()}, before)
        self.assertEqual(self.root.stat().st_mtime_ns, watched, "files came and went")
        with subprocess.Popen([PAWL, "result", "open", "--timeout", "30s", "--store", f"sqlite:{path}"],
                              stdout=subprocess.PIPE, text=True, env=plain_environment()) as waiting:
            with subprocess.Popen([HOST, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
                self.assertEqual(host.stdout.readline(), "ready\n")
                run("signal", "open", "go", "7", "--store", f"sqlite:{path}")
                self.assertEqual(waiting.communicate(timeout=30)[0], "7\n")
                host.communicate(timeout=30)

    def test_the_store_is_found(self):
        self.make("pawl.db")
        self.assertEqual(run("count", cwd=self.root), (OK, "0\n", ""))
        self.assertEqual(run("count", PAWL_STORE=f"sqlite:{self.root}/pawl.db"), (OK, "0\n", ""))
        self.assertEqual(run("count", "--store", "sqlite:pawl.db", cwd=self.root, PAWL_STORE="sqlite:/no/such"),
                         (OK, "0\n", ""))
        code, _, err = run("count", cwd="/")
        self.assertEqual(code, STORE)
        self.assertIn("there is no file 'pawl.db'; name the store by --store or PAWL_STORE", err)

    def test_options_before_the_command(self):
        missing = self.root / "missing.db"
        for words in (["--store", f"sqlite:{missing}", "list"], [f"--store=sqlite:{missing}", "--utc", "-o", "json", "count"]):
            code, out, err = run(*words)
            self.assertEqual((code, out), (STORE, ""), words)
            self.assertIn("missing.db", err)
        self.assertEqual(run("--store")[0], USAGE)
        self.assertEqual(run("--unknown", "list")[0], USAGE)

    def test_a_newer_and_an_older_database(self):
        path = self.make()
        with sqlite3.connect(path) as database:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            database.execute("PRAGMA user_version = 99")
        self.refused(f"sqlite:{path}", "was written by a newer Pawl (schema 99")
        with sqlite3.connect(path) as database:
            database.execute(f"PRAGMA user_version = {version - 1}")
        self.refused(f"sqlite:{path}", "was written by an older Pawl", (["list"], ["terminate", "x"]))

    def test_a_locked_database(self):
        path = self.make()
        store = f"sqlite:{path}"
        self.assertEqual(run("start", "x", "--id", "x", "--store", store)[0], OK)
        holder = sqlite3.connect(path, isolation_level=None)
        try:
            holder.execute("BEGIN EXCLUSIVE")
            began = time.monotonic()
            self.refused(store + "?busy_timeout_ms=200", "locked by another process", (["signal", "x", "go"],))
            self.assertLess(time.monotonic() - began, 5)
            # Whoever only looks is not held up.
            self.assertEqual(run("count", "--store", store), (OK, "1\n", ""))
            holder.execute("ROLLBACK")
            self.assertEqual(run("signal", "x", "go", "--store", store)[0], OK)
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
            self.refused(store + "?busy_timeout_ms=200", "locked by another process", (["list"], ["cancel", "x"]))
        finally:
            holder.close()

    def test_without_a_program_beside_it(self):
        store = f"sqlite:{self.make()}"
        self.assertEqual(run("start", "waits", "--id", "a", "--store", store)[0], OK)
        code, out, _ = run("why", "a", "--store", store, "-o", "json")
        finding = json.loads(out)["findings"][0]
        self.assertEqual((code, finding["code"], finding["who"]), (OK, "unclaimed", "there is no live worker; one with the kind 'waits' is needed"))
        self.assertIn("running, no worker has its kind", run("list", "--store", store)[1])
        self.assertIn("no live worker has its kind", run("describe", "a", "--store", store)[1])
        self.assertRegex(run("stats", "--store", store)[1], r"(?m)^kind waits +1 runs$")
        self.assertEqual(run("terminate", "a", "--store", store)[1], "terminated 1\n")
        self.assertEqual(run("delete", "a", "--store", store)[1], "deleted 1\n")


class Help(unittest.TestCase):
    def commands(self):
        out = run("--help")[1]
        # "  cancel    Ask runs to end …", with aliases behind commas.
        return [name for line in re.findall(r"(?m)^  ([a-z]+(?:, [a-z]+)*) {2,}[A-Z]", out) for name in line.split(", ")]

    def options(self, command):
        code, out, err = run(command, "--help")
        self.assertEqual((code, err), (OK, ""))
        return out, set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", out))

    def test_examples_come_first(self):
        self.assertGreater(len(self.commands()), 20)
        for command in self.commands():
            with self.subTest(command):
                out, options = self.options(command)
                self.assertLess(out.index("\nExamples:\n"), out.index("\nOptions:\n"))
                self.assertIn("--help", options)
                self.assertLessEqual(max(map(len, out.splitlines())), 100)

    def test_all_of_it_is_documented(self):
        text = pathlib.Path(DOCS).read_text(encoding="utf-8")
        for command in self.commands():
            with self.subTest(command):
                self.assertTrue(re.search(rf"`(pawl )?{command}\b", text))
                for option in self.options(command)[1]:
                    self.assertTrue(re.search(rf"{option}\b", text), option)
        codes = re.findall(r"(?m)^  (\d)  ", run("--help")[1])
        self.assertEqual(codes, [str(code) for code in range(7)])
        for code in codes:
            self.assertRegex(text, rf"(?m)^\| {code} \|")

    def test_mistakes_are_told_with_a_hint(self):
        code, out, err = run("lst")
        self.assertEqual((code, out), (USAGE, ""))
        self.assertIn("there is no command 'lst'; did you mean 'list'?", err)
        code, _, err = run("list", "--no-such-option")
        self.assertEqual(code, USAGE)
        self.assertIn("See 'pawl list --help'", err)
        code, _, err = run("no\x1b[31m")
        self.assertNotIn("\x1b", err)

    def test_manual(self):
        code, out, err = run("man")
        self.assertEqual((code, err), (OK, ""))
        self.assertTrue(out.startswith(".TH PAWL 1 "))
        for command in self.commands():
            self.assertIn(f"pawl {command}", out)
        self.assertIn("\\-\\-started\\-after", out)
        for line in out.splitlines():
            self.assertRegex(line, r"^(\.(TH|SH|SS|TP|PP|B|I|nf|fi)\b.*|[^.'].*|)$")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=out, capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    import unittest.mock
    PAWL = os.path.abspath(sys.argv.pop(1))
    HOST = os.path.abspath(sys.argv.pop(1))
    DOCS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
