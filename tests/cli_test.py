#!/usr/bin/env python3
"""Runs the `pawl` command as a user does: exit codes, the last line, usage, and what is refused.

Usage: cli_test.py PATH_TO_PAWL
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PAWL = None

GOOD = {"name": "good", "program": [{"return": 1}], "expect": {"outcome": "completed", "result": 1}}
BAD = {"name": "bad", "program": [{"return": 1}], "expect": {"outcome": "failed"}}


def pawl(*arguments, stdout=subprocess.PIPE):
    """Runs pawl; returns exit code, standard output and standard error."""
    done = subprocess.run([PAWL, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


class Help(unittest.TestCase):
    def test_help_names_the_subcommands_and_exit_codes(self):
        for flag in ("--help", "-h"):
            code, out, err = pawl(flag)
            self.assertEqual(code, 0)
            self.assertIn("conform", out)
            self.assertIn("Exit codes", out)
            self.assertEqual(err, "")

    def test_help_of_a_subcommand_shows_its_options(self):
        code, out, _ = pawl("conform", "--help")
        self.assertEqual(code, 0)
        self.assertIn("--print", out)
        self.assertIn("pawl conform conformance/", out)

    def test_version(self):
        code, out, _ = pawl("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^pawl \d+\.\d+\.\d+\n$")


class Usage(unittest.TestCase):
    def test_mistakes_are_exit_code_2_with_a_message_and_no_output(self):
        for arguments in ([], ["conform"], ["no-such-command"], ["conform", "--no-such-flag", "x.json"], ["--x"]):
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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PAWL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
