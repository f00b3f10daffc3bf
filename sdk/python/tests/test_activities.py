"""How activities and operations are executed."""
import asyncio
import functools
import json
import threading
import time
import unittest
from dataclasses import dataclass, field
from typing import Any, List

from support import SOON, Environment, FileTest, pawl, result_of


class ActivityTest(unittest.TestCase):
    def test_retries_with_attempt_numbers_and_one_key(self) -> None:
        seen: List[Any] = []

        @pawl.activity
        def flaky(number: int) -> int:
            attempt = pawl.current_attempt()
            seen.append((attempt.number, attempt.key, attempt.run_id, attempt.name))
            if attempt.number < 3:
                raise ConnectionError("try again")
            return number

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            retry = pawl.Retry(attempts=5, initial=3600, maximum=7200)
            return [await ctx.schedule(flaky, 1, retry=retry),
                    await ctx.run("flaky-op", flaky, 2, retry=retry)]

        self.assertEqual(result_of(flow, activities=[flaky]), [1, 2])
        self.assertEqual([each[0] for each in seen], [1, 2, 3, 1, 2, 3])
        self.assertEqual(len({each[1] for each in seen[:3]}), 1)
        self.assertEqual(len({each[1] for each in seen}), 2)
        self.assertEqual({each[2] for each in seen}, {"run"})
        self.assertEqual([each[3] for each in seen], ["flaky"] * 3 + ["flaky-op"] * 3)

    def test_errors_say_whether_and_when_to_try_again(self) -> None:
        attempts: List[int] = []

        @pawl.activity
        def final() -> None:
            attempts.append(1)
            raise pawl.ActivityError("no", type="Never", details=[1], final=True)

        @pawl.activity
        def of_final_type() -> None:
            attempts.append(2)
            raise KeyError("key")

        @pawl.activity
        async def later() -> None:
            if pawl.current_attempt().number == 1:
                raise pawl.ActivityError("wait", next_delay=5000)

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            retry = pawl.Retry(attempts=5, initial=1, final_types=["KeyError"])
            seen = []
            for activity in (final, of_final_type):
                try:
                    await ctx.schedule(activity, retry=retry)
                except pawl.ActivityFailed as error:
                    seen.append([error.type, error.details])
            seen[1][1] = seen[1][1]["at"][0].split(":")[0]
            before = ctx.time()
            await ctx.schedule(later, retry=retry)
            return [*seen, ctx.time() - before >= 5000]

        self.assertEqual(result_of(flow, activities=[final, of_final_type, later]),
                         [["Never", [1]], ["KeyError", "tests/test_activities.py"], True])
        self.assertEqual(attempts, [1, 2])
        with self.assertRaisesRegex(pawl.UsageError, "next_delay must not be negative"):
            pawl.ActivityError("x", next_delay=-1)

    def test_a_result_that_is_no_json_fails_for_good(self) -> None:
        calls: List[int] = []

        def odd() -> object:
            calls.append(1)
            return object()

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> None:
            await ctx.run("odd", odd, retry=pawl.Retry(attempts=3))

        with self.assertRaisesRegex(pawl.WorkflowFailed, "PayloadError: result of 'odd': object"):
            result_of(flow)
        self.assertEqual(len(calls), 1)

    def test_whatever_goes_wrong_there_is_an_answer(self) -> None:
        @dataclass
        class Half:
            whole: int
            missing: int = field(init=False)

        class Silent(Exception):
            def __str__(self) -> str:
                raise ValueError("no text")

        class Bare(pawl.ActivityError):
            def __init__(self) -> None:
                pass

        def end(how: str) -> Any:
            if how == "half":
                return Half(1)
            if how == "details":
                raise pawl.ActivityError("x", details=Silent())
            raise {"silent": Silent, "bare": Bare}[how]()

        @pawl.activity
        def blocking(how: str) -> Any:
            return end(how)

        @pawl.activity
        async def coroutine(how: str) -> Any:
            return end(how)

        @pawl.workflow
        async def flow(ctx: pawl.Context, where: str, how: str) -> Any:
            if where == "operation":
                return await ctx.run("end", end, how)
            if where == "workflow":
                return end(how)
            return await ctx.schedule(where, how)

        with Environment(workflows=[flow], activities=[blocking, coroutine]) as env:
            for where in ("operation", "workflow", "blocking", "coroutine"):
                for how, type in (("half", "PayloadError"), ("silent", "Silent"), ("bare", "Bare"),
                                  ("details", "ActivityError")):
                    with self.subTest(where=where, how=how):
                        run = env.start(flow, f"{where} {how}", where, how).wait(SOON)
                        with self.assertRaises(pawl.WorkflowFailed) as caught:
                            run.result().wait(SOON)
                        self.assertEqual(caught.exception.type, type)
            assert env._worker is not None
            for _ in range(1000):
                if env._worker._pool.is_idle() and env._worker._async.is_idle():
                    break
                threading.Event().wait(0.01)
            self.assertTrue(env._worker._pool.is_idle() and env._worker._async.is_idle())

    def test_a_failure_says_where(self) -> None:
        def inner() -> Any:
            return json.loads("{")

        def outer() -> Any:
            return inner()

        @pawl.workflow
        async def flow(ctx: pawl.Context, where: str) -> Any:
            if where == "workflow":
                return inner()
            return await ctx.run("outer", outer)

        line = inner.__code__.co_firstlineno + 1
        with Environment(workflows=[flow]) as env:
            for where, names in (("workflow", ["inner", "flow"]), ("run", ["inner", "outer"])):
                run = env.start(flow, where, where).wait(SOON)
                with self.assertRaises(pawl.WorkflowFailed) as caught:
                    run.result().wait(SOON)
                places = caught.exception.details["at"]
                self.assertEqual([each.split()[1] for each in places], names)
                self.assertEqual(places[0], f"tests/test_activities.py:{line} inner")

    def test_methods_and_other_things_that_can_be_called(self) -> None:
        class Shop:
            def __init__(self, start: int) -> None:
                self.start = start

            @pawl.activity
            def charge(self, cents: int) -> int:
                return self.start + cents

            @pawl.activity
            async def refund(self, cents: int, why: str = "") -> int:
                return self.start - cents

            def plain(self, number: int) -> int:
                return self.start * number

            def __call__(self, number: int, more: int = 0) -> int:
                return self.start + number + more

        def add(a: int, b: int) -> int:
            return a + b

        shop = Shop(100)
        plain = pawl.activity(shop.plain)
        plus_one = pawl.activity(name="plus-one")(functools.partial(add, 1))
        called = pawl.activity(shop)

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            return [await ctx.schedule(shop.charge, 1), await ctx.schedule(Shop.charge, 2),
                    await ctx.schedule("refund", [3, "x"]), await ctx.schedule(shop.refund, 4),
                    await ctx.schedule(plain, 5), await ctx.schedule(plus_one, 6),
                    await ctx.schedule(called, 7), await ctx.run("shop", shop, 8)]

        self.assertEqual(
            result_of(flow, activities=[shop.charge, shop.refund, plain, plus_one, called]),
            [101, 102, 97, 96, 500, 7, 107, 108])
        with self.assertRaisesRegex(pawl.UsageError, "'charge' is a method of a class"):
            Environment(activities=[Shop.charge])

    def test_even_an_exit_is_a_failure(self) -> None:
        def leave() -> None:
            raise SystemExit("bye")

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            try:
                await ctx.run("leave", leave)
            except pawl.ActivityFailed as error:
                return error.type
            return ""

        self.assertEqual(result_of(flow), "SystemExit")

    def test_heartbeats_carry_details_to_the_next_attempt(self) -> None:
        seen: List[Any] = []

        @pawl.activity
        def copy() -> int:
            attempt = pawl.current_attempt()
            seen.append(attempt.last_details(returns=int))
            if attempt.number == 1:
                seen.append(attempt.heartbeat(17))
                raise OSError("lost")
            return 1

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> int:
            return await ctx.schedule(copy, retry=pawl.Retry(attempts=2), heartbeat_timeout=60)

        self.assertEqual(result_of(flow, activities=[copy]), 1)
        self.assertEqual(seen, [None, True, 17])

    def test_arguments_that_are_no_json_are_passed_on(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.run("kind", lambda value: type(value).__name__, object())

        self.assertEqual(result_of(flow), "object")

    def test_fakes(self) -> None:
        @pawl.activity
        def charge(cents: int) -> str:
            raise AssertionError("the real one")

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            return [await ctx.schedule(charge, 5), await ctx.run("mail", charge, 6)]

        with Environment(workflows=[flow], activities=[charge]) as env:
            env.fake("charge", lambda cents: f"charged {cents}")
            env.fake("mail", lambda cents: f"mailed {cents}")
            run = env.start(flow, "run").wait(SOON)
            self.assertEqual(run.result().wait(SOON), ["charged 5", "mailed 6"])

    def test_a_fake_gets_the_arguments_of_the_real_one(self) -> None:
        @pawl.activity
        def charge(cents: List[int], to: Any = None) -> str:
            raise AssertionError("the real one")

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.schedule(charge, [1, 2])

        with Environment(workflows=[flow], activities=[charge]) as env:
            env.fake("charge", lambda cents: f"charged {cents}")
            run = env.start(flow, "run").wait(SOON)
            self.assertEqual(run.result().wait(SOON), "charged [1, 2]")

    def test_time_limits(self) -> None:
        @pawl.activity
        def never() -> None:
            raise AssertionError("nobody takes tasks from that queue")

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            seen = []
            for options in ({"wait_timeout": 60, "queue": "nobody"},
                            {"total_timeout": 60, "queue": "nobody"},
                            {"total_timeout": 60, "queue": "nobody", "priority": 3}):
                before = ctx.time()
                try:
                    await ctx.schedule(never, **options)
                except pawl.ActivityFailed:
                    seen.append(ctx.time() - before)
            return seen

        self.assertEqual(result_of(flow, activities=[never]), [60, 60, 60])

    def test_there_is_no_attempt_elsewhere(self) -> None:
        with self.assertRaisesRegex(pawl.UsageError, "not called by an activity"):
            pawl.current_attempt()


class ThreadTest(FileTest):
    def test_a_function_that_blocks_keeps_nobody_waiting(self) -> None:
        gate = threading.Event()
        others = threading.Semaphore(0)

        def block() -> str:
            assert gate.wait(SOON)
            return "blocked"

        def quick() -> str:
            others.release()
            return "quick"

        @pawl.workflow
        async def flow(ctx: pawl.Context, blocks: bool) -> str:
            return await ctx.run("step", block if blocks else quick)

        with pawl.Engine(self.url, workflows=[flow]) as engine:
            blocked = [engine.start(flow, f"b-{i}", True).wait(SOON) for i in range(20)]
            for i in range(20):
                run = engine.start(flow, f"q-{i}", False).wait(SOON)
                self.assertEqual(run.result().wait(SOON), "quick")
            self.assertTrue(others.acquire(timeout=SOON))
            gate.set()
            for each in blocked:
                self.assertEqual(each.result().wait(SOON), "blocked")

    def test_operations_whose_run_leaves_memory(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context, number: int) -> int:
            return sum(await ctx.all(*[ctx.run("step", lambda a, b: a * b, i, number)
                                       for i in range(1, 9)]))

        engines = [Environment(workflows=[flow], replay_every_turn=True),
                   pawl.Engine(self.url, workflows=[flow], cache_bytes=1)]
        for engine in engines:
            with engine:
                runs = [engine.start(flow, f"r-{i}", i) for i in range(100)]
                results = [run.wait(SOON).result() for run in runs]
                self.assertEqual([each.wait(SOON) for each in results],
                                 [36 * i for i in range(100)])

    def test_coroutines_run_at_the_same_time(self) -> None:
        waiting: List[asyncio.Future] = []

        @pawl.activity
        async def meet(number: int) -> int:
            waiting.append(asyncio.get_running_loop().create_future())
            if len(waiting) == 10:
                for each in waiting:
                    each.set_result(None)
            await asyncio.wait_for(waiting[-1], SOON)
            return number

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            return await ctx.all(*[ctx.schedule(meet, i) for i in range(5)],
                                 *[ctx.run("meet", meet, i) for i in range(5, 10)])

        with pawl.Engine(self.url, workflows=[flow], activities=[meet]) as engine:
            run = engine.start(flow, "run").wait(SOON)
            self.assertEqual(run.result().wait(SOON), list(range(10)))

    def test_a_cancelled_task_stops_its_coroutine(self) -> None:
        began, ended = threading.Event(), threading.Event()

        @pawl.activity
        async def forever() -> None:
            began.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ended.set()
                raise

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            task = ctx.schedule(forever)
            await ctx.signal("stop")
            ctx.cancel(task)
            try:
                await task
            except pawl.TaskCancelled:
                return "cancelled"
            return ""

        with pawl.Engine(self.url, workflows=[flow], activities=[forever]) as engine:
            run = engine.start(flow, "run").wait(SOON)
            self.assertTrue(began.wait(SOON))
            run.signal("stop").wait(SOON)
            self.assertEqual(run.result().wait(SOON), "cancelled")
            self.assertTrue(ended.wait(SOON))

    def test_closing_cancels_coroutines(self) -> None:
        began, ended = threading.Event(), threading.Event()

        @pawl.activity
        async def forever() -> None:
            began.set()
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0.5)  # Is not cancelled once more.
                ended.set()

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> None:
            await ctx.schedule(forever)

        with pawl.Engine(self.url, workflows=[flow], activities=[forever], grace=SOON) as engine:
            engine.start(flow, "run").wait(SOON)
            self.assertTrue(began.wait(SOON))
            before = time.monotonic()
        self.assertLess(time.monotonic() - before, SOON / 2)
        self.assertTrue(ended.is_set())

    def test_an_attempt_that_takes_too_long(self) -> None:
        stopped = threading.Event()

        def slow() -> None:
            attempt = pawl.current_attempt()
            while not attempt.should_stop():
                threading.Event().wait(0.001)
            stopped.set()

        async def slow_coroutine() -> None:
            await asyncio.sleep(3600)

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            seen = []
            for function in (slow, slow_coroutine):
                try:
                    await ctx.run("slow", function, timeout=0.05)
                except pawl.ActivityFailed as error:
                    seen.append(error.type)
            return seen

        with pawl.Engine(self.url, workflows=[flow]) as engine:
            run = engine.start(flow, "run").wait(SOON)
            self.assertEqual(len(run.result().wait(SOON)), 2)
            self.assertTrue(stopped.wait(SOON))

    def test_queues_have_their_own_limits(self) -> None:
        lock = threading.Lock()
        running, most = [0], [0]

        @pawl.activity
        def count() -> None:
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            threading.Event().wait(0.001)
            with lock:
                running[0] -= 1

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> None:
            await ctx.all(*[ctx.schedule(count, queue="narrow") for _ in range(30)])

        with pawl.Engine(self.url, workflows=[flow], activities=[count],
                         queues={"narrow": 2}) as engine:
            engine.start(flow, "run").wait(SOON).result().wait(SOON)
        self.assertLessEqual(most[0], 2)

    def test_what_closing_stops_is_done_again(self) -> None:
        gate, began = threading.Event(), threading.Semaphore(0)
        self.addCleanup(gate.set)

        def block(number: int) -> int:
            began.release()
            if not gate.wait(SOON):
                raise AssertionError("nobody opened the gate")
            return number

        @pawl.activity
        async def block_coroutine(number: int) -> int:
            began.release()
            while not gate.is_set():
                await asyncio.sleep(0.001)
            return number

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            return await ctx.all(ctx.run("op", block, 1), ctx.run("async", block_coroutine, 2),
                                 ctx.schedule(block_coroutine, 3))

        options = {"workflows": [flow], "activities": [block_coroutine], "grace": 0}
        with pawl.Engine(self.url, threads=3, **options) as engine:
            for i in range(5):  # More than there are threads: some are not even begun.
                engine.start(flow, f"r-{i}").wait(SOON)
            for _ in range(3):
                self.assertTrue(began.acquire(timeout=SOON))
        gate.set()
        with pawl.Engine(self.url, **options) as engine:
            for i in range(5):
                run = engine.get(f"r-{i}").wait(SOON)
                self.assertEqual(run.result().wait(SOON), [1, 2, 3])

    def test_what_fails_because_of_closing_has_not_failed(self) -> None:
        began = threading.Event()

        def give_up(stops: bool) -> str:
            attempt = pawl.current_attempt()
            began.set()
            while stops and not attempt.should_stop():
                threading.Event().wait(0.001)
            if stops:
                raise InterruptedError("asked to stop")
            return "done"

        is_first = [True]

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.run("op", lambda: give_up(is_first[0]))

        with pawl.Engine(self.url, workflows=[flow], grace=SOON) as engine:
            engine.start(flow, "run").wait(SOON)
            self.assertTrue(began.wait(SOON))
        is_first[0] = False
        with pawl.Engine(self.url, workflows=[flow]) as engine:
            self.assertEqual(engine.get("run").wait(SOON).result().wait(SOON), "done")

    def test_closing_lets_attempts_end(self) -> None:
        began, told = threading.Event(), []

        def patient() -> str:
            attempt = pawl.current_attempt()
            began.set()
            while not attempt.should_stop():
                threading.Event().wait(0.001)
            told.append("stopped")
            return "done"

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.run("patient", patient)

        with pawl.Engine(self.url, workflows=[flow], grace=SOON) as engine:
            call = engine.start(flow, "run").wait(SOON).result()
            self.assertTrue(began.wait(SOON))
        self.assertEqual(told, ["stopped"])
        try:
            self.assertEqual(call.wait(SOON), "done")
        except pawl.Closed:
            pass  # The engine was gone before the run had ended.


if __name__ == "__main__":
    unittest.main()
