#!/usr/bin/env python3
"""Runs conformance scenarios through the public API of this SDK: conform.py FILE|DIR…

Each scenario's `program` is interpreted as a workflow, in the replayer. Prints `ok NAME` or
`FAIL NAME: what differed` for each, and `N passed, M failed` at the end. The format is described in
docs/formats/scenario.md.
"""
from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, Optional

from pawl import Cancelled, Context, Future, Matching, StepKind, break_with, continue_with
from pawl.errors import Failure
from pawl.testing import Replayer

from scenario import Mistake, check_scenario, is_variable, is_whole, read_file

STEPS_MAX = 1_000_000  # More than a sensible scenario takes, iterations counted as well.


class Thrown(Exception):
    """By a step of the program."""


class Returned:
    def __init__(self, value: Any) -> None:
        self.value = value


def text_of(error: BaseException) -> str:
    if isinstance(error, Failure):
        return error.message or f"{error.subject} failed"
    return str(error)


def error_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return value["message"]
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(a: Any, b: Any) -> bool:
    if is_number(a) and is_number(b):
        return a == b or max(abs(a), abs(b)) >= 2**64 and float(a) == float(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return a == b


def milliseconds(number: int) -> timedelta:
    return timedelta(milliseconds=number)


@dataclass(frozen=True)
class Scope:
    """What steps are in."""

    is_in_loop: bool = False
    is_shielded: bool = False


class Program:
    """A scenario's program, as a workflow."""

    def __init__(self, steps: list) -> None:
        self.steps = steps
        self.values: dict[str, Any] = {}
        self.futures: dict[str, Future] = {}  # Those of `values` that came out of a command.
        self.steps_taken = 0
        self.mistake: Optional[Mistake] = None

    async def workflow(self, ctx: Context) -> Any:
        ended = await self.run_list(self.steps, ctx, Scope())
        return ended.value if ended else None

    async def run_list(self, steps: list, ctx: Context, scope: Scope) -> Optional[Returned]:
        for step in steps:
            ended = await self.run_step(step, ctx, ctx, scope)
            if ended is not None:
                return ended
        return None

    async def run_step(
        self, step: dict, ctx: Context, plain: Context, scope: Scope
    ) -> Optional[Returned]:
        """`plain` is for lists of steps: a version is for one step."""
        self.count()
        verb, subject = next(iter(step.items()))
        if verb in ("await", "await_all", "await_any"):
            names = [subject] if verb == "await" else subject
            await self.wait(verb, names, ctx, step, scope.is_shielded)
        elif verb == "branch":
            key = {"step_key": step["stepKey"]} if "stepKey" in step else {}
            self.assign(step, await ctx.branch(self.body(subject, scope), **key))
        elif verb == "join":
            arms = [self.body(arm, scope) for arm in subject]
            self.assign(step, await ctx.join(*arms))
        elif verb == "loop":
            await self.loop(step, ctx, scope)
        elif verb == "v":
            return await self.run_step(step["do"], ctx.v(int(subject)), plain, scope)
        elif verb == "if":
            holds = equal(self.find(subject), self.resolve(step["equals"]))
            return await self.run_list(step.get("then" if holds else "else", []), plain, scope)
        elif verb == "try":
            try:
                return await self.run_list(subject, plain, scope)
            except (Exception, Cancelled) as error:
                self.put("error", text_of(error))
            return await self.run_list(step["catch"], plain, scope)
        elif verb == "shield":
            return await self.run_list(subject, plain, replace(scope, is_shielded=True))
        elif verb == "return":
            return Returned(self.resolve(subject))
        elif verb == "throw":
            raise Thrown(error_text(self.resolve(subject)))
        elif verb == "recur":
            ctx.recur(self.resolve(subject))
        else:
            self.command(verb, subject, step, ctx)
        return None

    def body(self, steps: list, scope: Scope) -> Any:
        async def run(ctx: Context) -> Any:
            ended = await self.run_list(steps, ctx, scope)
            return ended.value if ended else None

        return run

    async def wait(
        self, verb: str, names: list, ctx: Context, step: dict, is_shielded: bool
    ) -> None:
        """A shield is for awaits only: what is made in one is made by a context without it. Other
        branches may give the names to something else meanwhile."""
        for name in names:
            self.find(name)
        awaited = [(name, self.futures[name]) for name in names if name in self.futures]
        if verb == "await":
            for name, future in awaited:
                await (future.shielded() if is_shielded else future)
                await self.settle(name, future)
            return
        futures = [future for _, future in awaited]
        group = ctx.shielded() if is_shielded else ctx
        if verb == "await_any":
            plain = next((name for name in names if name not in self.futures), None)
            if plain is not None:
                self.assign(step, plain)
                return
            winner = await group.any(*futures)
            name = next(name for name, future in awaited if future is winner)
            try:
                await self.settle(name, winner)
            finally:
                self.assign(step, name)
            return
        failed: Optional[Exception] = None
        try:
            await group.all(*futures)
        except Exception as error:  # Not Cancelled: then no variable gets its value.
            failed = error
        for name, future in awaited:
            if future.done():
                try:
                    await self.settle(name, future)
                except Exception:
                    pass
        if failed is not None:
            raise failed

    async def settle(self, name: str, future: Future) -> None:
        """Gives a variable its value, if it still is that of this future, which is done."""
        value = await future
        if self.futures.get(name) is future:
            self.values[name] = value

    async def loop(self, step: dict, ctx: Context, scope: Scope) -> None:
        times = self.resolve(step["times"])
        if not is_whole(times) or times < 0:
            self.refuse(f"times: expected a whole number from 0, got {times!r}")
        outer = self.values.get("i")

        async def body(inner: Context, finished: Optional[int]) -> Any:
            self.count()
            finished = finished or 0  # Histories may leave the first state out.
            self.put("i", finished + 1)
            ended = await self.run_list(step["loop"], inner, replace(scope, is_in_loop=True))
            if ended is None:
                return continue_with(finished + 1)
            return break_with(ended.value, state=finished + 1)

        options: dict[str, Any] = {}
        if "checkpointEvery" in step:
            options["checkpoint_every"] = int(step["checkpointEvery"])
        if "stepKey" in step:
            options["step_key"] = step["stepKey"]
        result = await ctx.loop(0, body, times=int(times), **options)
        if scope.is_in_loop:
            self.put("i", outer)
        self.assign(step, result)

    def command(self, verb: str, subject: Any, step: dict, ctx: Context) -> None:
        key = {"step_key": step["stepKey"]} if "stepKey" in step else {}
        timeout = {"timeout": milliseconds(step["timeout"])} if "timeout" in step else {}
        input = (self.resolve(step["input"]),) if "input" in step else ()
        future: Optional[Future] = None
        if verb == "task":
            future = ctx.schedule(subject, *input, **key)
        elif verb == "run":
            future = ctx.run(subject, lambda *_: self.operation(step), *input, **key)
        elif verb == "timer":
            future = ctx.sleep(milliseconds(subject), id=step.get("id", ""), **key)
        elif verb == "promise":
            future = ctx.promise(subject, **timeout, **key)
        elif verb == "signal":
            future = ctx.signal(subject, **timeout, **key)
        elif verb == "child":
            future = ctx.child(step["kind"], subject, *input, **key)
        elif verb == "cancel":
            self.find(subject)
            if subject in self.futures:
                ctx.cancel(self.futures[subject])
        elif verb == "compensate":
            ctx.compensate(subject, *input, **key)
        elif verb == "set":
            ctx.set(subject, self.resolve(step["value"]), **key)
        elif verb == "clear":
            ctx.clear(subject, **key)
        elif verb == "removed":
            ctx.removed(StepKind[subject.upper()], step.get("name", ""), **key)
        elif verb == "check_version":
            self.assign(step, ctx.check_version(int(subject)))
        else:
            self.read(verb, subject, step, ctx)
        if future is not None and "as" in step:
            self.values[step["as"]] = None
            self.futures[step["as"]] = future

    def operation(self, step: dict) -> Any:
        if "throws" in step:
            raise Thrown(error_text(self.resolve(step["throws"])))
        return self.resolve(step.get("returns"))

    def read(self, verb: str, subject: Any, step: dict, ctx: Context) -> None:
        if verb == "get":
            value = ctx.get(subject)
        elif verb == "has_signal":
            value = ctx.has_signal(subject)
        elif verb == "drain":
            value = []
            while (signal := ctx.try_signal(subject)) is not None:
                value.append(signal.value)
        elif verb == "now":
            value = round(ctx.time() * 1000)
        elif verb == "uuid":
            value = str(ctx.uuid())
        elif verb == "random":
            value = ctx.random()
        else:
            value = ctx.cancelled()
        self.assign(step, value)

    # --- Variables ---

    def put(self, name: str, value: Any) -> None:
        self.values[name] = value
        self.futures.pop(name, None)

    def assign(self, step: dict, value: Any) -> None:
        if "as" in step:
            self.put(step["as"], value)

    def find(self, name: str) -> Any:
        if name not in self.values:
            self.refuse(f"variable '{name}' is not set")
        return self.values[name]

    def resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.resolve(each) for each in value]
        if isinstance(value, dict):
            if is_variable(value):
                return self.find(value["$"])
            return {key: self.resolve(each) for key, each in value.items()}
        return value

    # --- Mistakes in the scenario ---

    def refuse(self, what: str) -> NoReturn:
        """Also where nobody sees what is raised, as in an arm of a join that does not end."""
        self.mistake = Mistake(what)
        raise self.mistake

    def count(self) -> None:
        self.steps_taken += 1
        if self.steps_taken > STEPS_MAX:
            self.refuse(f"the program runs for more than {STEPS_MAX} steps")


