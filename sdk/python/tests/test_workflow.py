"""What workflow code can do, in a test environment that replays every turn."""
import sys
import unittest
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, List
from uuid import UUID

from support import SOON, Environment, pawl, result_of


@dataclass
class Order:
    id: str
    cents: int


@pawl.activity
def double(number: int) -> int:
    return number * 2


@pawl.activity
def fail(message: str) -> None:
    raise ValueError(message)


class WorkflowTest(unittest.TestCase):
    def test_operations_give_back_what_they_returned(self) -> None:
        executed: List[str] = []

        def reserve(order: Order, count: int) -> Order:
            executed.append(order.id)
            return Order(order.id, order.cents * count)

        async def charge(order: Order) -> str:
            executed.append("charge")
            return f"paid {order.cents}"

        @pawl.workflow
        async def flow(ctx: pawl.Context, order: Order) -> str:
            reserved = await ctx.run("reserve", reserve, order, 3)
            assert isinstance(reserved, Order), reserved
            return await ctx.run("charge", charge, reserved)

        self.assertEqual(result_of(flow, Order("a", 5)), "paid 15")
        self.assertEqual(executed, ["a", "charge"])

    def test_a_failure_is_raised_where_it_is_awaited(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            seen = []
            for future in (
                ctx.run("op", fail, "no"),
                ctx.schedule(fail, "never"),
            ):
                try:
                    await future
                except pawl.ActivityFailed as error:
                    seen.append([error.type, error.message, str(error)])
            return seen

        self.assertEqual(result_of(flow, activities=[fail]), [
            ["ValueError", "no", "operation 'op' failed: ValueError: no"],
            ["ValueError", "never", "task 'fail' failed: ValueError: never"],
        ])

    def test_what_leaves_the_workflow_is_its_failure(self) -> None:
        class OutOfStock(Exception):
            pass

        @pawl.workflow
        async def flow(ctx: pawl.Context, how: str) -> None:
            if how == "own":
                line[0] = sys._getframe().f_lineno + 1
                raise OutOfStock("no lamps")
            if how == "activity":
                await ctx.run("op", fail, "no")
            raise pawl.ActivityError("detailed", type="Special", details={"a": 1})

        line = [0]
        for how, expected in [("own", ("OutOfStock", "no lamps")), ("activity", ("ValueError", "no")),
                              ("details", ("Special", "detailed"))]:
            with self.assertRaises(pawl.WorkflowFailed) as caught:
                result_of(flow, how)
            error = caught.exception
            self.assertEqual((error.type, error.message), expected)
            if how == "own":
                self.assertEqual(error.details, {"at": [f"tests/test_workflow.py:{line[0]} flow"]})
        self.assertEqual(error.details, {"a": 1})

    def test_input_and_result_are_checked(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context, order: Order) -> object:
            return object()

        with self.assertRaisesRegex(pawl.WorkflowFailed, "input of workflow 'flow': an object"):
            result_of(flow, 3)
        with self.assertRaisesRegex(pawl.WorkflowFailed, "result of workflow 'flow': object cannot"):
            result_of(flow, Order("a", 1))

    def test_tasks_and_all(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            return await ctx.all(*[ctx.schedule(double, i) for i in range(5)],
                                 ctx.schedule("double", 50, returns=int))

        self.assertEqual(result_of(flow, activities=[double]), [0, 2, 4, 6, 8, 100])

    def test_all_raises_the_first_failure(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            try:
                await ctx.all(ctx.sleep(1000), ctx.run("op", fail, "at once"))
            except pawl.ActivityFailed as error:
                return error.message
            return ""

        self.assertEqual(result_of(flow), "at once")

    def test_any_gives_the_winner(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            slow, fast = ctx.sleep(20, id="slow"), ctx.sleep(10, id="fast")
            winner = await ctx.any(slow, fast)
            return [winner is fast, slow.done(), fast.done()]

        self.assertEqual(result_of(flow), [True, False, True])

    def test_time_is_that_of_the_run(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            before = ctx.now()
            await ctx.sleep(timedelta(days=3))
            await ctx.sleep_until(before + timedelta(days=5))
            await ctx.sleep_until(before)
            return [(ctx.now() - before).days, ctx.now().timestamp() == ctx.time()]

        self.assertEqual(result_of(flow), [5, True])

    def test_with_timeout(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            value = await ctx.with_timeout(ctx.run("quick", lambda: 1), 60)
            try:
                await ctx.with_timeout(ctx.signal("never"), 60)
            except pawl.TimedOut as error:
                return [value, str(error)]
            return []

        self.assertEqual(result_of(flow), [1, "signal 'never' took longer than 60000 ms"])

    def test_state(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            seen = [ctx.get("order"), ctx.get("order", "none")]
            ctx.set("order", Order("a", 1))
            await ctx.sleep(1)
            seen.append(ctx.get("order", returns=Order) == Order("a", 1))
            ctx.clear("order")
            seen.append(ctx.get("order"))
            return seen

        self.assertEqual(result_of(flow), [None, "none", True, None])

    def test_uuid_and_random_are_the_same_in_every_replay(self) -> None:
        seen = set()

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            drawn = (ctx.uuid(), ctx.random(), ctx.randint(1, 6), ctx.randint(0, 2**63))
            seen.add(drawn)
            await ctx.sleep(1)
            await ctx.sleep(1)
            return [isinstance(drawn[0], UUID), 0 <= drawn[1] < 1, 1 <= drawn[2] <= 6]

        self.assertEqual(result_of(flow), [True, True, True])
        self.assertEqual(len(seen), 1)

    def test_branches_and_joins(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            async def arm(inner: pawl.Context, number: int) -> int:
                await inner.sleep(10 - number)
                return await inner.run("square", lambda n: n * n, number)

            one = await ctx.branch(lambda inner: arm(inner, 7))
            several = await ctx.join(*[lambda inner, i=i: arm(inner, i) for i in range(4)])
            nested = await ctx.join(lambda a: a.join(lambda b: arm(b, 1), lambda b: arm(b, 2)))
            return [one, several, nested, await ctx.join()]

        self.assertEqual(result_of(flow), [49, [0, 1, 4, 9], [[1, 4]], []])

    def test_a_join_raises_the_first_error_when_all_have_ended(self) -> None:
        ended = []

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            async def slow(inner: pawl.Context) -> None:
                await inner.sleep(10)
                raise KeyError("slow")

            async def fast(inner: pawl.Context) -> None:
                raise ValueError("fast")

            async def good(inner: pawl.Context) -> None:
                await inner.sleep(20)
                ended.append("good")

            try:
                await ctx.join(slow, fast, good)
            except Exception as error:
                return type(error).__name__
            return ""

        self.assertEqual(result_of(flow), "KeyError")
        self.assertIn("good", ended)

    def test_loops_forget_and_go_on(self) -> None:
        begun = []

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            async def body(inner: pawl.Context, order: Order) -> pawl.LoopStep:
                begun.append(order.cents)
                assert isinstance(order, Order)
                total = await inner.run("add", lambda n: n + 1, order.cents)
                if total == 50:
                    return pawl.break_with(total)
                return pawl.continue_with(Order(order.id, total))

            async def count(inner: pawl.Context, number: int) -> pawl.LoopStep:
                await inner.sleep(1)
                return pawl.continue_with(number + 2)

            broken = await ctx.loop(Order("a", 0), body, checkpoint_every=5)
            return [broken, await ctx.loop(0, count, times=3), await ctx.loop(9, count, times=0)]

        self.assertEqual(result_of(flow), [50, 6, 9])
        # Replayed from a checkpoint, not from the start.
        self.assertLess(begun.count(0), 12)

    def test_a_body_that_returns_something_else(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> None:
            async def body(inner: pawl.Context, state: int) -> int:
                return state

            await ctx.loop(0, body)  # type: ignore[arg-type]

        with self.assertRaisesRegex(pawl.WorkflowFailed, "the body returns continue_with"):
            result_of(flow)

    def test_recur(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context, left: int, numbers: List[int]) -> list:
            await ctx.sleep(1)
            if left:
                try:
                    ctx.recur(left - 1, [*numbers, ctx.info.number])
                except Exception:
                    raise AssertionError("it is no Exception") from None
            return numbers

        self.assertEqual(result_of(flow, 3, []), [1, 2, 3])

    def test_children(self) -> None:
        @pawl.workflow
        async def child(ctx: pawl.Context, number: int) -> Order:
            if number < 0:
                raise ValueError("negative")
            await ctx.sleep(5)
            return Order(ctx.info.id, number)

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            good = ctx.child(child, "c-1", 7, tags={"a": "b"})
            bad = ctx.child("child", "c-2", -1)
            again = ctx.child(child, "c-1", 8, parent_close=pawl.ParentClose.ABANDON)
            order = await good
            seen = [isinstance(order, Order), order.cents]
            for future in (bad, again):
                try:
                    await future
                except pawl.ChildFailed as error:
                    seen.append(error.type)
            return seen

        with Environment(workflows=[flow, child], replay_every_turn=True) as env:
            run = env.start(flow, "run").wait(SOON)
            seen = run.result().wait(SOON)
            self.assertEqual(seen[:3], [True, 7, "ValueError"])
            self.assertEqual(len(seen), 4)
            described = env.get("c-1").wait(SOON).describe().wait(SOON)
            self.assertEqual(described.tags, {"a": "b"})

    def test_signals_to_other_runs(self) -> None:
        @pawl.workflow
        async def listener(ctx: pawl.Context) -> list:
            future = ctx.signal("hello", returns=Order)
            order = await future
            event = future.event()
            return [order.cents, event.id, event.time, event.extensions]

        @pawl.workflow
        async def sender(ctx: pawl.Context) -> None:
            event = pawl.Event(id="e-1", source="test", time="2026-01-02T03:04:05Z",
                               extensions={"trace": "t"})
            await ctx.send("listener", "hello", Order("a", 5), event=event)

        with Environment(workflows=[listener, sender], replay_every_turn=True) as env:
            run = env.start(listener, "listener").wait(SOON)
            env.start(sender, "sender").wait(SOON).result().wait(SOON)
            self.assertEqual(run.result().wait(SOON), [5, "e-1", "2026-01-02T03:04:05Z", {"trace": "t"}])

    def test_events_of_clients_keep_their_time(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            future = ctx.signal("a")
            await future
            return future.event().time

        with Environment(workflows=[flow], replay_every_turn=True) as env:
            run = env.start(flow, "run").wait(SOON)
            event = pawl.Event(id="1", time="2026-01-02T03:04:05Z")
            run.signal("a", event=event).wait(SOON)
            self.assertEqual(run.result().wait(SOON), event.time)
            [seen] = [entry for entry in run.history().wait(SOON)
                      if entry["event"] == "SignalReceived"]
            self.assertEqual(seen["eventTime"], event.time)

    def test_leaving_memory_is_no_exception_for_the_code(self) -> None:
        seen: List[str] = []
        kept: List[pawl.Context] = []

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            kept.append(ctx)
            try:
                try:
                    await ctx.sleep(100)
                finally:
                    ctx.set("phase", "slept")
            except Exception as error:
                seen.append(str(error))
            return "slept"

        self.assertEqual(result_of(flow), "slept")
        self.assertEqual(seen, [])
        with self.assertRaisesRegex(pawl.UsageError, "set: .* after its run had ended"):
            kept[-1].set("phase", "later")

    def test_the_shortest_limit_is_one(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            seen = []
            for limit in (0, 0.0001, timedelta(0), timedelta(microseconds=1)):
                for future in (ctx.signal("s", timeout=limit),
                               ctx.promise(f"p-{len(seen)}", timeout=limit)):
                    try:
                        await future
                    except pawl.TimedOut as error:
                        seen.append(str(error)[-9:])
            return seen

        self.assertEqual(result_of(flow), ["timed out"] * 8)

    def test_arguments_arrive_as_they_were_given(self) -> None:
        @pawl.activity
        def echo(a: Any, b: Any = "b", *more: Any) -> list:
            return [a, b, *more]

        @pawl.workflow
        async def two(ctx: pawl.Context, a: Any, b: Any = "b") -> list:
            return [a, b]

        @pawl.workflow
        async def one(ctx: pawl.Context, a: Any) -> Any:
            return a

        @pawl.workflow
        async def flow(ctx: pawl.Context, *given: Any) -> list:
            arguments = tuple(given)
            return [await ctx.schedule(echo, *arguments), await ctx.child(two, f"{ctx.info.id}-two", *arguments),
                    await ctx.child(one, f"{ctx.info.id}-one", arguments[0])]

        with Environment(workflows=[flow, one, two], activities=[echo]) as env:
            for i, (given, came) in enumerate([
                (([1, 2],), [[1, 2], "b"]), ((None,), [None, "b"]), ((5,), [5, "b"]),
                (([],), [[], "b"]), (({"x": 1}, [2]), [{"x": 1}, [2]]),
            ]):
                with self.subTest(given=given):
                    run = env.start(flow, f"r-{i}", *given).wait(SOON)
                    self.assertEqual(run.result().wait(SOON), [came, came, given[0]])

    def test_arguments_that_do_not_fit_are_refused(self) -> None:
        @pawl.activity
        def charge(cents: int, to: str = "us") -> None: ...

        @pawl.workflow
        async def flow(ctx: pawl.Context, count: int = 7) -> list:
            said = []
            for call in (lambda: ctx.schedule(charge), lambda: ctx.schedule(charge, 1, "a", 2),
                         lambda: ctx.child(flow, "x", 1, 2), lambda: ctx.compensate(charge),
                         lambda: ctx.recur(1, 2)):
                try:
                    call()
                except pawl.UsageError as error:
                    said.append(str(error))
            return said

        with Environment(workflows=[flow], activities=[charge]) as env:
            said = env.start(flow, "run").wait(SOON).result().wait(SOON)
            self.assertEqual(said[0], "input of task 'charge': missing a required argument: "
                             "'cents': charge(cents: int, to: str = 'us') -> None".split(" ->")[0])
            self.assertEqual([each.split(": ")[1] for each in said],
                             ["missing a required argument", "too many positional arguments",
                              "too many positional arguments", "missing a required argument",
                              "too many positional arguments"])
            with self.assertRaisesRegex(pawl.UsageError, "too many positional .*: flow.count"):
                env.start(flow, "run", 1, 2)
            with self.assertRaisesRegex(pawl.UsageError, "too many positional"):
                env.start("flow", "run", 1, 2)
            with self.assertRaisesRegex(pawl.UsageError, "None cannot be told from .* 7"):
                env.start(flow, "run", None)

    def test_signals_wait_in_a_mailbox(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            await ctx.sleep(10)
            seen = [ctx.has_signal("a"), ctx.has_signal("b")]
            first = await ctx.signal("a")
            taken = ctx.try_signal("a", returns=int)
            assert taken is not None
            return [*seen, first, taken.value, taken.event.id, ctx.try_signal("a")]

        with Environment(workflows=[flow], replay_every_turn=True) as env:
            run = env.start(flow, "run").wait(SOON)
            self.assertTrue(run.signal("a", 1).wait(SOON))
            event = pawl.Event(id="e-2")
            self.assertTrue(run.signal("a", 2, event=event).wait(SOON))
            self.assertFalse(run.signal("a", 2, event=event).wait(SOON))
            self.assertEqual(run.result().wait(SOON), [True, False, 1, 2, "e-2", None])

    def test_promises(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            good = ctx.promise("good", returns=Order)
            ctx.set("token", good.token())
            bad, late = ctx.promise("bad"), ctx.promise("late", timeout=100)
            seen = [(await good).cents]
            for future in (bad, late):
                try:
                    await future
                except (pawl.PromiseRejected, pawl.TimedOut) as error:
                    seen.append(str(error))
            return seen

        with Environment(workflows=[flow], replay_every_turn=True) as env:
            run = env.start(flow, "run").wait(SOON)
            env.advance(1).wait(SOON)
            token = [entry["value"] for entry in run.history().wait(SOON)
                     if entry["event"] == "StateSet"][0]
            env.resolve_token(token, Order("a", 3)).wait(SOON)
            run.reject("bad", "Refused", "no").wait(SOON)
            with self.assertRaises(pawl.AlreadyExists):
                run.resolve("good").wait(SOON)
            self.assertEqual(run.result().wait(SOON), [
                3, "promise 'bad' failed: Refused: no", "promise 'late' timed out"])
            with self.assertRaisesRegex(pawl.UsageError, "no token"):
                env.resolve_token("%%%")

    def test_cancel_runs_handlers(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context, how: str) -> str:
            try:
                if how == "shielded":
                    await ctx.shielded().sleep(50)
                else:
                    await ctx.sleep(1000)
            except Exception:
                return "caught by except Exception"
            except pawl.Cancelled as error:
                await ctx.run("clean", lambda: None)
                if how == "caught":
                    return f"caught {error.reason} {ctx.cancelled()}"
                raise
            return f"slept {ctx.cancelled()}"

        with Environment(workflows=[flow], replay_every_turn=True) as env:
            runs = {}
            for how in ("caught", "raised", "shielded"):
                runs[how] = env.start(flow, how, how).wait(SOON)
                env.advance(1).wait(SOON)
                runs[how].cancel("enough").wait(SOON)
            self.assertEqual(runs["caught"].result().wait(SOON), "caught enough True")
            self.assertEqual(runs["shielded"].result().wait(SOON), "slept True")
            with self.assertRaises(pawl.WorkflowCancelled) as caught:
                runs["raised"].result().wait(SOON)
            self.assertEqual(caught.exception.reason, "enough")

    def test_what_a_shielded_context_returns_is_shielded(self) -> None:
        async def sleep(ctx: pawl.Context, *_: Any) -> Any:
            return await ctx.sleep(50)

        async def other(ctx: pawl.Context, *_: Any) -> Any:
            return await ctx.shielded().sleep(50)

        cases: "list[tuple[str, Any]]" = [
            ("waiting", lambda ctx, safe: safe.sleep(50)),
            ("waiting", lambda ctx, safe: ctx.sleep(50).shielded()),
            ("waiting", lambda ctx, safe: safe.all(ctx.sleep(50))),
            ("waiting", lambda ctx, safe: safe.any(ctx.sleep(50))),
            ("waiting", lambda ctx, safe: ctx.all(safe.sleep(50), safe.sleep(60))),
            ("waiting", lambda ctx, safe: safe.with_timeout(ctx.sleep(50), 60)),
            ("waiting", lambda ctx, safe: safe.branch(sleep)),
            ("waiting", lambda ctx, safe: safe.join(sleep, sleep)),
            ("waiting", lambda ctx, safe: safe.loop(0, sleep)),
            ("waiting", lambda ctx, safe: ctx.branch(other)),
            ("cancelled", lambda ctx, safe: ctx.sleep(50)),
            ("cancelled", lambda ctx, safe: ctx.all(safe.sleep(50), ctx.sleep(60))),
            ("cancelled", lambda ctx, safe: ctx.branch(sleep)),
            ("cancelled", lambda ctx, safe: ctx.join(sleep, sleep)),
        ]

        @pawl.workflow
        async def flow(ctx: pawl.Context, case: int) -> None:
            await cases[case][1](ctx, ctx.shielded())

        with Environment(workflows=[flow], replay_every_turn=True) as env:
            for i, (expected, _) in enumerate(cases):
                with self.subTest(case=i):
                    run = env.start(flow, f"r-{i}", i).wait(SOON)
                    env.advance(1).wait(SOON)
                    run.cancel().wait(SOON)
                    env.advance(1).wait(SOON)
                    self.assertEqual(run.describe().wait(SOON).status, expected)

    def test_cancelling_tasks_and_timers(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            seen = []
            timer, task = ctx.sleep(1000, id="nap"), ctx.schedule("nobody-has-it")
            for future in (timer, task):
                ctx.cancel(future)
                try:
                    await future
                except (pawl.TimerCancelled, pawl.TaskCancelled) as error:
                    seen.append(str(error))
            return seen

        self.assertEqual(result_of(flow), [
            "timer 'nap' was cancelled", "task 'nobody-has-it' was cancelled"])

    def test_sagas_undo_in_reverse(self) -> None:
        undone: List[str] = []

        @pawl.activity
        def undo(what: str) -> None:
            undone.append(what)

        @pawl.activity
        def undo_two(a: int, b: int) -> None:
            undone.append(f"{a} {b}")

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> None:
            saga = pawl.Saga(ctx)
            saga.add(undo, "first")
            ctx.compensate("undo", "second")
            saga.add(undo_two, 1, 2)
            await ctx.sleep(1)
            raise ValueError("no")

        with self.assertRaises(pawl.WorkflowFailed):
            result_of(flow, activities=[undo, undo_two])
        self.assertEqual(undone, ["1 2", "second", "first"])

    def test_info(self) -> None:
        @pawl.workflow(name="named")
        async def flow(ctx: pawl.Context) -> list:
            return [ctx.info.id, ctx.info.number, ctx.info.kind, len(ctx.info.uuid)]

        self.assertEqual(result_of(flow), ["run", 1, "named", 36])

    def test_what_is_not_durable_cannot_be_awaited(self) -> None:
        class Other:
            def __await__(self):  # type: ignore[no-untyped-def]
                yield None

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            try:
                await Other()
            except pawl.UsageError as error:
                await ctx.sleep(1)
                return str(error)[:42]
            return ""

        self.assertEqual(result_of(flow), "only what is durable can be awaited in a w")

    def test_a_context_is_for_its_own_workflow(self) -> None:
        kept: List[pawl.Context] = []

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            def use() -> str:
                try:
                    ctx.now()
                except pawl.UsageError as error:
                    return str(error)
                return ""

            kept.append(ctx)
            return await ctx.run("use", use)

        self.assertIn("was used outside of its workflow", result_of(flow))
        with self.assertRaises(pawl.UsageError):
            kept[0].sleep(1)

    def test_bad_arguments_get_one_clear_sentence(self) -> None:
        calls = {
            "run: the name must be a text, not int": lambda ctx: ctx.run(3, print),
            "operation needs a name": lambda ctx: ctx.run("", print),
            "run: 3 cannot be called": lambda ctx: ctx.run("a", 3),
            "sleep must be seconds or a timedelta, not str": lambda ctx: ctx.sleep("1"),
            "sleep must not be negative: -1": lambda ctx: ctx.sleep(-1),
            "any: there are no futures": lambda ctx: ctx.any(),
            "all: 1 is no future of this context": lambda ctx: ctx.all(1),
            "v: versions are numbers from 1": lambda ctx: ctx.v(0),
            "schedule: 'print' is neither a name nor decorated": lambda ctx: ctx.schedule(print),
            "input of task 'a': object cannot": lambda ctx: ctx.schedule("a", object()),
            "schedule: the queue must not be empty": lambda ctx: ctx.schedule("a", queue=""),
            "sleep_until: the time needs a time zone":
                lambda ctx: ctx.sleep_until(datetime(2026, 1, 1)),
            "run: a function is expected: ctx.run(name, function, *args)": lambda ctx: ctx.run("a"),
            "run: retry must be a pawl.Retry, e.g. pawl.Retry(attempts=3), not 3":
                lambda ctx: ctx.run("a", print, retry=3),
            "schedule: retry must be a pawl.Retry": lambda ctx: ctx.schedule("a", retry=3),
            "retry: final_types must be a list of texts, not the text 'ValueError'":
                lambda ctx: pawl.Retry(final_types="ValueError"),
            "child: parent_close must be one of ParentClose.CANCEL, ParentClose.ABANDON, ":
                lambda ctx: ctx.child("a", "b", parent_close="abandon"),
            "removed: the kind must be one of StepKind.TASK": lambda ctx: ctx.removed("task"),
            "cancel: a future is expected": lambda ctx: ctx.cancel("x"),
            "randint: the first number": lambda ctx: ctx.randint(2, 1),
            "start 'x': clients' calls are not for workflow code":
                lambda ctx: env.start("flow", "x", 1),
        }

        @pawl.workflow
        async def flow(ctx: pawl.Context, which: int) -> str:
            try:
                list(calls.values())[which](ctx)
            except pawl.Error as error:
                return str(error)
            return "nothing"

        with Environment(workflows=[flow]) as env:
            for i, expected in enumerate(calls):
                said = env.start(flow, f"run-{i}", i).wait(SOON).result().wait(SOON)
                self.assertIn(expected, said)

    def test_versions_of_code(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            ctx.removed(pawl.StepKind.TASK, "old")
            version = ctx.check_version(3)
            return [version, await ctx.v(2).run("new", lambda: 1)]

        self.assertEqual(result_of(flow), [3, 1])

    def test_definitions_are_checked(self) -> None:
        with self.assertRaisesRegex(pawl.UsageError, "must be an async def"):
            @pawl.workflow
            def not_async(ctx): ...  # type: ignore[no-untyped-def]
        with self.assertRaisesRegex(pawl.UsageError, "takes its context first"):
            @pawl.workflow
            async def no_context(): ...  # type: ignore[no-untyped-def]

        @pawl.workflow
        async def one(ctx: pawl.Context) -> None: ...

        with self.assertRaisesRegex(pawl.UsageError, "there are two of the workflow 'one'"):
            pawl.Engine("sqlite:x", workflows=[one, one])
        with self.assertRaisesRegex(pawl.UsageError, "workflows is a list of functions"):
            pawl.Engine("sqlite:x", workflows=one)
        with self.assertRaisesRegex(pawl.UsageError, "compensation: retry must be a pawl.Retry"):
            pawl.activity(name="a", compensation_retry=3)(print)
        with Environment(workflows=[one]) as env:
            with self.assertRaisesRegex(pawl.UsageError, "kinds must be a list of texts"):
                env.list(kinds="one")
            with self.assertRaisesRegex(pawl.UsageError, "statuses must be a list of texts"):
                env.list(statuses="failed")
            with self.assertRaisesRegex(pawl.UsageError, "there is no status 'lost'"):
                env.list(statuses=["lost"])
            with self.assertRaisesRegex(pawl.UsageError, "start: on_existing must be one of"):
                env.start(one, "x", on_existing="fail")
        with self.assertRaisesRegex(pawl.UsageError, "'one' is not decorated with @pawl.activity"):
            pawl.Engine("sqlite:x", activities=[one])

    def test_now_is_utc(self) -> None:
        with Environment() as env:
            before = env.now()
            env.advance(timedelta(hours=1)).wait(SOON)
            self.assertEqual(env.now() - before, timedelta(hours=1))
            self.assertIs(env.now().tzinfo, timezone.utc)


if __name__ == "__main__":
    unittest.main()
