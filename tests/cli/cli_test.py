#!/usr/bin/env python3
"""Runs the `pawl` command as a user does: exit codes, the last line, usage, and what is refused.

Usage: cli_test.py PATH_TO_PAWL PATH_TO_CLI_RUNS
"""

import base64
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PAWL = None
RUNS = None

GOOD = {"name": "good", "program": [{"return": 1}], "expect": {"outcome": "completed", "result": 1}}
BAD = {"name": "bad", "program": [{"return": 1}], "expect": {"outcome": "failed"}}


def pawl(*arguments, stdout=subprocess.PIPE, cwd=None):
    """Runs pawl; returns exit code, standard output and standard error."""
    words = [PAWL, *(str(argument).encode("utf-8", "surrogateescape") for argument in arguments)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=stdout, cwd=cwd,
                          stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


class Help(unittest.TestCase):
    def test_help_names_the_subcommands_and_exit_codes(self):
        for flag in ("--help", "-h"):
            code, out, err = pawl(flag)
            self.assertEqual(code, 0)
            for command in ("conform", "history", "bench"):
                self.assertIn(command, out)
            self.assertIn("Exit codes", out)
            self.assertEqual(err, "")

    def test_help_of_a_subcommand_shows_its_options(self):
        code, out, _ = pawl("conform", "--help")
        self.assertEqual(code, 0)
        self.assertIn("--print", out)
        self.assertIn("pawl conform conformance/", out)

        code, out, _ = pawl("history", "--help")
        self.assertEqual(code, 0)
        for text in ("--store URL", "--number N", "-o,--output", "{text,json,jsonl}", "--follow", "--tail", "--full",
                     "--source", "--forgotten", "--utc", "--color", "pawl history order-17"):
            self.assertIn(text, out)

        code, out, _ = pawl("bench", "--help")
        self.assertEqual(code, 0)
        for text in ("--workload", "--concurrency N", "--runs N", "--steps N", "--store URL", "{table,jsonl}", "--quick",
                     "w1  2,000 runs of 10 steps", "1,000,000", "--runs 1000000", "steps_s", "ratio"):
            self.assertIn(text, out)
        self.assertLessEqual(max(map(len, out.splitlines()[-30:])), 100)

    def test_version(self):
        code, out, _ = pawl("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^pawl \d+\.\d+\.\d+\n$")


class Usage(unittest.TestCase):
    def test_mistakes_are_exit_code_2_with_a_message_and_no_output(self):
        for arguments in ([], ["conform"], ["no-such-command"], ["conform", "--no-such-flag", "x.json"], ["--x"],
                          ["history"], ["history", "--store", "sqlite:x.db"],
                          ["history", "x", "--store", "sqlite:x.db", "-o", "xml"],
                          ["history", "x", "y", "--store", "sqlite:x.db"],
                          ["history", "x", "--store", "sqlite:x.db", "--number", "0"],
                          ["history", "x", "--store", "sqlite:x.db", "--number", "99999999999"],
                          ["bench", "x"], ["bench", "-o", "json"], ["bench", "--workload"]):
            with self.subTest(arguments):
                code, out, err = pawl(*arguments)
                self.assertEqual(code, 2)
                self.assertEqual(out, "")
                self.assertNotEqual(err.strip(), "")


class Conform(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, content):
        path = self.root / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def conform(self, *arguments):
        """Runs pawl conform; returns exit code and lines, having checked the last one."""
        code, out, err = pawl("conform", *arguments)
        lines = out.splitlines()
        self.assertTrue(out.endswith("\n"))
        passed = sum(line.startswith("ok ") for line in lines)
        failed = sum(line.startswith("FAIL ") for line in lines)
        self.assertEqual(lines[-1], f"{passed} passed, {failed} failed")
        self.assertEqual(code, 1 if failed else 0)
        self.assertEqual(err, "")
        return code, lines

    def test_success(self):
        code, lines = self.conform(self.write("good.json", GOOD))
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["ok good", "1 passed, 0 failed"])

    def test_one_failure_is_a_failure(self):
        code, lines = self.conform(self.write("both.json", [GOOD, BAD, GOOD]))
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], "ok good")
        self.assertTrue(lines[1].startswith("FAIL bad: outcome: "))
        self.assertEqual(lines[3], "2 passed, 1 failed")

    def test_files_and_directories_together(self):
        (self.root / "below").mkdir()
        self.write("below/a.json", GOOD)
        self.write("below/b.json", GOOD)
        code, lines = self.conform(self.root / "below", self.write("c.json", GOOD))
        self.assertEqual((code, lines[-1]), (0, "3 passed, 0 failed"))

    def test_what_cannot_be_a_scenario_file(self):
        (self.root / "empty").mkdir()
        for path in (self.root / "missing.json", self.root / "empty", "/dev/null", self.write("empty.json", ""),
                     self.write("noise.json", "{"), self.write("list.json", "[]"), self.write("number.json", "7")):
            with self.subTest(path):
                code, lines = self.conform(path)
                self.assertEqual(code, 1)
                self.assertEqual(len(lines), 2)
                self.assertIn(str(path), lines[0])

    def test_print_shows_json_that_can_be_expected(self):
        scenario = {"name": "n", "program": [{"task": "A", "as": "x"}, {"await": "x"}]}
        code, out, _ = pawl("conform", "--print", self.write("n.json", scenario))
        lines = out.splitlines()
        self.assertEqual(code, 0)
        self.assertEqual((lines[0], lines[2]), ("ok n", "1 passed, 0 failed"))
        scenario["expect"] = json.loads(lines[1])
        self.assertEqual(scenario["expect"]["outcome"], "suspended")
        self.assertEqual(self.conform(self.write("m.json", scenario))[0], 0)

    def test_names_in_other_languages_come_out_as_they_are(self):
        scenario = dict(GOOD, name="Äpfel und 梨")
        path = self.root / "utf8.json"
        path.write_text(json.dumps(scenario, ensure_ascii=False), encoding="utf-8")
        self.assertEqual(self.conform(path)[1][0], "ok Äpfel und 梨")

    def test_a_program_that_would_run_for_ever_is_stopped(self):
        body = [{"now": True, "as": "t"}] * 2000
        path = self.write("long.json", {"name": "long", "program": [{"loop": body, "times": 1000000}],
                                        "expect": {"outcome": "completed"}})
        code, lines = self.conform(path)
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], r"^FAIL long: .*long\.json: program\[0\]\.loop.*: the program runs for more than "
                                   r"\d+ steps$")

    def test_output_that_cannot_be_written_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            code, _, _ = pawl("conform", self.write("good.json", GOOD), stdout=full)
        self.assertEqual(code, 1)