# --- Comparing ------------------------------------------------------------------------------------


def normalised(value: Any) -> Any:
    """Locations may be written with or without blanks; an error as its text."""
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return ", ".join(part.strip() for part in value[1:-1].split(","))
    return value


NOTHING = object()  # Equal to no value.


def compare(expect: dict, replay: Any, values: dict) -> list[str]:
    differences: list[str] = []

    def same(path: str, expected: Any, actual: Any) -> None:
        if not equal(expected, actual):
            got = "nothing" if actual is NOTHING else json.dumps(actual)
            differences.append(f"{path}: expected {json.dumps(expected)}, got {got}")

    same("outcome", expect["outcome"], replay.outcome)
    violation = replay.violation
    message = violation.text if violation else text_of(replay.error) if replay.error else None
    if expect["outcome"] != replay.outcome and message:
        differences.append("error: " + message.split("\n")[0])
    for key, expected in expect.items():
        if key == "result":
            same(key, expected, replay.result)
        elif key == "error":
            if message is None:
                differences.append("error: expected one, got none")
                continue
            for text in expected.get("contains", []):
                if text not in message:
                    differences.append(f"error: {text!r} does not occur in {message!r}")
            if "location" in expected:
                same("error.location", normalised(expected["location"]),
                     normalised(violation.location) if violation else None)
            if "code" in expected:
                same("error.code", expected["code"], violation.code if violation else None)
        elif key == "new":
            for i, (wanted, entry) in enumerate(zip(expected, replay.new)):
                for field, value in wanted.items():
                    actual = entry.get(field, NOTHING)
                    if field in ("location", "loop"):
                        value, actual = normalised(value), normalised(actual)
                    if field == "error" and isinstance(value, str) and field in entry:
                        actual = error_text(actual)
                    same(f"new[{i}].{field}", value, actual)
            if len(expected) != len(replay.new):
                events = ", ".join(
                    f"{entry['event']} {entry.get('location', '')}".strip() for entry in replay.new
                )
                differences.append(
                    f"new: expected {len(expected)} entries, got {len(replay.new)} ({events})"
                )
        elif key == "values":
            for name, value in expected.items():
                same(f"values.{name}", value, values.get(name, NOTHING))
        elif key in ("waiting", "orphaned"):
            same(key, [normalised(each) for each in expected],
                 [normalised(each) for each in getattr(replay, key)])
    return differences


