#!/usr/bin/env python3
"""Runs `pawl check` as users do: a program with open runs of every sort is killed, and later builds of it are checked.

Usage: check_test.py PAWL FIRST_BUILD SECOND_BUILD
"""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

PAWL = FIRST = SECOND = None
OPEN = ["signal-1", "signal-2", "bytes", "timer", "task", "loop", "branches", "parent", "child", "compensating",
        "running", "blocked"]

# A program in another language that speaks the same lines: it keeps what it is asked, and says that all is well.
RECORDER = """\
    #!/usr/bin/env python3
    import json, os, sys
    requests, answers = (int(number) for number in os.environ["PAWL_CHECK"].split(","))
    def say(line):
        os.write(answers, (json.dumps(line) + "\\n").encode())
    say({"type": "hello", "protocol": "pawl-check/1", "kinds": {}, "activities": []})
    for line in os.fdopen(requests, encoding="utf-8"):
        run = json.loads(line)
        with open(os.path.join(sys.argv[1], run["id"] + ".json"), "w", encoding="utf-8") as file:
            json.dump(run, file)
        say({"type": "answer", "id": run["id"], "verdict": "fits", "warnings": [], "advice": []})
    """


def is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.directory.name)
        cls.database = cls.root / "shop.db"
        cls.effects = cls.root / "effects"
        cls.environment = dict(os.environ, SHOP_EFFECTS=str(cls.effects), SHOP_DATABASE=str(cls.database),
                               SHOP_PID=str(cls.root / "pid"))
        for name in ("PAWL_CHECK", "PAWL_STORE"):
            cls.environment.pop(name, None)
        with subprocess.Popen([FIRST, "make", cls.database], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=cls.environment) as host:
            lines = [host.stdout.readline(), host.stdout.readline()]
            host.kill()
            if lines[1] != "ready\n":
                raise RuntimeError(f"the runs could not be made: {lines} {host.stderr.read()}")
        cls.before = cls.state()

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    @classmethod
    def state(cls):
        """The database byte by byte, as SQL, and what activities have done."""
        files = {suffix: pathlib.Path(f"{cls.database}{suffix}").read_bytes() for suffix in ("", "-wal")}
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name) / "copy.db"
            for suffix, data in files.items():
                pathlib.Path(f"{copy}{suffix}").write_bytes(data)
            connection = sqlite3.connect(copy)
            dump = list(connection.iterdump())
            connection.close()
        return files, dump, cls.effects.read_text()

    def tearDown(self):
        self.assertEqual(self.state(), self.before, "a check has changed something")

    def check(self, *arguments, program=None, timeout=120):
        done = subprocess.run([PAWL, "check", "--with", program or SECOND, *arguments], capture_output=True, text=True,
                              env=self.environment, timeout=timeout, check=False)
        return done.returncode, done.stdout, done.stderr

    def check_variant(self, variant, *arguments):
        return self.check("--arg", variant, f"--store=sqlite:{self.database}", *arguments)

    def answers(self, variant, *arguments):
        code, out, err = self.check_variant(variant, "-o", "jsonl", *arguments)
        self.assertEqual(err, "")
        return code, {answer["id"]: answer for answer in map(json.loads, out.splitlines())}

    def script(self, name, text):
        path = self.root / name
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)
        return path

    # --- Builds ---

    def test_a_good_build_fits_all(self):
        code, out, err = self.check_variant("good")
        self.assertEqual((code, err), (0, ""), out)
        self.assertTrue(out.endswith(f"\n{len(OPEN)} fit, 0 do not fit, 0 could not be checked\n"), out)
        self.assertRegex(out.splitlines()[0], r"^RUN +KIND +CHECK$")
        self.assertRegex(out, r"\nloop +loop +fits +waits for \{1, \d+, \d+\} Signal\(0\) go:1\n")
        self.assertRegex(out, r"\ncompensating +compensates +fits +its code has ended")
        self.assertRegex(out, r"\nsignal-1 +signal +fits +waits for \{1\.1\} Operation\(1\) audit:1\n")
        self.assertNotIn("prints something", out)
        code, answers = self.answers("good")
        self.assertEqual(code, 0)
        self.assertEqual(sorted(answers), sorted(OPEN))
        for run in OPEN:
            self.assertEqual(answers[run]["verdict"], "fits", run)
        self.assertEqual(answers["timer"]["replayed"], answers["timer"]["entries"])
        self.assertEqual(sorted(answers["branches"]["waiting"]),
                         ["{1, 2} Signal(0) left:1", "{2, 2} Signal(0) right:1"])
        self.assertEqual(answers["running"]["added"], ["{1} Operation(0) endless:1"])

    def test_several_processes_say_the_same_in_the_same_order(self):
        for variant in ("good", "broken"):
            one = self.check_variant(variant, "-o", "jsonl")
            self.assertEqual(self.check_variant(variant, "-o", "jsonl", "--jobs", "4"), one)
            self.assertEqual(self.check_variant(variant, "-j", "64"), self.check_variant(variant))
        for jobs in ("0", "65", "x"):
            self.assertEqual(self.check_variant("good", "--jobs", jobs)[0], 2)

    def test_what_fits_goes_on(self):
        with tempfile.TemporaryDirectory() as name:
            for suffix in ("", "-wal"):
                shutil.copy(f"{self.database}{suffix}", f"{name}/copy.db{suffix}")
            environment = dict(self.environment, SHOP_EFFECTS=f"{name}/effects")
            done = subprocess.run([SECOND, "good", "go", f"{name}/copy.db"], capture_output=True, text=True, timeout=60,
                                  env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:],
                         ["signal-1 6", "child 6", "parent 6", "loop 8", "bytes 22", "branches 4", "blocked went on"])

    def test_a_broken_build_is_told_what_to_do(self):
        code, out, err = self.check_variant("broken")
        self.assertEqual((code, err), (5, ""), out)
        self.assertTrue(out.endswith("\n7 fit, 5 do not fit, 0 could not be checked\n"), out)
        self.assertRegex(out, r"\nsignal-1 +signal +does not fit +Operation name mismatch at Operation\(1\): "
                              r"expected 'audit', got 'two'\n")
        # One report for the three runs that it is about.
        self.assertEqual(out.count('to make it fit: write ctx.v(2).run("audit", …) at cli/checked_shop.cc:'), 1)
        self.assertRegex(out, r"\n(child|signal-1|signal-2), (child|signal-1|signal-2), (child|signal-1|signal-2):\n")
        self.assertIn('put ctx.removed(pawl::StepKind::kOperation, "log") before the call at cli/checked_shop.cc:', out)
        self.assertIn("tried: with this the run fits", out)
        code, answers = self.answers("broken")
        self.assertEqual(code, 5)
        self.assertEqual(sorted(run for run in OPEN if answers[run]["verdict"] == "violation"),
                         ["blocked", "child", "loop", "signal-1", "signal-2"])
        violation = answers["signal-1"]["violation"]
        self.assertEqual((violation["code"], violation["location"]), ("PAWL-1002", "{2}"))
        self.assertIn("checked_shop.cc:", violation["sourceThen"])
        self.assertIn("PAWL-1002", violation["report"])
        self.assertIn("definition", answers["blocked"]["violation"]["report"])

    def test_a_build_that_lacks_a_kind(self):
        code, answers = self.answers("lacking")
        self.assertEqual(code, 1)
        self.assertEqual(answers["loop"]["verdict"], "no_workflow")
        self.assertEqual([warning["code"] for warning in answers["compensating"]["warnings"]], ["no_activity"])
        code, out, _ = self.check_variant("lacking", "--kind", "signal", "--kind", "timer")
        self.assertEqual(code, 0)
        self.assertIn("4 fit, 0 do not fit, 0 could not be checked", out)

    def test_a_build_that_forgets_the_call(self):
        code, out, err = self.check_variant("forgetful")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("does not answer", err)
        self.assertIn("makes an engine before it calls pawl::answer_check(registry)", err)

    def test_a_build_that_ends_by_itself(self):
        code, out, err = self.check_variant("leaving")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("it ended with exit code 3", err)
        self.assertIn("shop: no configuration", err)

    def test_a_build_that_crashes(self):
        code, out, err = self.check_variant("crashing")
        self.assertEqual((code, err), (1, ""), out)
        self.assertTrue(out.endswith("\n11 fit, 0 do not fit, 1 could not be checked\n"), out)
        self.assertRegex(out, r"\ntimer +timer +not checked +it ended by signal 11 \(Segmentation fault\)\n")
        self.assertIn("about to crash", out)

    def test_a_build_that_loops(self):
        code, out, err = self.check_variant("looping", "--timeout", "2")
        self.assertEqual((code, err), (1, ""), out)
        self.assertTrue(out.endswith("\n11 fit, 0 do not fit, 1 could not be checked\n"), out)
        self.assertRegex(out, r"\nbranches +branches +not checked +no answer within 2 s")
        self.assertFalse(is_alive(int((self.root / "pid").read_text())))

    def test_who_is_interrupted_leaves_nothing_behind(self):
        pid_file = self.root / "pid"
        pid_file.unlink(missing_ok=True)
        with subprocess.Popen([PAWL, "check", "--with", SECOND, "--arg", "looping", "--timeout", "60",
                               f"--store=sqlite:{self.database}"], stdout=subprocess.DEVNULL, env=self.environment) as pawl:
            deadline = time.monotonic() + 60
            while not (pid_file.exists() and pid_file.read_text().endswith("\n")):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            pawl.send_signal(signal.SIGINT)
            self.assertEqual(pawl.wait(timeout=30), -signal.SIGINT)
        program = int(pid_file.read_text())
        deadline = time.monotonic() + 30
        while is_alive(program):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    # --- Programs ---

    def test_scripts_around_the_program(self):
        script = self.script("wrapped.sh", f"#!/bin/sh\necho hello\n'{SECOND}' good \"$@\"\n")
        code, out, err = self.check("--arg", "check", f"--store=sqlite:{self.database}", program=script)
        self.assertEqual((code, err), (0, ""), out)

    def test_programs_that_do_not_speak(self):
        for name, text, message in (
                ("gone.sh", "#!/bin/sh\nexit 0\n", "it ended with exit code 0"),
                ("noise.sh", "#!/bin/sh\necho noise >&4\nsleep 600\n", "something else than answers"),
                ("other.sh", "#!/bin/sh\necho '{\"type\": \"hello\", \"protocol\": \"pawl-check/9\"}' >&4\ncat <&3\n",
                 "does not speak pawl-check/1"),
                ("silent.sh", "#!/bin/sh\nsleep 600\n", "it said nothing for 1 s"),
        ):
            with self.subTest(name):
                code, out, err = self.check("--timeout=1", f"--store=sqlite:{self.database}",
                                            program=self.script(name, text))
                self.assertEqual((code, out), (1, ""))
                self.assertIn(message, err)
        code, out, err = self.check(f"--store=sqlite:{self.database}", program=self.root / "none")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot start", err)

    # --- Exported runs ---

    def test_a_corpus(self):
        corpus = self.root / "corpus"
        corpus.mkdir(exist_ok=True)
        code, out, err = self.check("--arg", corpus, f"--store=sqlite:{self.database}",
                                    program=self.script("recorder.py", RECORDER))
        self.assertEqual((code, err), (0, ""), out)
        self.assertEqual(sorted(path.stem for path in corpus.iterdir()), sorted(OPEN))
        run = json.loads((corpus / "signal-1.json").read_text())
        self.assertEqual(run["format"], "pawl-run/1")
        self.assertIn("$bytes", run["input"])  # Payloads are as they are stored: encoded.

        code, out, err = self.check("--arg=good", corpus)
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn(f"{len(OPEN)} fit, 0 do not fit, 0 could not be checked", out)
        code, out, err = self.check("--arg=broken", corpus / "signal-1.json", corpus / "timer.json")
        self.assertEqual((code, err), (5, ""), out)
        self.assertIn("1 fit, 1 do not fit, 0 could not be checked", out)
        code, out, err = self.check("--arg=broken", "--kind=timer", corpus, "-o", "json")
        result = json.loads(out)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(result["summary"], {"fit": 1, "doNotFit": 0, "notChecked": 0, "ended": 0})
        self.assertEqual([run["id"] for run in result["runs"]], ["timer"])

        # The command that exports makes the same of it.
        exported = self.root / "exported"
        done = subprocess.run([PAWL, "export", "--all", "-d", exported, f"--store=sqlite:{self.database}"],
                              capture_output=True, text=True, env=self.environment, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        code, out, err = self.check("--arg=good", exported)
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn(f"{len(OPEN)} fit, 0 do not fit, 0 could not be checked; 1 had ended", out)

        bad = self.root / "bad"
        bad.mkdir(exist_ok=True)
        shutil.copy(corpus / "timer.json", bad / "timer.json")
        (bad / "text.json").write_text("no JSON")
        (bad / "empty.json").write_text("")
        (bad / "other.json").write_text('{"format": "pawl-run/9"}')
        (bad / "notes.txt").write_text("not looked at")
        code, out, err = self.check("--arg=good", bad)
        self.assertEqual((code, err), (1, ""))
        self.assertTrue(out.endswith("\n1 fit, 0 do not fit, 3 could not be checked\n"), out)
        self.assertRegex(out, r"text\.json +not checked +malformed JSON at line 1")

    # --- Bad input ---

    def test_arguments(self):
        (self.root / "nothing").mkdir(exist_ok=True)
        for arguments, code, message in (
                ([f"--store=sqlite:{self.root}/none.db"], 6, "there is no file"),
                (["--store=x.db"], 2, "the URL of a store begins with sqlite: or postgres://"),
                ([f"{self.root}/none.json"], 4, "there is no file"),
                ([f"{self.root}/nothing"], 4, "there are no *.json files"),
                ([f"--store=sqlite:{self.database}", f"{self.root}/nothing"], 2, "--store, or files"),
                (["--timeout=0", f"{self.root}/nothing"], 2, "a whole number from 1"),
                (["-o", "xml", f"{self.root}/nothing"], 2, "xml"),
        ):
            with self.subTest(arguments):
                got, out, err = self.check("--arg=good", *arguments)
                self.assertEqual((got, out), (code, ""), err)
                self.assertIn(message, err)

    def test_the_store_of_the_environment(self):
        environment = dict(self.environment, PAWL_STORE=f"sqlite:{self.database}")
        done = subprocess.run([PAWL, "check", "--with", SECOND, "--kind=timer"], capture_output=True, text=True,
                              env=environment, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1 fit, 0 do not fit, 0 could not be checked", done.stdout)

    def test_a_store_without_open_runs_of_the_kind(self):
        code, out, err = self.check_variant("good", "--kind", "nothing")
        self.assertEqual((code, out, err), (0, "0 fit, 0 do not fit, 0 could not be checked\n", ""))

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PAWL, "check", "--with", SECOND, f"--store=sqlite:{self.database}"], stdout=full,
                                  stderr=subprocess.DEVNULL, env=self.environment, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    PAWL, FIRST, SECOND = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    unittest.main()