class Directory(unittest.TestCase):
    """A directory to work in."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def names(self):
        return sorted(path.name for path in self.root.iterdir())


SMALL = ("--runs", "8", "--steps", "6", "--concurrency", "4")


class Bench(Directory):
    def bench(self, *arguments):
        return pawl("bench", *arguments, cwd=self.root)

    def results(self, *arguments):
        """Runs it with -o jsonl, and checks what every result has."""
        code, out, err = self.bench(*arguments, "-o", "jsonl")
        self.assertEqual(err, "")
        self.assertIn(code, (0, 1))
        results = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(code, 0 if all(result.get("met", True) for result in results) else 1)
        for result in results:
            with self.subTest(result):
                self.assertRegex(result["workload"], r"^w[1-8]$")
                self.assertIsInstance(result["variant"], str)
                self.assertNotEqual(result["variant"], "")
                self.assertEqual(("steps_s" in result) + ("secs" in result), 1, "one figure, whose unit raw has")
                figure = result.get("steps_s", result.get("secs"))
                for value in (figure, result["p50_ms"], result["p99_ms"], result["raw"], result["ratio"]):
                    self.assertIsInstance(value, (int, float))
                    self.assertNotIsInstance(value, bool)
                    self.assertGreater(value, 0)
                self.assertLessEqual(result["p50_ms"], result["p99_ms"])
                self.assertAlmostEqual(result["ratio"], figure / result["raw"], delta=0.002 * result["ratio"])
                for name, value in result.items():
                    if name not in ("workload", "variant", "bar"):
                        self.assertIsInstance(value, (int, float))
        return results

    def test_every_workload_gives_its_results_and_leaves_nothing(self):
        results = self.results("--workload", "w1,w2,w3,w5,w6,w7,w8", *SMALL)
        self.assertEqual([result["workload"] for result in results], ["w1", "w2", "w2", "w3", "w5", "w6", "w7", "w7", "w8"])
        self.assertEqual(results[0]["variant"], "concurrency=4")
        self.assertEqual(results[1]["variant"], "steps=6")
        self.assertIn("first_500_ms", results[1])
        self.assertIn("last_500_ms", results[1])
        self.assertEqual(results[2]["variant"], "recovery of 3 steps")
        self.assertEqual(results[2]["recorded"], 3)
        self.assertEqual(results[2]["doubled"], 0)
        self.assertEqual(results[3]["variant"], "parallel=6")
        self.assertEqual(results[5]["lost"], 0)
        self.assertEqual(results[5]["doubled"], 0)
        self.assertEqual(results[6]["variant"], "processes=4, 4 each")
        self.assertEqual(results[7]["variant"], "processes=4, 4 in all")
        self.assertEqual(results[8]["variant"], "open=8")
        self.assertEqual(self.names(), [])

    def test_claims_go_on_to_as_many_runs_as_are_asked_for(self):
        results = self.results("--workload", "w8", "--runs", "10000", "--store",
                               f"sqlite:{self.root}/x.db?durability=process")
        self.assertEqual([result["variant"] for result in results], ["open=1000", "open=10000"])

    def test_sleepers(self):
        result, = self.results("--workload", "w4", "--runs", "50")
        self.assertEqual(result["variant"], "sleepers=50")
        self.assertGreaterEqual(result["secs"], 5)
        self.assertGreaterEqual(result["raw"], 5)
        self.assertEqual(result["asleep_at_once"], 50)
        self.assertGreater(result["bytes_per_sleeper"], 0)
        self.assertLess(result["idle_cpu_percent"], 50)

    def test_without_a_level_there_is_one_result_for_each(self):
        results = self.results("--workload", "w1", "--runs", "3", "--steps", "3")
        self.assertEqual([result["variant"] for result in results],
                         ["concurrency=1", "concurrency=16", "concurrency=128"])

    def test_a_long_run_is_not_too_much(self):
        result, again = self.results("--workload", "w2", "--steps", "100000", "--store",
                                     f"sqlite:{self.root}/x.db?durability=process")
        self.assertEqual(result["variant"], "steps=100000")
        self.assertEqual((again["recorded"], again["doubled"]), (50_000, 0))

    def test_the_table_has_the_same_results_for_people(self):
        code, out, err = self.bench("--workload", "W3, w1", *SMALL)
        self.assertIn(code, (0, 1))
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), ["variant", "steps/s", "secs", "p50", "ms", "p99", "ms", "raw", "ratio"])
        self.assertRegex(lines[1], r"^w1 +concurrency=4( +[0-9.-]+){6}")
        self.assertTrue(any(line.startswith("w3   parallel=6") for line in lines))
        self.assertNotIn("\x1b", out)

    def test_mistakes_are_told_before_anything_is_done(self):
        for arguments, message in (
            (["--workload", "w9"], "w9 counts what a server is asked: --store postgres://… has to name one"),
            (["--workload", "w10"], "there is no workload 'w10'; there are w1 to w9"),
            (["--workload", ""], "there is no workload ''"),
            (["--workload", "w1,,w2"], "there is no workload ''"),
            (["--runs", "0"], "a whole number from 1 to"),
            (["--runs", "-1"], "a whole number from 1 to"),
            (["--runs", "abc"], "a whole number from 1 to"),
            (["--runs", "1e3"], "a whole number from 1 to"),
            (["--runs", ""], "a whole number from 1 to"),
            (["--steps", "99999999999999999999"], "a whole number from 1 to"),
            (["--concurrency", "1.5"], "a whole number from 1 to"),
            (["--runs", "10000000", "--steps", "10000000"], "that is too much"),
            (["--store", "nonsense"], "the URL of a store begins with sqlite: or postgres://"),
            (["--store", "sqlite:"], "the path is empty"),
            (["--store", "sqlite:x.db?durability=maybe"], "durability is 'power' or 'process'"),
            (["--store", "sqlite:x.db?colour=red"], "unknown parameter 'colour'"),
            (["--store", "sqlite:100%.db"], "two hexadecimal digits"),
        ):
            with self.subTest(arguments):
                code, out, err = self.bench(*arguments)
                self.assertEqual(code, 2)
                self.assertEqual(out, "")
                self.assertIn(message, err)
                self.assertLess(len(err), 400)
        self.assertEqual(self.names(), [])

    def test_a_place_where_nothing_can_be_made_is_a_failure(self):
        for url in ("sqlite:no/such/directory/x.db", "sqlite:/proc/x.db", "sqlite:x.db/y.db"):
            with self.subTest(url):
                code, out, err = self.bench("--workload", "w3", *SMALL, "--store", url)
                self.assertEqual(code, 1)
                self.assertEqual(out, "")
                self.assertIn("cannot make the directory", err)
        self.assertEqual(self.names(), [])

    def test_what_is_there_is_left_alone(self):
        theirs = self.root / "shop.db"
        with sqlite3.connect(theirs) as database:
            database.execute("CREATE TABLE t(a)")
        # Names that a bench could come up with, for files of any kind.
        others = [self.root / name for name in ("new.db.1", "new.db-wal", "new.db.1-wal", "new.db.raw", "new.db.steps",
                                                "bench-1.db", "text.db", "empty.db")]
        for other in others:
            other.write_text("precious")
        others[-1].write_text("")
        (self.root / "link.db").symlink_to("nowhere")
        before = {path.name: path.read_bytes() for path in [theirs, *others]}
        for name in ("shop.db", "text.db", "empty.db", "link.db", "."):
            code, out, err = self.bench("--workload", "w1,w6", *SMALL, "--store", f"sqlite:{name}")
            self.assertEqual(code, 2)
            self.assertEqual(out, "")
            self.assertIn("is there already and is left alone", err)
        self.results("--workload", "w1,w6", *SMALL, "--store", "sqlite:new.db")
        self.assertEqual({path.name: path.read_bytes() for path in [theirs, *others]}, before)
        self.assertEqual(self.names(), sorted([*before, "link.db"]))

    def test_the_store_may_have_parameters_and_an_odd_name(self):
        odd = self.root / "a b? %41 ü"
        odd.mkdir()
        result, again = self.results(
            "--workload", "w2", *SMALL, "--store", f"sqlite:{self.root}/a b%3F %2541 ü/x.db?durability=process&namespace=shop")
        self.assertEqual(result["variant"], "steps=6")
        self.assertEqual(again["doubled"], 0)
        self.assertEqual(list(odd.iterdir()), [])
        code, _, err = pawl("bench", "--workload", "w6", *SMALL, cwd=odd)
        self.assertEqual((code, err), (0, ""))

    def test_a_full_disk_ends_it(self):
        code, out, err = self.limited("trap '' XFSZ; ulimit -f 400; exec \"$@\"", "--workload", "w1", "--runs", "20000", "-o", "jsonl")
        self.assertEqual(code, 1, err)
        self.assertEqual(out, "")
        self.assertRegex(err, r"^pawl bench: .*\n$")
        self.assertEqual(self.names(), [])

    def limited(self, script, *arguments):
        done = subprocess.run(["bash", "-c", script, "bash", PAWL, "bench", *arguments], cwd=self.root, text=True,
                              capture_output=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_a_reader_that_goes_away_ends_it(self):
        code, _, err = self.limited("\"$@\" | head -1 >/dev/null; exit ${PIPESTATUS[0]}", "--workload", "w1", "--runs", "200",
                                    "--steps", "2")
        self.assertIn(code, (0, 1))  # 0: it was quicker than the reader.
        self.assertIn(err, ("", "pawl bench: the result cannot be written\n"))
        self.assertEqual(self.names(), [])
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w", encoding="utf-8") as full:
                code, _, err = pawl("bench", "--workload", "w1", *SMALL, stdout=full, cwd=self.root)
            self.assertEqual((code, err), (1, "pawl bench: the result cannot be written\n"))

    def interrupt(self, number, *arguments):
        """Sends a signal in the middle of the work; returns the exit code and the outputs."""
        process = subprocess.Popen([PAWL, "bench", *arguments], cwd=self.root, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 30
        while not any(self.root.rglob("*-wal")) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def test_an_interrupt_ends_it_at_once_and_cleans_up(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            code, out, err = self.interrupt(number, "--workload", "w1", "--runs", "1000000", "-o", "jsonl")
            self.assertEqual(code, 128 + number)
            self.assertEqual(out, "")
            self.assertIn("interrupted; its files are removed", err)
            self.assertEqual(self.names(), [])

    def test_an_interrupt_ends_the_second_process_too(self):
        code, _, err = self.interrupt(signal.SIGINT, "--workload", "w6", "--runs", "1000000", "--steps", "100")
        self.assertEqual(code, 130)
        self.assertIn("interrupted", err)
        self.assertEqual(len(self.children), 1)
        self.assert_gone(self.children)
        self.assertEqual(self.names(), [])

    def test_a_kill_ends_the_second_process_too(self):
        code, _, _ = self.interrupt(signal.SIGKILL, "--workload", "w6", "--runs", "1000000", "--steps", "100")
        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(len(self.children), 1)
        self.assert_gone(self.children)

    def assert_gone(self, pids):
        for pid in pids:
            deadline = time.monotonic() + 10
            status = pathlib.Path(f"/proc/{pid}/status")
            while time.monotonic() < deadline:
                try:
                    if "\nState:\tZ" in status.read_text():
                        break
                except (FileNotFoundError, ProcessLookupError):
                    break
                time.sleep(0.01)
            else:
                self.fail(f"process {pid} is still there")

    def test_a_terminal_sees_how_far_it_is(self):
        main, other = pty.openpty()
        process = subprocess.Popen([PAWL, "bench", "--workload", "w4", "--runs", "30", "-o", "jsonl"], cwd=self.root,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=other, text=True)
        os.close(other)
        shown = b""
        while True:
            select.select([main], [], [], 30)
            try:
                part = os.read(main, 4096)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            shown += part
        out, _ = process.communicate(timeout=30)
        os.close(main)
        self.assertEqual(json.loads(out)["workload"], "w4")
        self.assertIn(b"w4: 30 runs that sleep 5 s", shown)
        self.assertIn(b"30 started, 0 done", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the line is cleared at the end")


class History(unittest.TestCase):
    """Of a database that an engine is working on."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.directory.name) / "runs.db"
        cls.host = subprocess.Popen([RUNS, cls.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if cls.host.stdout.readline() != "ready\n":
            raise RuntimeError("the runs could not be made")

    @classmethod
    def tearDownClass(cls):
        cls.host.communicate(timeout=30)
        cls.directory.cleanup()

    def history(self, run, *arguments, store=None):
        return pawl("history", f"--store={store or 'sqlite:' + str(self.path)}", *arguments, "--", run)

    def shown(self, run, *arguments):
        code, out, err = self.history(run, *arguments)
        self.assertEqual((code, err), (0, ""))
        return out

    def test_each_status_is_told(self):
        for run, first in (
            ("completed", r"completed: completes, completed after .*"),
            ("failed", r"failed: fails, failed after .*"),
            ("waiting", r"waiting: waits, waiting for signal go, for .*"),
            ("cancelled", r"cancelled: waits, cancelled after .*"),
            ("compensating", r"compensating: compensates, compensating, waiting for compensation undo, for .*"),
            ("running", r"running: runs, running, for .*"),
            ("blocked", r"blocked: changes, blocked, for .*"),
            ("recurring", r"recurring: recurs, completed after .*"),
        ):
            with self.subTest(run):
                out = self.shown(run)
                self.assertRegex(out.splitlines()[0], f"^{first}$")
                self.assertRegex(out.splitlines()[1], r"^run [0-9a-f-]{36}(, number 3 of this id)?$")
                self.assertRegex(out.splitlines()[2], r"^started \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} .+$")
                self.assertRegex(out, r"\ninput \d\d?\n")
                self.assert_plain(out)
                result = json.loads(self.shown(run, "-o", "json"))
                self.assertEqual(result["id"], run)
                self.assertEqual(result["status"], "completed" if run == "recurring" else run)
                for name in ("log", "inbox", "tasks", "compensations"):
                    self.assertIsInstance(result[name], list)
                self.assertIsInstance(result["startedAt"], int)

    def test_details(self):
        self.assertIn("{1} Operation(0) double:1 = 42", self.shown("completed"))
        self.assertIn("failed: std::runtime_error: no\\x1b[31m lamps\\n", self.shown("failed"))
        self.assertRegex(self.shown("compensating"),
                         r"to be run, attempt 2 in .*, after std::runtime_error: the bank is closed")
        self.assertIn("cancel request: not needed", self.shown("cancelled"))
        blocked = self.shown("blocked")
        self.assertIn("PAWL-1002", blocked)
        self.assertIn("what to do", blocked)
        compensation = json.loads(self.shown("compensating", "-o", "json"))["compensations"][0]
        self.assertEqual({key: compensation[key] for key in ("name", "state", "attempts")},
                         {"name": "undo", "state": "open", "attempts": 1})
        self.assertIn("PAWL-1002", json.loads(self.shown("blocked", "-o", "json"))["reason"])

    def test_numbers_of_one_id(self):
        self.assertIn("recurred with 2", self.shown("recurring", "--number", "1"))
        self.assertIn("number 3 of this id", self.shown("recurring"))
        code, out, err = self.history("recurring", "--number", "9")
        self.assertEqual((code, out, err), (4, "", "pawl: there is no run 'recurring' with the number 9; the newest one has "
                                                   "the number 3\n"))

    def test_hostile_ids(self):
        for run, text in (("it's \"odd\"; --", "it's \"odd\"; --"), ("two\nlines \x1b[2J", "two\\nlines \\x1b[2J"),
                          ("梨 %00 ?", "梨 %00 ?"), ("-o", "-o"), ("x" * 2000, "x" * 100 + "…"),
                          (b"no \xff UTF-8".decode("utf-8", "surrogateescape"), "no \\xff UTF-8")):
            with self.subTest(run[:20]):
                out = self.shown(run)
                self.assertTrue(out.startswith(text + ": completes, completed"), out[:200])
                self.assert_plain(out)
                raw = run.encode("utf-8", "surrogateescape")
                is_utf8 = not re.search("[\udc80-\udcff]", run)
                self.assertEqual(json.loads(self.shown(run, "-o", "json"))["id"],
                                 run if is_utf8 else {"$bytes": base64.b64encode(raw).decode()})

    def test_ids_that_are_not_there(self):
        for run in ("nothing", "", "' OR 1=1 --", "%", "no\x1b[31m\nred", "y" * 100_000, "completed ", "COMPLETED"):
            with self.subTest(run[:20]):
                code, out, err = self.history(run)
                self.assertEqual((code, out), (4, ""))
                self.assertTrue(err.startswith("pawl: there is no run '"))
                self.assertLess(len(err), 600)
                self.assert_plain(err)

    def assert_plain(self, text):
        self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text))

    def test_it_only_looks(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "empty.db").write_text("")
            (root / "text.db").write_text("no database at all\n" * 100)
            with sqlite3.connect(root / "other.db") as database:
                database.execute("CREATE TABLE t(a)")
            before = {path.name: path.read_bytes() for path in root.iterdir()}
            for store, message in ((f"sqlite:{root}/empty.db", "is empty: no engine has used it yet"),
                                   (f"sqlite:{root}/text.db", "is not an SQLite database"),
                                   (f"sqlite:{root}/other.db", "is the database of another program"),
                                   (f"sqlite:{root}/none.db", "there is no file"),
                                   (f"sqlite:{root}", "is a directory"),
                                   (f"sqlite:{root}/text.db/x.db", "there is no file"),
                                   (f"sqlite:{self.path}?namespace=typo", "has no namespace 'typo'"),
                                   ("x.db", "the URL of a store begins with sqlite: or postgres://")):
                with self.subTest(store):
                    code, out, err = self.history("x", store=store)
                    self.assertEqual((code, out), (2 if store == "x.db" else 6, ""))
                    self.assertIn(message, err)
            self.assertEqual({path.name: path.read_bytes() for path in root.iterdir()}, before)
        code, out, err = self.history("completed", store=f"sqlite:{self.path}?namespace=typo")
        self.assertEqual((code, out), (6, ""))

    def test_it_needs_no_right_to_write(self):
        # Modes say nothing to root, who looks as somebody else; in a directory that nobody else has to enter.
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            shutil.copy(PAWL, root / "pawl")
            with sqlite3.connect(self.path) as source, sqlite3.connect(root / "copy.db") as target:
                source.backup(target)
            target.close()
            (root / "copy.db").chmod(0o444)
            for suffix in ("", "-wal", "-shm"):
                shutil.copy(f"{self.path}{suffix}", root / f"used.db{suffix}")
                (root / f"used.db{suffix}").chmod(0o444)
            before = {path.name: path.read_bytes() for path in root.iterdir()}
            for mode in (0o555, 0o777):
                root.chmod(mode)
                for store in ("copy.db", "used.db"):
                    with self.subTest(store, mode=oct(mode)):
                        done = subprocess.run([root / "pawl", "history", "completed", f"--store=sqlite:{root}/{store}"],
                                              capture_output=True, text=True, check=False, **user)
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        self.assertIn("completed: completes, completed", done.stdout)
            root.chmod(0o755)
            self.assertEqual({path.name: path.read_bytes() for path in root.iterdir()}, before)

    def test_a_damaged_file_is_told(self):
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name) / "copy.db"
            with sqlite3.connect(self.path) as source, sqlite3.connect(copy) as target:
                source.backup(target)
            data = bytearray(copy.read_bytes())
            data[4096:] = b"\xaa" * (len(data) - 4096)
            copy.write_bytes(data)
            code, out, err = self.history("completed", store=f"sqlite:{copy}")
            self.assertEqual((code, out), (6, ""))
            self.assertRegex(err, r"^pawl: .*\n$")

    def test_output_that_cannot_be_written_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            code, _, _ = pawl("history", "completed", "--store", f"sqlite:{self.path}", stdout=full)
        self.assertEqual(code, 1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PAWL = os.path.abspath(sys.argv.pop(1))
    RUNS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
