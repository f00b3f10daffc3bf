#!/usr/bin/env python3
"""Runs conformance scenarios through the public API of this SDK: conform.py FILE|DIR…

Each scenario's `program` is interpreted as a workflow, in the replayer. Prints `ok NAME` or
`FAIL NAME: what differed` for each, and `N passed, M failed` at the end. The format is described in
docs/formats/scenario.md.
"""
from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Optional

from pawl import Cancelled, Context, Future, Matching, StepKind, break_with, continue_with
from pawl.errors import Failure
from pawl.testing import Replayer


class Mistake(BaseException):
    """In the scenario itself."""


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
        return a == b
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
            return await self.run_step(step["do"], ctx.v(subject), plain, scope)
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
        if not is_number(times) or times < 0 or times != int(times):
            raise Mistake(f"times: expected a whole number from 0, got {times!r}")
        outer = self.values.get("i")

        async def body(inner: Context, finished: Optional[int]) -> Any:
            finished = finished or 0  # Histories may leave the first state out.
            self.put("i", finished + 1)
            ended = await self.run_list(step["loop"], inner, replace(scope, is_in_loop=True))
            if ended is None:
                return continue_with(finished + 1)
            return break_with(ended.value, state=finished + 1)

        options = {"checkpoint_every": step["checkpointEvery"]} if "checkpointEvery" in step else {}
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
            self.assign(step, ctx.check_version(subject))
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
        elif verb == "cancelled":
            value = ctx.cancelled()
        else:
            raise Mistake(f"there is no step '{verb}'")
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
            raise Mistake(f"variable '{name}' is not set")
        return self.values[name]

    def resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.resolve(each) for each in value]
        if isinstance(value, dict):
            if len(value) == 1 and isinstance(value.get("$"), str):
                return self.find(value["$"])
            return {key: self.resolve(each) for key, each in value.items()}
        return value


# --- Comparing ------------------------------------------------------------------------------------


def normalised(value: Any) -> Any:
    """Locations may be written with or without blanks; an error as its text."""
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return ", ".join(part.strip() for part in value[1:-1].split(","))
    return value


def compare(expect: dict, replay: Any, values: dict) -> list[str]:
    differences: list[str] = []

    def same(path: str, expected: Any, actual: Any) -> None:
        if not equal(expected, actual):
            differences.append(f"{path}: expected {json.dumps(expected)}, got {json.dumps(actual)}")

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
                    actual = entry.get(field)
                    if field in ("location", "loop"):
                        value, actual = normalised(value), normalised(actual)
                    if field == "error" and isinstance(value, str):
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
                same(f"values.{name}", value, values.get(name, "nothing"))
        elif key in ("waiting", "orphaned"):
            same(key, [normalised(each) for each in expected],
                 [normalised(each) for each in getattr(replay, key)])
        elif key != "outcome":
            differences.append(f"expect.{key}: there is no such field")
    return differences


def run_scenario(scenario: Any) -> list[str]:
    if not isinstance(scenario, dict):
        return ["scenario: an object is expected"]
    for field in ("program", "expect"):
        if field not in scenario:
            return [f"{field}: missing"]
    run = scenario.get("run", {})
    program = Program(scenario["program"])
    options = {"run_id": run["id"]} if "id" in run else {}
    replayer = Replayer(
        program.workflow,
        matching=Matching[scenario.get("matching", "strict").upper()],
        started_at_ms=run.get("startedAt", 0),
        **options,
    )
    replay = replayer.replay(scenario.get("history", []))
    if isinstance(replay.error, Mistake):
        return [str(replay.error)]
    return compare(scenario["expect"], replay, program.values)


def one_line(text: str) -> str:
    return text.replace("\n", "; ")


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
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not files:
            fail(str(path), "holds no .json file")
        for file in files:
            try:
                content = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                fail(str(file), str(error))
                continue
            for i, scenario in enumerate(content if isinstance(content, list) else [content]):
                name = scenario.get("name") if isinstance(scenario, dict) else None
                name = name if isinstance(name, str) and name else f"{file}[{i}]"
                try:
                    differences = run_scenario(scenario)
                except Exception as error:
                    differences = [f"{type(error).__name__}: {error}"]
                if differences:
                    fail(name, "; ".join(differences))
                else:
                    passed += 1
                    print(f"ok {one_line(name)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
