#!/usr/bin/env python3
"""Several processes on one database: two workers that both start runs and take them, one or the other of which is
killed now and then and comes back; a third process sends signals, a fourth one waits for the ends. Then how long a
signal from another process takes to wake a run, and whether a worker with nothing to do does nothing.

  fleet.py HOST [--runs 100] [--kills 12] [--seed N]
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TIMEOUT_S = 120
NAMES = ["left", "right"]


class Failed(Exception):
    pass


class Worker:
    def __init__(self, host, folder, name, runs):
        self.name = name
        command = [host, "work", folder / "fleet.db", folder / "notes", name, str(runs)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def kill(self):
        self.process.kill()
        self.end()

    def stop(self):
        self.process.stdin.close()
        if self.end() != 0:
            raise Failed(f"worker {self.name} ended with {self.process.returncode}")

    def end(self):
        code = self.process.wait(timeout=TIMEOUT_S)
        self.reader.join()
        self.process.stdout.close()
        return code

    def wait_for(self, line):
        deadline = time.monotonic() + TIMEOUT_S
        while line + "\n" not in list(self.said):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"worker {self.name} did not say '{line}' but {self.said[-3:]}")
            time.sleep(0.005)

    def wake_ups(self):
        """How often its threads have gone to sleep so far: each time something had woken them."""
        total = 0
        for status in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/status"):
            for line in status.read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
        return total


def call(host, *args):
    done = subprocess.run([host, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise Failed(f"{args[0]} ended with {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def share(host, folder, runs, kills, dice):
    """Returns how many parcels had to be packed again."""
    database = folder / "fleet.db"
    workers = {name: Worker(host, folder, name, runs) for name in NAMES}
    lives = list(workers.values())
    try:
        sender = subprocess.Popen([host, "send", database, str(runs // 2), *NAMES], stderr=subprocess.PIPE, text=True)
        for _ in range(kills):
            time.sleep(dice.uniform(0.02, 0.12))
            name = dice.choice(NAMES)
            workers[name].kill()
            workers[name] = Worker(host, folder, name, runs)
            lives.append(workers[name])
        for worker in workers.values():
            worker.wait_for("started all")
        _, problem = sender.communicate(timeout=TIMEOUT_S)
        if sender.returncode != 0:
            raise Failed(f"the sender: {problem}")
        # One is gone for good: the other one takes all.
        workers.pop(dice.choice(NAMES)).kill()
        call(host, "send", database, runs, *NAMES)
        print(call(host, "wait", database, runs, *NAMES).strip())
    finally:
        for worker in workers.values():
            if sys.exc_info()[0] is not None:
                worker.kill()
            else:
                worker.stop()
    started = collections.Counter(line for life in lives for line in life.said if line.startswith("started "))
    lost = [line for line, count in started.items() if count > 1 and line != "started all\n"]
    if lost:
        raise Failed(f"acknowledged, and then started again: {lost}")
    problems = call(host, "check", database, runs, *NAMES)
    if problems:
        raise Failed(problems)
    notes = collections.Counter(line.split()[0] for line in (folder / "notes").read_text().splitlines() if " pack " in line)
    expected = {f"{name}/{i}" for name in NAMES for i in range(runs)}
    if set(notes) != expected:
        raise Failed(f"packed: {len(notes)} parcels of {len(expected)}")
    return sum(notes.values()) - len(expected)


def wake(host, folder, count):
    """Returns the times in ms, and the wake-ups of an idle second."""
    database = folder / "fleet.db"
    worker = Worker(host, folder, "idle", 0)
    worker.wait_for("works")
    try:
        times = sorted(int(line) / 1000 for line in call(host, "ping", database, count).split())
        time.sleep(2.5)  # What is left of it is over.
        before = worker.wake_ups()
        time.sleep(1)
        return times, worker.wake_ups() - before
    finally:
        worker.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("--runs", type=int, default=100, help="of each worker")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed: {seed}", flush=True)
    host = os.path.abspath(options.host)
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-fleet-", dir=base))
    began = time.monotonic()
    try:
        again = share(host, folder, options.runs, options.kills, random.Random(seed))
        print(f"{2 * options.runs} runs of 2 workers, {options.kills + 1} kills, {again} operations executed again, "
              f"{time.monotonic() - began:.1f} s", flush=True)
        times, wake_ups = wake(host, folder, 30)
        print(f"a signal from another process, to the end of the run and back: median {times[len(times) // 2]:.1f} ms, "
              f"worst {times[-1]:.1f} ms; {wake_ups} wake-ups in a second of nothing to do")
        # Generous, for a busy machine; whoever looks now and then only would take longer in the middle.
        if times[len(times) // 2] > 100:
            raise Failed("other processes are heard too late")
        if wake_ups > 10:
            raise Failed("a worker with nothing to do does something")
    except Failed as failure:
        print(f"FAILED (kept: {folder}): {failure}")
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