def run_scenario(scenario: Any) -> list[str]:
    check_scenario(scenario, "")
    run = scenario.get("run", {})
    program = Program(scenario["program"])
    options = {"run_id": run["id"]} if "id" in run else {}
    replayer = Replayer(
        program.workflow,
        matching=Matching[scenario.get("matching", "strict").upper()],
        started_at_ms=int(run.get("startedAt", 0)),
        **options,
    )
    replay = replayer.replay(scenario.get("history", []))
    if program.mistake is not None:
        raise program.mistake
    return compare(scenario["expect"], replay, program.values)


def one_line(text: str) -> str:
    return "".join(c for c in text.replace("\n", "; ") if c >= " " and c != "\x7f")


def main(paths: list[str]) -> int:
    if not paths:
        print("usage: conform.py FILE|DIR…", file=sys.stderr)
        return 2
    passed = failed = 0

    def fail(name: str, what: str) -> None:
        nonlocal failed
        failed += 1
        print(f"FAIL {one_line(name)}: {one_line(what)}")

    for path in map(Path, paths):
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.rglob("*.json") if not file.is_dir())
        if not files:
            fail(str(path), "holds no .json file")
        for file in files:
            try:
                scenarios = read_file(file)
            except (OSError, ValueError, RecursionError) as error:
                fail(str(file), str(error))
                continue
            for place, scenario in scenarios:
                name = scenario.get("name") if isinstance(scenario, dict) else None
                name = name if isinstance(name, str) and name else place
                try:
                    differences = run_scenario(scenario)
                except Mistake as mistake:
                    differences = [str(mistake)] if name == place else [f"{place}: {mistake}"]
                except Exception as error:
                    differences = [f"{place}: {type(error).__name__}: {error}"]
                if differences:
                    fail(name, "; ".join(differences))
                else:
                    passed += 1
                    print(f"ok {one_line(name)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # Whatever the console cannot show.
    # What is nested deeply is read, run and compared by recursion: a thread may have a large stack.
    sys.setrecursionlimit(20_000)
    threading.stack_size(256 * 1024 * 1024)
    with ThreadPoolExecutor(1) as pool:
        sys.exit(pool.submit(main, sys.argv[1:]).result())
