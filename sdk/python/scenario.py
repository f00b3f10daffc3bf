"""What a file of scenarios may hold (docs/formats/scenario.md). Anything else is a `Mistake`, whose
text names the place."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from pawl import Matching, StepKind


class Mistake(BaseException):
    """In the scenario itself. No program catches it."""


Check = Callable[[Any, str], None]  # Takes a value and its place.
Fields = Dict[str, Check]  # Those whose name ends in ? may be left out.


def described(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value, ensure_ascii=False)
    return ("the text " if isinstance(value, str) else "") + text[:60]


def ensure(holds: bool, expected: str, value: Any, place: str) -> None:
    if not holds:
        raise Mistake(f"{place}: expected {expected}, got {described(value)}")


# --- Types of values ------------------------------------------------------------------------------


def anything(_: Any, __: str) -> None:
    pass


def text(value: Any, place: str) -> None:
    ensure(isinstance(value, str), "a text", value, place)


def name(value: Any, place: str) -> None:
    text(value, place)
    if not value:
        raise Mistake(f"{place}: must not be empty")


def true(value: Any, place: str) -> None:
    ensure(value is True, "true", value, place)


def is_whole(value: Any) -> bool:
    return type(value) is int or isinstance(value, float) and value.is_integer()


def whole(low: int, high: int) -> Check:
    def check(value: Any, place: str) -> None:
        ensure(is_whole(value) and low <= value <= high,
               f"a whole number from {low} to {high}", value, place)

    return check


def one_of(*words: str) -> Check:
    def check(value: Any, place: str) -> None:
        ensure(value in words, "one of " + ", ".join(words), value, place)

    return check


def or_variable(check: Check) -> Check:
    return lambda value, place: None if is_variable(value) else check(value, place)


def is_variable(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("$"), str)


def list_of(check: Check, least: int = 0) -> Check:
    def check_all(value: Any, place: str) -> None:
        ensure(isinstance(value, list), "a list", value, place)
        if len(value) < least:
            raise Mistake(f"{place}: must not be empty")
        for i, each in enumerate(value):
            check(each, f"{place}[{i}]")

    return check_all


def object_of(fields: Fields, is_open: bool = False) -> Check:
    """In one that is open, unknown fields are for people, unless they look like a misspelt one."""
    known = {field.rstrip("?"): check for field, check in fields.items()}

    def check(value: Any, place: str) -> None:
        ensure(isinstance(value, dict), "an object", value, place or "scenario")
        before = place and place + "."
        for field, each in value.items():
            if field in known:
                known[field](each, before + field)
                continue
            meant = [
                other for other in known if slips(field, other) <= (1 if len(other) < 5 else 2)
            ]
            if meant or not is_open:
                hint = f"; is it '{meant[0]}'?" if meant else ""
                raise Mistake(f"{before}{field}: there is no such field{hint}")
        for field in fields:
            if not field.endswith("?") and field not in value:
                raise Mistake(f"{before}{field}: missing")

    return check


def slips(a: str, b: str) -> int:
    """How many letters have to be put in, taken out or changed; about, if they are many."""
    if abs(len(a) - len(b)) > 2:
        return 3
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(row[j] + 1, last[j + 1] + 1, last[j] + (x != y)))
    return row[-1]


def step(value: Any, place: str) -> None:
    ensure(isinstance(value, dict), "an object", value, place)
    verb = next(iter(value), None)
    if verb not in STEPS:
        raise Mistake(f"{place}: there is no step '{verb}' (the first key of a step is its verb)"
                      if value else f"{place}: a step needs a verb as its first key")
    STEPS[verb](value, place)
    if verb == "run" and "returns" in value and "throws" in value:
        raise Mistake(f"{place}.throws: a run either returns or throws")


# --- What there is --------------------------------------------------------------------------------

NUMBER_MAX = 2**61 - 1
duration = whole(0, NUMBER_MAX)
version = whole(1, 2**32 - 1)
steps = list_of(step)

KEY: Fields = {"stepKey?": name}
INPUT: Fields = {"input?": anything, **KEY}

# Of what type the value of each verb is, and which other fields it has.
VERBS: Dict[str, Tuple[Check, Fields]] = {
    "task": (name, INPUT),
    "run": (name, {"returns?": anything, "throws?": or_variable(name), **INPUT}),
    "timer": (duration, {"id?": name, **KEY}),
    "promise": (name, {"timeout?": duration, **KEY}),
    "child": (name, {"kind": name, **INPUT}),
    "signal": (name, {"timeout?": duration, **KEY}),
    "await": (name, {}),
    "await_all": (list_of(text), {}),
    "await_any": (list_of(text, least=1), {}),
    "cancel": (name, {}),
    "set": (name, {"value": anything, **KEY}),
    "clear": (name, KEY),
    "get": (name, {}),
    "has_signal": (name, {}),
    "drain": (name, {}),
    "now": (true, {}),
    "uuid": (true, {}),
    "random": (true, {}),
    "cancelled": (true, {}),
    "branch": (steps, KEY),
    "join": (list_of(steps), {}),
    "loop": (steps, {"times": or_variable(duration), "checkpointEvery?": version, **KEY}),
    "v": (version, {"do": step}),
    "removed": (one_of(*(kind.name.lower() for kind in StepKind)), {"name?": name, **KEY}),
    "check_version": (version, {}),
    "compensate": (name, INPUT),
    "if": (name, {"equals": anything, "then": steps, "else?": steps}),
    "try": (steps, {"catch": steps}),
    "shield": (steps, {}),
    "return": (anything, {}),
    "throw": (or_variable(name), {}),
    "recur": (anything, {}),
}
STEPS = {verb: object_of({verb: subject, **fields, "as?": name})
         for verb, (subject, fields) in VERBS.items()}

check_scenario = object_of({
    "name": name,
    "matching?": one_of(*(matching.name.lower() for matching in Matching)),
    "run?": object_of({
        "id?": name, "kind?": text, "input?": anything,
        "startedAt?": whole(-NUMBER_MAX, NUMBER_MAX),
    }, is_open=True),
    "history?": list_of(anything),  # The core looks at its entries.
    "program": steps,
    "expect": object_of({
        "outcome": one_of("completed", "failed", "cancelled", "recurred", "suspended", "violation"),
        "result?": anything,
        "error?": object_of({"contains?": list_of(text), "location?": text, "code?": text}),
        "new?": list_of(object_of({}, is_open=True)),
        "values?": object_of({}, is_open=True),
        "waiting?": list_of(text),
        "orphaned?": list_of(text),
    }),
}, is_open=True)


def read_file(file: Path) -> List[Tuple[str, Any]]:
    """The scenarios in it, each with its place."""
    def refuse(word: str) -> None:
        raise ValueError(f"malformed JSON: {word} is no number")

    content = json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    json.dumps(content, ensure_ascii=False).encode()  # Fails if a text holds half a surrogate pair.
    if content == []:
        raise ValueError("holds no scenario")
    if isinstance(content, list):
        return [(f"{file}[{i}]", scenario) for i, scenario in enumerate(content)]
    return [(str(file), content)]
