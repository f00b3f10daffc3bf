#!/usr/bin/env python3
"""All languages on one store: runs are started by one of them, worked on by whichever has time, and every task is done by
the language that has it; workers are killed and started again. In the end every answer is right, and what one language has
recorded replays in every other.

Usage: test.py PAWL LIBRARY, with `sdk/typescript` and `sdk/kotlin` built.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SDK = HERE.parent
PAWL = LIBRARY = None
RUNS = 24


def commands():
    kotlin = SDK / "kotlin" / "target"
    class_path = os.pathsep.join(
        map(str, [kotlin / "classes", kotlin / "test-classes", *sorted((kotlin / "libraries").glob("*.jar"))]))
    return {
        "py": [sys.executable, HERE / "relay.py"],
        "ts": ["node", HERE / "relay.mjs"],
        "kt": ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", class_path, "languages.RelayKt"],
    }


def environment():
    # Where scripts/deps puts Node if the system's is too old.
    path = os.pathsep.join([str(SDK.parent / ".node" / "node_modules" / ".bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PAWL_LIBRARY": str(LIBRARY), "PYTHONPATH": str(SDK / "python" / "src"),
            "PAWL_TYPESCRIPT": str(SDK / "typescript")}


class Worker:
    def __init__(self, language, url):
        self.process = subprocess.Popen([*commands()[language], "work", url], env=environment(), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if line != "ready\n":
            self.kill()
            raise RuntimeError(f"the worker in {language} does not start; it said {line!r}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.close()

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.close()
        return code

    def close(self):
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()


class Languages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.url = f"sqlite:{self.directory}/languages.db"
        self.workers = {}
        self.addCleanup(lambda: [worker.kill() for worker in self.workers.values() if worker.process.returncode is None])

    def pawl(self, *words):
        done = subprocess.run([PAWL, *words, "--store", self.url], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return json.loads(done.stdout) if words[0] != "signal" else None

    def test_together(self):
        seed = int(os.environ.get("PAWL_PROPERTY_SEED", random.randrange(1 << 32)))
        print("seed", seed)
        chance = random.Random(seed)
        for language in commands():
            self.workers[language] = Worker(language, self.url)
        for number in range(RUNS):
            self.pawl("start", "relay", "--id", f"r-{number}", "--input", str(number), "-o", "json")
            if number % 5 == 4:
                language = chance.choice(list(self.workers))
                self.workers[language].kill()
                self.workers[language] = Worker(language, self.url)
        for number in range(RUNS):
            self.pawl("signal", f"r-{number}", "go", str(number * 10_000))
        for number in range(RUNS):
            self.assertEqual(self.pawl("result", f"r-{number}", "--timeout", "60s"), answer(number))
        for language, worker in self.workers.items():
            self.assertEqual(worker.stop(), 0, language)
        self.replay_everywhere()

    def replay_everywhere(self):
        for number in range(0, RUNS, 8):
            history = self.directory / f"r-{number}.json"
            history.write_text(json.dumps(self.pawl("history", f"r-{number}", "-o", "json")["log"]))
            for language, command in commands().items():
                done = subprocess.run([*command, "replay", history, str(number)], env=environment(), capture_output=True,
                                      text=True, timeout=60, check=False)
                self.assertEqual((done.stdout.split(), done.returncode), (["completed", str(answer(number))], 0),
                                 f"{language}: {done.stderr}")

    def test_a_run_goes_on_in_another_language(self):
        """Whoever began it is gone for good: what it has recorded is gone on with by another one, which has its code."""
        for first, others in (("py", ("kt", "ts")), ("kt", ("ts", "py")), ("ts", ("py", "kt"))):
            with self.subTest(first=first):
                run = f"begun-in-{first}"
                worker = self.workers[first] = Worker(first, self.url)
                self.pawl("start", "relay", "--id", run, "--input", "5", "-o", "json")
                self.wait_until_it_waits_for(run, "task add." + ("ts" if first == "py" else "py"))
                worker.kill()
                for language in others:
                    self.workers[language] = Worker(language, self.url)
                if first != "py":  # Its task needs a worker, too, and that may go on with the run as well.
                    self.wait_until_it_waits_for(run, f"task add.{first}")
                self.workers[first] = Worker(first, self.url)
                self.pawl("signal", run, "go", "50000")
                self.assertEqual(self.pawl("result", run, "--timeout", "60s"), answer(5))
                for worker in self.workers.values():
                    self.assertEqual(worker.stop(), 0)

    def wait_until_it_waits_for(self, run, what):
        for _ in range(2000):
            [row] = [row for row in self.pawl("list", "-o", "json")["runs"] if row["id"] == run]
            if row.get("waitingFor") == what:
                return
        self.fail(f"{run} does not wait for {what}, but is {row}")


def answer(number):
    return number + 1 + 1110 + number * 10_000


if __name__ == "__main__":
    PAWL, LIBRARY = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
