"""Real processes that are killed in the middle of runs."""
import collections
import os
import random
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import List, Set

from support import HERE, SOON, FileTest, pawl

RUNS = 40
STEPS = 150
KILLS = 4
EXPECTED = sum(number * number for number in range(STEPS)) + 5 + 2 * 1_000_000


class KillTest(FileTest):
    def test_runs_go_on_after_a_kill(self) -> None:
        seed = int(os.environ.get("PAWL_SEED", random.randrange(2**32)))
        rng = random.Random(seed)
        with self.subTest(seed=seed):
            log = self.folder / "log"
            recorded: Set[str] = set()
            seen = 0
            for _ in range(KILLS):
                process = self.start(log)
                assert process.stdout is not None
                self.assertEqual(process.stdout.readline(), "started\n")
                self.wait_for_lines(log, seen + rng.randrange(10, 150), process)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                self.assertEqual(process.returncode, -signal.SIGKILL)
                seen = self.check_new_lines(log, seen, recorded)
                before, recorded = recorded, self.recorded()
                self.assertLess(before, recorded)
            process = self.start(log)
            out, _ = process.communicate(timeout=SOON)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(
                [line for line in out.splitlines() if line.startswith("ended")],
                [f"ended r-{i} {EXPECTED}" for i in range(RUNS)],
            )
            self.check_new_lines(log, seen, recorded)
            # All were executed; again only what was under way when the process died.
            counts = collections.Counter(self.lines(log))
            self.assertEqual(len(counts), RUNS * (STEPS + 2))
            repeated = sum(count - 1 for line, count in counts.items() if not line.endswith(" 1000"))
            self.assertLessEqual(repeated, KILLS * RUNS)

    def check_new_lines(self, log: Path, seen: int, recorded: Set[str]) -> int:
        """Nothing that was recorded before is executed by a later process."""
        lines = self.lines(log)
        self.assertEqual([line for line in lines[seen:] if line in recorded], [])
        return len(lines)

    def start(self, log: Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, str(HERE / "kill_host.py"), self.url, str(log), str(RUNS)],
            stdout=subprocess.PIPE, text=True, env=dict(os.environ),
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    @staticmethod
    def lines(log: Path) -> List[str]:
        return log.read_text().splitlines() if log.exists() else []

    def wait_for_lines(self, log: Path, count: int, process: "subprocess.Popen[str]") -> None:
        end = time.monotonic() + SOON
        while len(self.lines(log)) < count:
            self.assertIsNone(process.poll(), "it has ended before it could be killed")
            self.assertLess(time.monotonic(), end, "it does nothing")

    def recorded(self) -> Set[str]:
        """The steps and tasks whose outcome is in the store, as lines of the log."""
        found: Set[str] = set()
        with pawl.Engine(self.url) as client:
            for i in range(RUNS):
                steps = 0
                for entry in client.get(f"r-{i}").wait(SOON).history().wait(SOON):
                    if entry.get("operationName") == "step" and "result" in entry:
                        found.add(f"step r-{i} {steps}")  # They come one after the other.
                        steps += 1
                    elif entry["event"] == "TaskCompleted":
                        found.add(f"task r-{i} 5")
        return found


if __name__ == "__main__":
    unittest.main()
