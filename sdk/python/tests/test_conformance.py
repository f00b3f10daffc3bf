import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import ROOT

import conform


def run(*paths: object) -> "tuple[int, list[str]]":
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = conform.main([str(path) for path in paths])
    return code, out.getvalue().splitlines()


class ConformanceTest(unittest.TestCase):
    def assert_all_pass(self, scenarios: list) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "all.json").write_text(json.dumps(scenarios))
            _, lines = run(folder)
        self.assertEqual(lines, [*(f"ok {each['name']}" for each in scenarios),
                                 f"{len(scenarios)} passed, 0 failed"])

    def test_all_scenarios_pass(self) -> None:
        code, lines = run(ROOT / "conformance", ROOT / "docs" / "examples")
        self.assertEqual([line for line in lines if not line.startswith("ok ")][:-1], [])
        self.assertEqual(code, 0)
        passed = int(lines[-1].split()[0])
        self.assertEqual(lines[-1], f"{passed} passed, 0 failed")
        self.assertGreater(passed, 1000)

    def test_values_of_what_has_not_gone_on(self) -> None:
        scenarios = [
            {"name": "pending", "program": [
                {"try": [{"throw": "T"}], "catch": []}, {"task": "B", "as": "v"},
                {"try": [{"await_all": ["v"]}], "catch": []}],
             "expect": {"outcome": "suspended", "values": {"error": "T"}}},
            {"name": "cancelled",
             "history": [
                 {"event": "OperationCompleted", "location": "{1}", "operationName": "f",
                  "result": 1.5},
                 {"event": "TimerStarted", "location": "{2}", "timerId": "t"},
                 {"event": "CancellationRequested", "reason": "why"}],
             "program": [
                 {"run": "f", "returns": 1.5, "as": "a"}, {"timer": 2, "id": "t", "as": "t"},
                 {"try": [{"await_all": ["a", "t"]}], "catch": []}, {"return": {"$": "error"}}],
             "expect": {"outcome": "completed", "result": "cancelled: why",
                        "values": {"a": None}}},
        ]
        self.assert_all_pass(scenarios)

    def test_a_shield_is_for_what_is_awaited_in_it(self) -> None:
        scheduled = {"event": "TaskScheduled", "location": "{1}", "taskType": "A",
                     "taskExecutionId": "t-a"}
        opened = {"event": "BranchOpened", "location": "{1}"}
        inside = {**scheduled, "location": "{1, 1}"}
        cancelled = {"event": "CancellationRequested"}
        task = {"task": "A", "as": "a"}
        scenarios = [
            {"name": f"{place}, {verb}", "history": [*history, cancelled], "program": program(
                {verb: "a" if verb == "await" else ["a"]}),
             "expect": {"outcome": outcome}}
            for verb in ("await", "await_all", "await_any")
            for place, history, outcome, program in (
                ("made in it", [scheduled], "cancelled",
                 lambda step: [{"shield": [task]}, step]),
                ("made in a branch in it", [opened, inside], "cancelled",
                 lambda step: [{"shield": [{"branch": [task]}]}, step]),
                ("awaited in it", [scheduled], "suspended",
                 lambda step: [task, {"shield": [step]}]),
                ("awaited in a branch in it", [opened, inside], "suspended",
                 lambda step: [{"shield": [{"branch": [task, step]}]}]),
                ("awaited in arms in it", [opened, inside], "suspended",
                 lambda step: [{"shield": [{"join": [[task, step]]}]}]),
                ("awaited in a loop in it", [
                    {"event": "LoopStarted", "location": "{1}", "state": 0},
                    {**scheduled, "location": "{1, 1, 1}"}], "suspended",
                 lambda step: [{"shield": [{"loop": [task, step], "times": 1}]}]),
            )
        ]
        self.assert_all_pass(scenarios)

    def test_variables_that_change_while_they_are_awaited(self) -> None:
        history = [
            {"event": "TaskScheduled", "location": "{1}", "taskType": "A", "taskExecutionId": "t-a"},
            {"event": "BranchOpened", "location": "{2}"},
            {"event": "BranchOpened", "location": "{3}"},
            {"event": "TaskScheduled", "location": "{3, 1}", "taskType": "B",
             "taskExecutionId": "t-b"},
            {"event": "TaskCompleted", "taskExecutionId": "t-a", "result": 7},
        ]
        failed = {"event": "TaskFailed", "taskExecutionId": "t-a", "error": "broke"}
        task = {"task": "A", "as": "x"}
        others = [{"task": "B", "as": "x"}]
        scenarios = [
            {"name": "the winner's own name", "history": [history[0], history[-1]],
             "program": [task, {"await_any": ["x"], "as": "x"}, {"return": {"$": "x"}}],
             "expect": {"outcome": "completed", "result": "x"}},
            {"name": "that of one that failed", "history": [history[0], failed],
             "program": [task, {"try": [{"await_any": ["x"], "as": "x"}], "catch": []},
                         {"return": [{"$": "x"}, {"$": "error"}]}],
             "expect": {"outcome": "completed", "result": ["x", "broke"]}},
            {"name": "any of it", "history": history,
             "program": [task, {"join": [[{"await_any": ["x"], "as": "w"}], others]},
                         {"return": [{"$": "w"}, {"$": "x"}]}],
             "expect": {"outcome": "completed", "result": ["x", None]}},
            {"name": "it", "history": history,
             "program": [task, {"join": [[{"await": "x"}], others]}, {"return": {"$": "x"}}],
             "expect": {"outcome": "completed", "result": None}},
            {"name": "all of it", "history": history,
             "program": [task, {"join": [[{"await_all": ["x"]}], others]}, {"return": {"$": "x"}}],
             "expect": {"outcome": "completed", "result": None}},
        ]
        self.assert_all_pass(scenarios)

    def test_what_differs_is_told(self) -> None:
        scenarios = [
            {"name": "wrong result", "program": [{"return": 1}],
             "expect": {"outcome": "completed", "result": 2}},
            {"name": "true is not 1", "program": [{"return": True}],
             "expect": {"outcome": "completed", "result": 1}},
            {"name": "no such step", "program": [{"dance": 1}], "expect": {"outcome": "completed"}},
            {"name": "more entries", "program": [{"task": "A"}],
             "expect": {"outcome": "completed", "new": []}},
        ]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "bad.json").write_text(json.dumps(scenarios))
            (Path(folder) / "broken.json").write_text("{")
            code, lines = run(folder)
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], "FAIL wrong result: result: expected 2, got 1")
        self.assertEqual(lines[1], "FAIL true is not 1: result: expected 1, got true")
        self.assertTrue(lines[2].endswith(
            "bad.json[2]: program[0]: there is no step 'dance' (the first key of a step is its "
            "verb)"), lines[2])
        self.assertIn("new: expected 0 entries, got 2", lines[3])
        self.assertIn("broken.json", lines[4])
        self.assertEqual(lines[-1], "0 passed, 5 failed")

    def test_what_is_no_scenario_is_refused(self) -> None:
        good = {"program": [], "expect": {"outcome": "completed"}}
        step = {"now": True, "as": "x"}
        refused = [  # What is wrong, and what is said about it.
            ({"name": 5}, "name: expected a text, got 5"),
            ({"matching": None}, "matching: expected one of strict, per_kind, by_name, got null"),
            ({"matchin": "per_kind"}, "matchin: there is no such field; is it 'matching'?"),
            ({"run": "abc"}, 'run: expected an object, got the text "abc"'),
            ({"history": {}}, "history: expected a list, got an object"),
            ({"program": {}}, "program: expected a list, got an object"),
            ({"expect": {"outcome": "completed", "valuse": {}}},
             "expect.valuse: there is no such field; is it 'values'?"),
            ({"expect": {"outcome": "completed", "error": {"contains": "x"}}},
             'expect.error.contains: expected a list, got the text "x"'),
            *(({"program": [step, wrong]}, f"program[1]{what}") for wrong, what in [
                (1, ": expected an object, got 1"),
                ({}, ": a step needs a verb as its first key"),
                ({"as": "x", "now": True},
                 ": there is no step 'as' (the first key of a step is its verb)"),
                ({"task": "A", "speed": 3}, ".speed: there is no such field"),
                ({"task": "A", "as": ""}, ".as: must not be empty"),
                ({"task": 5}, ".task: expected a text, got 5"),
                ({"run": "a", "returns": 1, "throws": "x"},
                 ".throws: a run either returns or throws"),
                ({"run": "a", "throws": 1}, ".throws: expected a text, got 1"),
                ({"now": False}, ".now: expected true, got false"),
                ({"timer": 1.5},
                 ".timer: expected a whole number from 0 to 2305843009213693951, got 1.5"),
                ({"v": True, "do": step},
                 ".v: expected a whole number from 1 to 4294967295, got true"),
                ({"v": 2}, ".do: missing"),
                ({"try": []}, ".catch: missing"),
                ({"if": "x", "equals": 1}, ".then: missing"),
                ({"if": "x", "equals": 1, "then": [], "else": [{"branch": {}}]},
                 ".else[0].branch: expected a list, got an object"),
                ({"join": [[], [{"await_any": []}]]}, ".join[1][0].await_any: must not be empty"),
                ({"removed": "nonsense"}, ".removed: expected one of task, operation, timer,"),
            ]),
            ({"program": [{"await": "x"}]}, "variable 'x' is not set"),
            ({"program": [{"task": "A", "as": "a"},
                          {"join": [[{"await": "a"}], [{"return": {"$": "x"}}]]}],
              "expect": {"outcome": "suspended"}}, "variable 'x' is not set"),
        ]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "bad.json"
            file.write_text(json.dumps([
                {"name": "x", **good, **wrong} for wrong, _ in refused]))
            code, lines = run(file)
            for i, (line, (wrong, what)) in enumerate(zip(lines, refused)):
                name = "" if "name" in wrong else "x: "
                self.assertTrue(line.startswith(f"FAIL {name}{file}[{i}]: {what}"), line)
        self.assertEqual((code, lines[-1]), (1, f"0 passed, {len(refused)} failed"))

    def test_what_cannot_be_read_is_refused(self) -> None:
        program = '{"name": "x", "program": %s, "expect": {"outcome": "completed"}}'
        files = {
            "0.json": ("[" * 1_000_000, "maximum recursion depth exceeded"),
            "1.json": (program % ("[" * 20_000 + "]" * 20_000), "maximum recursion depth exceeded"),
            "2.json": (program % '[{"return": NaN}]', "NaN is no number"),
            "3.json": (program % '[{"return": "\\ud800"}]', "surrogates not allowed"),
            "4.json": ("[]", "holds no scenario"),
            "5.json": ("{", "Expecting property name"),
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, (text, _) in files.items():
                (Path(folder) / name).write_text(text)
            (Path(folder) / "6.json").write_bytes(b"\xff")
            (Path(folder) / "good.json").write_text(program % "[]")
            _, lines = run(folder)
        for line, (name, (_, what)) in zip(lines, files.items()):
            self.assertIn(f"{name}: ", line)
            self.assertIn(what, line)
        self.assertIn("invalid start byte", lines[6])
        self.assertEqual(lines[-2:], ["ok x", "1 passed, 7 failed"])

    def test_a_program_without_an_end_is_ended(self) -> None:
        scenarios = [
            {"name": "loop", "program": [{"loop": [], "times": 10**18}],
             "expect": {"outcome": "completed"}},
            {"name": "loops", "expect": {"outcome": "completed"}, "program": [
                {"try": [{"loop": [{"loop": [], "times": 10**9}], "times": 10**9}], "catch": []}]},
        ]
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(conform, "STEPS_MAX", 1000):
            file = Path(folder) / "long.json"
            file.write_text(json.dumps(scenarios))
            _, lines = run(file)
        what = "the program runs for more than 1000 steps"
        self.assertEqual(lines, [f"FAIL loop: {file}[0]: {what}", f"FAIL loops: {file}[1]: {what}",
                                 "0 passed, 2 failed"])


if __name__ == "__main__":
    unittest.main()
