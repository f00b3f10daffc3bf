#!/usr/bin/env python3
"""Kills the process of each reference workflow at each of its boundaries, and looks whether anything is lost.

A boundary is a write, sync, truncation or deletion of SQLite's (tests/faults). For each workflow: one run that nobody
disturbs gives the log and the number of boundaries; then, for each boundary, a fresh database, a process that is
killed there, and another one that goes on. What must hold then is in check_killed() and check_end().

  boundaries.py HOST                      every boundary of every workflow
  boundaries.py HOST --seconds 60         an evenly spread part, as much as fits
  boundaries.py HOST --twice 300          300 times: the second process is killed, too, at a random boundary
  boundaries.py HOST --errors 300         300 times: nobody is killed, but a few boundaries fail
  boundaries.py HOST --only timers --at 17 [--at 40]   just this; the second boundary is for the second process
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 60
# Boundaries are taken in passes; all together they are everything, and each is evenly spread. The first is always done.
PASSES = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]


class Failed(Exception):
    pass


class Process:
    """What one process of the host has said, and how it ended."""

    def __init__(self, host, folder, workflow, release, kill_at=None, fail=None):
        self.notes_path = folder / "notes"
        self.notes_before = self.notes()
        environment = dict(os.environ)
        environment.pop("PAWL_FAULT_KILL_AT", None)
        if kill_at:
            environment["PAWL_FAULT_KILL_AT"] = str(kill_at)
        if fail:
            environment["PAWL_FAULT_FAIL"] = fail
        command = [host, "play", folder / "run.db", self.notes_path, str(workflow), str(release)]
        began = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as late:
            said = late.stdout.decode() if late.stdout else ""
            raise Failed(f"stuck: nothing more within {TIMEOUT_S} s after:\n{said}") from late
        self.seconds = time.monotonic() - began
        self.was_killed = done.returncode == -signal.SIGKILL
        if not self.was_killed and done.returncode != 0:
            raise Failed(f"the host ended with {done.returncode}: {done.stderr}\n{done.stdout}")
        self.said = dict(line.split(" ", 1) if " " in line else (line, "") for line in done.stdout.splitlines())
        self.new_notes = self.notes()[len(self.notes_before):]

    def notes(self):
        """Attempts of activities, of all processes so far: (key, attempt, text)."""
        if not self.notes_path.exists():
            return []
        lines = self.notes_path.read_text().splitlines()
        return [(line.split()[-2], int(line.split()[-1]), line) for line in lines]

    def read(self, what):
        return json.loads(self.said[what]) if what in self.said else None


class Workflow:
    def __init__(self, number, line):
        self.number = number
        told = json.loads(line)
        self.name = told["name"]
        self.is_regular = told["isRegular"]
        self.result = told["expected"]
        self.final = None
        self.boundaries = 0

    def summary(self, final):
        """What of a database must be the same, whenever the process dies."""
        runs = [
            {key: run[key] for key in ("id", "number", "status", "tags", "compensations")}
            | ({"commands": run["commands"]} if self.is_regular else {})
            for run in final["runs"]
        ]
        return {"runs": runs, "accounts": final["accounts"]}


class Driver:
    def __init__(self, host, keep):
        self.host = host
        self.keep = keep
        base = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-crash-", dir=base))
        self.numbers = itertools.count()
        self.template = self.folder / "template.db"
        subprocess.run([host, "make", self.template], check=True)
        listed = subprocess.run([host, "list"], check=True, capture_output=True, text=True).stdout.splitlines()
        self.workflows = [Workflow(i, line) for i, line in enumerate(listed)]

    def fresh_folder(self, workflow):
        folder = self.folder / str(next(self.numbers))
        folder.mkdir()
        # The first workflow makes its database, too.
        if workflow.number != 0:
            shutil.copy(self.template, folder / "run.db")
        return folder

    def measure(self, workflow):
        folder = self.fresh_folder(workflow)
        process = Process(self.host, folder, workflow.number, 1)
        workflow.final = workflow.summary(process.read("final"))
        workflow.boundaries = int(process.said["boundaries"])
        self.check_end(workflow, [process])
        twice = [key for key, count in collections.Counter(n[:2] for n in process.new_notes).items() if count > 1]
        if twice:
            raise Failed(f"executed twice without a crash: {twice}")
        shutil.rmtree(folder)

    def kill(self, workflow, kills, folder):
        """Returns how many of the processes were killed."""
        processes = []
        for kill_at in [*kills, None]:
            release = 1 if not processes else 2
            process = Process(self.host, folder, workflow.number, release, kill_at)
            if processes:
                self.check_killed(processes[-1], process)
            processes.append(process)
        self.check_end(workflow, processes)
        return sum(process.was_killed for process in processes)

    def fail(self, workflow, fail, folder):
        """Returns how many boundaries have failed."""
        process = Process(self.host, folder, workflow.number, 1, fail=fail)
        self.check_end(workflow, [process])
        twice = [note for note, count in collections.Counter(n[:2] for n in process.new_notes).items() if count > 1]
        if twice:
            raise Failed(f"executed twice: {twice}")
        return int(process.said["failures"])

    def attempt(self, workflow, what):
        folder = self.fresh_folder(workflow)
        try:
            count = (self.fail if isinstance(what, str) else self.kill)(workflow, what, folder)
            shutil.rmtree(folder)
            return count
        except Failed as failure:
            dump = subprocess.run([self.host, "dump", folder / "run.db", str(workflow.number)],
                                  capture_output=True, text=True, timeout=TIMEOUT_S)
            notes = (folder / "notes").read_text() if (folder / "notes").exists() else ""
            if self.keep:
                print(f"kept: {folder}")
            else:
                shutil.rmtree(folder)
            again = f"--fail '{what}'" if isinstance(what, str) else " ".join(f"--at {kill_at}" for kill_at in what)
            raise Failed(f"{workflow.name}, {again}: {failure}\n"
                         f"again: tests/crash/boundaries.py {self.host} --only '{workflow.name}' {again} --keep\n"
                         f"database: {dump.stdout}{dump.stderr}\nattempts:\n{notes}") from failure

    def check_killed(self, dead, alive):
        """What the dead process has left, and what the next one made of it."""
        before = alive.read("before") or {"runs": [], "problems": [], "done": [], "attempts": {}}
        if before["problems"]:
            raise Failed(f"left behind by the killed process: {before['problems']}")
        if "started" in dead.said and not before["runs"]:
            raise Failed("the start was acknowledged, and the run is not there")
        done = set(before["done"])
        for key, attempt, note in alive.new_notes:
            if key in done:
                raise Failed(f"its outcome was recorded, and it was executed again: {note}")
            if attempt <= before["attempts"].get(key, 0):
                raise Failed(f"{before['attempts'][key]} attempts were recorded, and then came: {note}")
        again = collections.Counter(note[:2] for note in alive.new_notes)
        twice = [note for note, count in again.items() if count > 1]
        if twice:
            raise Failed(f"executed twice by one process: {twice}")

    def check_end(self, workflow, processes):
        for process in processes:
            result = process.read("result")
            if result is not None and result != workflow.result:
                raise Failed(f"the result is\n  {result}\nand should be\n  {workflow.result}")
        final = processes[-1].read("final")
        if final["problems"]:
            raise Failed(f"in the end: {final['problems']}")
        summary = workflow.summary(final)
        if summary != workflow.final:
            raise Failed(f"in the end there is\n  {json.dumps(summary)}\nand should be\n  {json.dumps(workflow.final)}")
        # Whatever was executed came to something that is recorded. An earlier process may have died before.
        done = set(final["done"])
        for key, _, note in processes[-1].new_notes:
            if key not in done:
                raise Failed(f"it has no outcome: {note}")


def plan(workflows, seconds):
    """All kills, in passes."""
    for count, offset in enumerate(PASSES):
        for workflow in workflows:
            for boundary in range(1 + offset, workflow.boundaries + 1, len(PASSES)):
                yield count == 0 or seconds is None, workflow, [boundary]


def plan_twice(workflows, count, seed):
    dice = random.Random(seed)
    for _ in range(count):
        workflow = dice.choice(workflows)
        yield True, workflow, [dice.randint(1, workflow.boundaries), dice.randint(1, workflow.boundaries)]


def plan_errors(workflows, count, seed):
    dice = random.Random(seed)
    for _ in range(count):
        workflow = dice.choice(workflows)
        first = dice.randint(1, workflow.boundaries)
        last = first + dice.choice([0, 0, 1, 2, 4])  # The engine waits longer each time.
        yield True, workflow, f"{dice.choice(['io', 'full', 'torn'])} {first} {last}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--twice", type=int, default=0)
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only")
    parser.add_argument("--at", type=int, action="append")
    parser.add_argument("--fail", help="e.g. 'io 7 9'")
    parser.add_argument("--keep", action="store_true", help="leave the files of failures")
    parser.add_argument("--failures", type=int, default=5, help="stop after this many")
    options = parser.parse_args()

    began = time.monotonic()
    driver = Driver(os.path.abspath(options.host), options.keep)
    chosen = [w for w in driver.workflows if options.only in (None, w.name)]
    if not chosen:
        sys.exit(f"no workflow is called {options.only!r}")
    for workflow in chosen:
        try:
            driver.measure(workflow)
        except Failed as failure:
            sys.exit(f"FAILED {workflow.name}, which nobody disturbed: {failure}")

    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    if options.at:
        todo = [(True, workflow, options.at) for workflow in chosen]
    elif options.fail:
        todo = [(True, workflow, options.fail) for workflow in chosen]
    elif options.errors:
        print(f"seed: {seed}")
        todo = plan_errors(chosen, options.errors, seed)
    elif options.twice:
        print(f"seed: {seed}")
        todo = plan_twice(chosen, options.twice, seed)
    else:
        todo = plan(chosen, options.seconds)

    covered = collections.Counter()
    effects = 0
    failures = []

    def attempt(item):
        must, workflow, what = item
        late = options.seconds is not None and time.monotonic() - began > options.seconds
        if len(failures) >= options.failures or (late and not must):
            return None
        try:
            return workflow.name, driver.attempt(workflow, what)
        except Failed as failure:
            failures.append(str(failure))
            print(f"FAILED {failure}", flush=True)
            return None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(attempt, todo):
            if outcome is not None:
                covered[outcome[0]] += 1
                effects += outcome[1]

    total = sum(workflow.boundaries for workflow in chosen)
    for workflow in chosen:
        print(f"{workflow.name:16} {workflow.boundaries:5} boundaries, {covered[workflow.name]:5} tried")
    effect = "failed writes" if options.errors or options.fail else "kills"
    print(f"{len(chosen)} workflows, {total} boundaries, {sum(covered.values())} tried, {effects} {effect}, "
          f"{len(failures)} failures, {time.monotonic() - began:.0f} s")
    if not options.keep:
        shutil.rmtree(driver.folder)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
