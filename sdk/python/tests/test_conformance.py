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
