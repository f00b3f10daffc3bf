import asyncio
import json
import unittest
from typing import Any

from pawl.testing import Replayer
from support import SOON, Environment, pawl


@pawl.workflow
async def order(ctx: pawl.Context, item: str) -> str:
    shelf = await ctx.run("reserve", lambda: f"shelf of {item}")
    await ctx.schedule("charge", item)
    return shelf


class ReplayerTest(unittest.TestCase):
    def test_a_new_run(self) -> None:
        replay = Replayer(order).replay([], "lamp")
        self.assertEqual(replay.outcome, "suspended")
        self.assertEqual([(entry["event"], entry.get("location")) for entry in replay.new],
                         [("OperationCompleted", "{1}"), ("TaskScheduled", "{2}")])
        self.assertEqual(replay.new[0]["result"], "shelf of lamp")
        self.assertRegex(replay.new[1]["source"], r"^tests/test_replayer.py:\d+$")
        self.assertEqual(replay.waiting, ["{2}"])

    def test_a_recorded_one_executes_nothing(self) -> None:
        history = [{"event": "OperationCompleted", "operationName": "reserve", "result": "old"},
                   {"event": "TaskScheduled", "taskType": "charge", "taskExecutionId": "t"},
                   {"event": "TaskCompleted", "taskExecutionId": "t", "result": None}]
        for given in (history, json.dumps(history), json.dumps(history).encode()):
            replay = Replayer(order).replay(given, "lamp")
            self.assertEqual((replay.outcome, replay.result), ("completed", "old"))
            self.assertEqual([entry["event"] for entry in replay.new], ["WorkflowCompleted"])

    def test_a_violation_has_all_its_fields(self) -> None:
        history = [{"event": "OperationCompleted", "operationName": "pay", "source": "a.py:1"}]
        replay = Replayer(order).replay(history, "lamp")
        self.assertEqual((replay.outcome, replay.new), ("violation", []))
        found = replay.violation
        assert found is not None
        self.assertEqual(found.headline,
                         "Operation name mismatch at Operation(0): expected 'reserve', got 'pay'")
        self.assertRegex(found.code, r"^PAWL-\d{4}$")
        self.assertEqual((found.location, found.source_then), ("{1}", "a.py:1"))
        self.assertIn("test_replayer.py:", found.source_now)
        for field in ("label", "recorded", "asked", "advice", "text", "run_id"):
            self.assertTrue(getattr(found, field), field)
        self.assertEqual(str(found), found.text)

    def test_code_that_catches_a_violation_goes_no_further(self) -> None:
        async def stubborn(ctx: pawl.Context) -> str:
            try:
                await ctx.run("other", lambda: None)
            except BaseException:
                pass
            await ctx.sleep(1)
            return "done"

        history = [{"event": "OperationCompleted", "operationName": "step"}]
        self.assertEqual(Replayer(stubborn).replay(history).outcome, "violation")

    def test_matching_by_name(self) -> None:
        async def swapped(ctx: pawl.Context) -> list:
            return [await ctx.run("b", lambda: 0), await ctx.run("a", lambda: 0)]

        history = [{"event": "OperationCompleted", "operationName": name, "result": i}
                   for i, name in enumerate(["a", "b", "c"])]
        replay = Replayer(swapped, matching=pawl.Matching.BY_NAME).replay(history)
        self.assertEqual((replay.result, replay.orphaned), ([1, 0], ["{3}"]))

    def test_how_it_ended(self) -> None:
        async def ending(ctx: pawl.Context, how: str) -> None:
            if how == "recur":
                ctx.recur({"next": 1})
            if how == "raise":
                raise KeyError("x")
            await ctx.sleep(1)

        cancel = [{"event": "TimerStarted"}, {"event": "CancellationRequested", "reason": "stop"}]
        replayer = Replayer(ending)
        recurred = replayer.replay([], "recur")
        self.assertEqual((recurred.outcome, recurred.next_input), ("recurred", {"next": 1}))
        failed = replayer.replay([], "raise")
        self.assertEqual((failed.outcome, type(failed.error)), ("failed", KeyError))
        cancelled = replayer.replay(cancel, "sleep")
        self.assertEqual((cancelled.outcome, str(cancelled.error)), ("cancelled", "cancelled: stop"))

    def test_the_history_of_a_run(self) -> None:
        @pawl.activity
        def charge(item: str) -> None:
            pass

        with Environment(workflows=[order], activities=[charge]) as env:
            run = env.start(order, "run", "lamp").wait(SOON)
            run.result().wait(SOON)
            history = run.history().wait(SOON)
            uuid = run.describe().wait(SOON).info.uuid
        replay = Replayer(order, run_id=uuid).replay(history, "lamp")
        self.assertEqual((replay.outcome, replay.result, replay.new),
                         ("completed", "shelf of lamp", []))

    def test_a_run_of_an_engine(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context, again: bool) -> list:
            await ctx.sleep(5)
            if again:
                ctx.recur(False)
            seen = [str(ctx.uuid()), ctx.random(), ctx.time(), ctx.info.id, ctx.info.number]
            await ctx.schedule(f"for-{ctx.info.id}-{ctx.uuid()}")
            return seen

        with Environment(workflows=[flow]) as env:
            run = env.start(flow, "some-run", True).wait(SOON)
            env.advance(20).wait(SOON)
            history, run_ = run.history().wait(SOON), run.describe().wait(SOON)
        self.assertEqual((run_.info.number, history[-1]["event"]), (2, "TaskScheduled"))
        replay = Replayer(flow).replay(history, False, run=run_)
        self.assertEqual((replay.outcome, replay.new), ("suspended", []))
        self.assertEqual(Replayer(flow).replay(history, False).outcome, "violation")

    def test_coroutines_inside_of_a_running_loop(self) -> None:
        async def work() -> int:
            await asyncio.sleep(0)
            return 7

        async def flow(ctx: pawl.Context) -> int:
            return await ctx.run("work", work)

        async def main() -> Any:
            return Replayer(flow).replay([])

        replay = asyncio.run(main())
        self.assertEqual((replay.error, replay.result), (None, 7))

    def test_bad_input(self) -> None:
        with self.assertRaisesRegex(pawl.UsageError, "history: .*event"):
            Replayer(order).replay([{}], "lamp")
        with self.assertRaisesRegex(pawl.UsageError, "history"):
            Replayer(order).replay("[", "lamp")
        with self.assertRaisesRegex(pawl.UsageError, "is no UUID"):
            Replayer(order, run_id="x").replay([], "lamp")
        with self.assertRaisesRegex(pawl.UsageError, "an async def is expected"):
            Replayer(print)


if __name__ == "__main__":
    unittest.main()
