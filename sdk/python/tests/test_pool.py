"""Threads that cannot be started: what there is to do is done later."""
import contextlib
import threading
import unittest
from queue import SimpleQueue
from typing import Iterator, List
from unittest import mock

from pawl.pool import Pool
from support import SOON, FileTest, pawl


@contextlib.contextmanager
def no_threads(*names: str) -> "Iterator[SimpleQueue[str]]":
    """Of these names none can be started: those that were tried."""
    tried: "SimpleQueue[str]" = SimpleQueue()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name not in names:
            return start(thread)
        tried.put(thread.name)
        raise RuntimeError("can't start new thread")

    with mock.patch.object(threading.Thread, "start", refuse):
        yield tried


class PoolTest(unittest.TestCase):
    def setUp(self) -> None:
        self.told: List[str] = []
        self.seen: List[str] = []
        self.changed = threading.Condition()
        self.began = threading.Event()
        self.gate = threading.Event()
        self.pool = Pool(self.execute, 4, self.told.append)
        self.addCleanup(self.pool.stop)

    def execute(self, job: str) -> None:
        if job == "slow":
            self.began.set()
            self.gate.wait(SOON)
        with self.changed:
            self.seen.append(job)
            self.changed.notify_all()

    def expect(self, *jobs: str) -> None:
        with self.changed:
            self.changed.wait_for(lambda: len(self.seen) >= len(jobs), SOON)
        self.assertEqual(self.seen, list(jobs))

    def test_without_any_the_next_put_tries_again(self) -> None:
        with no_threads("pawl-1"):
            self.pool.put(["first"])
            self.pool.put(["second"])
            self.assertTrue(self.pool.is_stuck())
        self.assertEqual(len(self.told), 1)  # Not at each try.
        self.assertIn("can't start new thread", self.told[0])
        self.pool.put(["third"])
        self.assertFalse(self.pool.is_stuck())
        self.expect("first", "second", "third")

    def test_another_one_does_it(self) -> None:
        self.pool.put(["slow"])
        self.began.wait(SOON)
        with no_threads("pawl-2"):
            self.pool.put(["quick"])
        self.assertFalse(self.pool.is_stuck())
        self.assertEqual(len(self.told), 1)
        self.gate.set()
        self.expect("slow", "quick")

    def test_a_thread_that_cannot_get_help_goes_on(self) -> None:
        with no_threads("pawl-2"):
            self.gate.set()
            self.pool.put(["slow", "second", "third"])
            self.expect("slow", "second", "third")


class EngineTest(FileTest):
    def test_an_operation_is_tried_again(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.run("step", lambda: "done")

        told = threading.Event()
        with pawl.Engine(self.url, workflows=[flow], on_trouble=lambda _: told.set()) as engine:
            with no_threads("pawl-1"):
                result = engine.start(flow, "run").wait(SOON).result()
                self.assertTrue(told.wait(SOON))
            self.assertEqual(result.wait(SOON), "done")  # Though nothing else happens.

    def test_trouble_that_nobody_can_be_told_is_logged(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.run("step", lambda: "done")

        told: List[str] = []
        with pawl.Engine(self.url, workflows=[flow], on_trouble=told.append) as engine:
            with no_threads("pawl-1", "pawl-trouble") as tried:
                with self.assertLogs("pawl", "ERROR") as logged:
                    result = engine.start(flow, "run").wait(SOON).result()
                    self.assertEqual(tried.get(timeout=SOON), "pawl-1")
                    self.assertEqual(tried.get(timeout=SOON), "pawl-trouble")
                    engine.list().wait(SOON)  # The thread that polls has gone on.
            self.assertEqual(result.wait(SOON), "done")
        self.assertIn("can't start new thread", logged.output[0])
        self.assertEqual(told, [])

    def test_a_coroutine_is_tried_again(self) -> None:
        async def step() -> str:
            return "done"

        @pawl.workflow
        async def flow(ctx: pawl.Context) -> str:
            return await ctx.run("step", step, retry=pawl.Retry(attempts=0, initial=0.1))

        with pawl.Engine(self.url, workflows=[flow]) as engine:
            with no_threads("pawl-asyncio") as tried:
                result = engine.start(flow, "run").wait(SOON).result()
                tried.get(timeout=SOON)
            self.assertEqual(result.wait(SOON), "done")


if __name__ == "__main__":
    unittest.main()
