#!/usr/bin/env python3
"""Looks at runs with `pawl history` while another process works on them: --follow, and what the tree shows of runs that
an engine has really run.

Usage: history_test.py PATH_TO_PAWL PATH_TO_CLI_STEPS
"""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PAWL = None
STEPS = None
WAIT_SECONDS = 120  # Much longer than anything takes, for slow machines.


class Lines:
    """The output of a process, line by line, as it comes."""

    def __init__(self, process):
        self.process = process
        self.rest = b""
        self.seen = []

    def next(self):
        """The next line, without its break; None at the end."""
        deadline = time.monotonic() + WAIT_SECONDS
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"no line within {WAIT_SECONDS} s, after {self.seen}")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        self.seen.append(line.decode())
        return self.seen[-1]

    def until(self, text):
        """Reads on to a line with this text, and returns it."""
        while True:
            line = self.next()
            if line is None:
                raise AssertionError(f"no line with {text!r} in {self.seen}")
            if text in line:
                return line


class Host:
    def __init__(self, path):
        self.process = subprocess.Popen([STEPS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = Lines(self.process)

    def do(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        if self.lines.next() != "ok":
            raise AssertionError(f"it was not done: {words}")

    def end(self):
        self.process.stdin.close()
        self.process.wait(WAIT_SECONDS)
        self.process.stdout.close()


class WithHost(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name) / "steps.db"
        self.host = Host(self.path)
        self.followers = []

    def tearDown(self):
        for process in self.followers:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        self.host.end()
        self.directory.cleanup()

    def words(self, run, *arguments):
        return [PAWL, "history", run, f"--store=sqlite:{self.path}", *arguments]

    def history(self, run, *arguments, env=None):
        done = subprocess.run(self.words(run, *arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=WAIT_SECONDS, check=False, env={**os.environ, **(env or {})})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def follow(self, run, *arguments):
        process = subprocess.Popen(self.words(run, "--follow", *arguments), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.followers.append(process)
        return process, Lines(process)

    def assert_ended(self, process, lines):
        self.assertIsNone(lines.next())
        self.assertEqual(process.wait(WAIT_SECONDS), 0)
        self.assertEqual(process.stderr.read(), b"")


class Follow(WithHost):
    def test_lines_come_as_the_run_goes_on_until_it_is_closed(self):
        self.host.do("start", "steps", "r", 2)
        self.host.do("await", "r", "waiting")
        process, lines = self.follow("r")
        self.assertRegex(lines.next(), "^r: steps, waiting for signal step, for ")
        lines.until("{1} State(0) color:1 set to \"red\"")
        lines.until("{2} Compensation(0) undo:1 registered")
        lines.until("{3} Signal(0) step:1 awaited")
        lines.until("waiting for signal step")
        self.host.do("signal", "r", "step", "one")
        lines.until("signal step = \"one\" (source /test, subject a test)")
        lines.until("{4} Operation(0) double:1 = 4")
        lines.until("{5} Signal(1) step:2 awaited")
        self.host.do("signal", "r", "step", "two")
        lines.until("{6} Operation(1) double:2 = 4")
        self.host.do("signal", "r", "step", "stop")
        lines.until("{8} Operation(2) refuse:1 failed: std::runtime_error: no\\x1b[31m lamps")
        lines.until("failed: std::runtime_error")
        lines.until("compensation undo done")
        lines.until("failed after ")
        self.assert_ended(process, lines)
        text = "\n".join(lines.seen)
        self.assertNotIn("\x1b", text)
        entries = re.findall(r"^ +\d[^{]*\{\d+\} Operation", text, re.MULTILINE)
        self.assertEqual(len(entries), 3, "each entry once")

    def test_it_goes_on_with_the_next_run(self):
        self.host.do("start", "steps", "r", 1)
        process, lines = self.follow("r")
        lines.until("{1} Signal(0) next:1 awaited")
        self.host.do("signal", "r", "next", "x")
        lines.until("recurred with 2")
        lines.until("number 2 of this id")
        lines.until("{3} Signal(0) step:1 awaited")
        self.host.do("signal", "r", "step", "stop")
        lines.until("failed after ")
        self.assert_ended(process, lines)

    def test_entries_as_json(self):
        self.host.do("start", "steps", "r", 1)
        process, lines = self.follow("r", "-o", "jsonl")
        self.assertEqual(json.loads(lines.next())["event"], "SignalAwaited")
        self.host.do("signal", "r", "next", "x")
        self.assertEqual(json.loads(lines.next())["event"], "SignalReceived")
        self.assertEqual(json.loads(lines.next())["event"], "WorkflowRecurred")
        self.host.do("signal", "r", "step", "stop")
        lines.until("WorkflowFailed")
        self.assert_ended(process, lines)
        self.assertEqual([json.loads(line)["seq"] for line in lines.seen], [1, 2, 3, *range(1, 7)])

    def test_an_interrupt_ends_it_without_a_word(self):
        self.host.do("start", "steps", "r", 2)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process, lines = self.follow("r")
                lines.until("{3} Signal(0) step:1 awaited")
                process.send_signal(number)
                self.assertEqual(process.wait(WAIT_SECONDS), 0)
                self.assertEqual(process.stderr.read(), b"")

    def test_a_reader_that_goes_away_ends_it(self):
        self.host.do("start", "steps", "r", 2)
        process, lines = self.follow("r")
        lines.until("{3} Signal(0) step:1 awaited")
        process.stdout.close()
        process.wait(WAIT_SECONDS)

    def test_a_closed_run_is_told_at_once_also_when_nobody_works_on_it(self):
        self.host.do("start", "tries_twice", "r", 3)
        self.host.do("await", "r", "completed")
        self.host.end()
        process, lines = self.follow("r", "--tail", "1")
        lines.until("… 1 entry is left out")
        self.assertRegex(lines.next(), r"^ +\d+.* +completed = 3$")
        lines.until("completed after ")
        self.assert_ended(process, lines)
        self.host = Host(self.path)

    def test_it_hears_of_an_engine_that_starts_later(self):
        self.host.do("start", "steps", "r", 2)
        self.host.do("await", "r", "waiting")
        self.host.end()
        process, lines = self.follow("r")
        lines.until("waiting for signal step")
        self.host = Host(self.path)
        self.host.do("signal", "r", "step", "one")
        lines.until("{4} Operation(0) double:1 = 4")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(WAIT_SECONDS), 0)


class Tree(WithHost):
    def test_attempts(self):
        self.host.do("start", "tries_twice", "twice", 3)
        self.host.do("await", "twice", "completed")
        self.assertIn("{1} Operation(0) second:1 = 3 (2 attempts)\n", self.history("twice"))
        self.host.do("start", "retries", "again", 3)
        self.host.do("await", "again", "waiting")
        self.assertRegex(self.history("again"),
                         r"  \{2\} Operation\(1\) refuse:1 waiting, attempt 2 in 59 min \d\d s, after "
                         r"std::runtime_error: no\\x1b\[31m lamps\n")

    def test_forgotten_iterations(self):
        self.host.do("start", "loops", "r", 5)
        self.host.do("await", "r", "completed")
        out = self.history("r")
        self.assertIn("{1} Loop(0) 5 iterations finished, ended with 5\n", out)
        self.assertIn("└─ iterations 1 to 5: forgotten\n", out)
        self.assertNotIn("Operation", out)
        out = self.history("r", "--forgotten")
        for i in range(1, 6):
            self.assertIn(f"─ iteration {i} (forgotten)\n", out)
            self.assertIn(f"└─ {{1, {i}, 1}} Operation(0) double:1 = {2 * i}\n", out)
        numbers = [json.loads(line)["seq"] for line in self.history("r", "--forgotten", "-o", "jsonl").splitlines()]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)), "nothing is missing")
        self.assertLess(len(self.history("r", "-o", "jsonl").splitlines()), len(numbers) - 5)

    def test_children(self):
        self.host.do("start", "has_child", "r", 2)
        self.host.do("await", "r", "waiting")
        out = self.history("r")
        self.assertRegex(out, r"\{1\} ChildWorkflow\(0\) a child of it:1 \(kind steps\) (waiting|running)")
        hint = re.search(r"^its child: (pawl history .*)$", out, re.MULTILINE).group(1)
        with tempfile.TemporaryDirectory() as name:
            os.symlink(PAWL, pathlib.Path(name) / "pawl")
            done = subprocess.run(["sh", "-c", hint], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{name}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a child of it: steps, ", done.stdout)
        self.assertIn(", child of r\n", done.stdout)

    def test_forms(self):
        self.host.do("start", "steps", "r", 2)
        self.host.do("await", "r", "waiting")
        self.assertEqual(json.loads(self.history("r", "--json")), json.loads(self.history("r", "-o", "json")))
        entries = [json.loads(line) for line in self.history("r", "-o", "jsonl").splitlines()]
        self.assertEqual(entries, json.loads(self.history("r", "--json"))["log"])
        self.assertEqual([json.loads(line)["seq"] for line in
                          self.history("r", "-o", "jsonl", "--tail", "2").splitlines()], [2, 3])
        out = self.history("r", "--tail", "1")
        self.assertIn("… 2 lines are left out\n", out)
        self.assertIn("{3} Signal(0)", out)
        self.assertNotIn("{1} State", out)
        self.assertIn("  cli/steps.cc:", self.history("r", "--source"))
        zone = {"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}
        self.assertRegex(self.history("r", env=zone), r"\nstarted \d{4}-\d\d-\d\d [0-9:.]{12} \+0[12]:00\n")
        self.assertRegex(self.history("r", "--utc", env=zone), r"\nstarted \d{4}-\d\d-\d\d [0-9:.]{12} UTC\n")

    def test_colors_are_for_terminals(self):
        self.host.do("start", "steps", "r", 2)
        self.host.do("await", "r", "waiting")
        plain = {"TERM": "xterm", "NO_COLOR": ""}
        self.assertNotIn("\x1b", self.history("r", env=plain))
        self.assertIn("\x1b[33mwaiting\x1b[0m", self.history("r", "--color", "always", env=plain))
        for env, arguments, is_colored in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"TERM": "dumb"}, [], False),
                                           ({}, ["--color", "never"], False)):
            with self.subTest(env=env, arguments=arguments):
                out = self.on_terminal({**plain, **env}, *arguments)
                self.assertEqual("\x1b[" in out, is_colored, out)
                lines = re.sub(r"\x1b\[\d+m", "", out).replace("\r", "").split("\n")
                self.assertLessEqual(max(map(len, lines)), 80)

    def on_terminal(self, env, *arguments):
        leader, follower = pty.openpty()
        process = subprocess.Popen(self.words("r", *arguments), stdin=subprocess.DEVNULL, stdout=follower,
                                   stderr=follower, env={**os.environ, **env})
        os.close(follower)
        out = b""
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:  # All writers are gone.
                break
            if not data:
                break
            out += data
        os.close(leader)
        self.assertEqual(process.wait(WAIT_SECONDS), 0)
        return out.decode()

    def test_mistakes(self):
        for arguments, message in ((["--follow", "--json"], "use -o jsonl"), (["--follow", "-o", "json"], "use -o jsonl"),
                                   (["--json", "-o", "jsonl"], "--json"), (["--tail", "0"], "a whole number from 1"),
                                   (["--tail", "x"], "a whole number from 1"), (["--color", "blue"], "--color")):
            with self.subTest(arguments):
                done = subprocess.run(self.words("r", *arguments), capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(message, done.stderr)
        self.host.do("start", "steps", "somebody", 2)
        process, lines = self.follow("nobody")
        self.assertIsNone(lines.next())
        self.assertNotEqual(process.wait(WAIT_SECONDS), 0)
        self.assertTrue(process.stderr.read().startswith(b"pawl: there is no run 'nobody'"))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PAWL = os.path.abspath(sys.argv.pop(1))
    STEPS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
