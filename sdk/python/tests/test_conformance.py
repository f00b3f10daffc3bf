import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from support import ROOT

import conform


def run(*paths: object) -> "tuple[int, list[str]]":
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = conform.main([str(path) for path in paths])
    return code, out.getvalue().splitlines()


class ConformanceTest(unittest.TestCase):
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
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "values.json").write_text(json.dumps(scenarios))
            _, lines = run(folder)
        self.assertEqual(lines, ["ok pending", "ok cancelled", "2 passed, 0 failed"])

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
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "shields.json").write_text(json.dumps(scenarios))
            _, lines = run(folder)
        self.assertEqual(lines, [*(f"ok {each['name']}" for each in scenarios),
                                 f"{len(scenarios)} passed, 0 failed"])

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
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "changing.json").write_text(json.dumps(scenarios))
            _, lines = run(folder)
        self.assertEqual(lines, [*(f"ok {each['name']}" for each in scenarios),
                                 f"{len(scenarios)} passed, 0 failed"])

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
        self.assertEqual(lines[2], "FAIL no such step: there is no step 'dance'")
        self.assertIn("new: expected 0 entries, got 2", lines[3])
        self.assertIn("broken.json", lines[4])
        self.assertEqual(lines[-1], "0 passed, 5 failed")


if __name__ == "__main__":
    unittest.main()
