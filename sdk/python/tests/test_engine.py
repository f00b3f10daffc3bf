"""Engines on a file, and clients' calls."""
import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import unittest
from dataclasses import dataclass
from typing import Any, List

from pawl._run import Run
from support import HERE, SOON, FileTest, pawl, python


@dataclass
class Answer:
    yes: bool


@pawl.workflow
async def ask(ctx: pawl.Context) -> Answer:
    ctx.set("asked", True)
    return await ctx.signal("answer", returns=Answer)


@pawl.workflow
async def add(ctx: pawl.Context, a: int, b: int = 10) -> int:
    return await ctx.run("add", lambda: a + b)


class EngineTest(FileTest):
    def test_calls_can_be_awaited(self) -> None:
        async def main() -> None:
            async with pawl.Engine(self.url, workflows=[add, ask]) as engine:
                runs = await asyncio.gather(*[engine.start(add, f"r-{i}", i, i) for i in range(50)])
                results = await asyncio.gather(*[run.result() for run in runs])
                self.assertEqual(results, [2 * i for i in range(50)])
                run = await engine.start(ask, "asked")
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(run.result(), 0.01)
                await run.signal("answer", Answer(True))
                self.assertEqual(await run.result(), Answer(True))
                call = run.result()
                self.assertEqual([await call, await call], [Answer(True)] * 2)

        asyncio.run(main())

    def test_calls_can_be_waited_for_by_several_threads(self) -> None:
        with pawl.Engine(self.url, workflows=[ask]) as engine:
            run = engine.start(ask, "run").wait(SOON)
            call = run.result()
            seen: List[Any] = []
            threads = [threading.Thread(target=lambda: seen.append(call.wait(SOON)))
                       for _ in range(4)]
            for thread in threads:
                thread.start()
            with self.assertRaisesRegex(pawl.TimedOut, "no answer within 0.01 s"):
                call.wait(0.01)
            run.signal("answer", Answer(False)).wait(SOON)
            for thread in threads:
                thread.join()
            self.assertEqual(seen, [Answer(False)] * 4)

    def test_starting_twice(self) -> None:
        with pawl.Engine(self.url, workflows=[ask, add]) as engine:
            first = engine.start(ask, "run", tags={"shop": "1"}).wait(SOON)
            again = engine.start(ask, "run").wait(SOON)
            self.assertEqual((first.is_new, again.is_new, again.id), (True, False, "run"))
            with self.assertRaises(pawl.AlreadyExists):
                engine.start(ask, "run", on_existing=pawl.OnExisting.FAIL).wait(SOON)
            replaced = engine.start(ask, "run", on_existing=pawl.OnExisting.REPLACE).wait(SOON)
            self.assertTrue(replaced.is_new)
            self.assertEqual(replaced.describe().wait(SOON).info.number, 2)
            self.assertTrue(engine.start(add, "", 1).wait(SOON).id)
            self.assertEqual(engine.start("add", "named", 1, 2).wait(SOON).result().wait(SOON), 3)
            self.assertEqual(engine.start(add, "default", 1).wait(SOON).result().wait(SOON), 11)

    def test_signal_with_start(self) -> None:
        with pawl.Engine(self.url, workflows=[ask]) as engine:
            run = engine.signal_with_start(
                ask, "run", signal="answer", value=Answer(True),
                event=pawl.Event(id="1", source="test"),
            ).wait(SOON)
            self.assertEqual(run.result().wait(SOON), Answer(True))

    def test_describe_list_and_history(self) -> None:
        with pawl.Engine(self.url, workflows=[ask, add]) as engine:
            asked = engine.start(ask, "asked", tags={"shop": "1"}).wait(SOON)
            engine.start(add, "added", 1).wait(SOON).result().wait(SOON)
            for _ in range(1000):
                found = asked.describe().wait(SOON)
                if found.status is pawl.Status.WAITING:
                    break
            self.assertEqual((found.info.id, found.info.kind, found.waiting_for, found.tags),
                             ("asked", "ask", "signal answer", {"shop": "1"}))
            self.assertIsNotNone(found.started.tzinfo)
            self.assertEqual([run.info.id for run in engine.list().wait(SOON).runs],
                             ["added", "asked"])
            page = engine.list(limit=1).wait(SOON)
            rest = engine.list(limit=1, cursor=page.next).wait(SOON)
            self.assertEqual([page.runs[0].info.id, rest.runs[0].info.id], ["added", "asked"])
            for query, expected in [({"kinds": ["ask"]}, ["asked"]),
                                    ({"statuses": [pawl.Status.COMPLETED]}, ["added"]),
                                    ({"tags": {"shop": "2"}}, [])]:
                listed = engine.list(**query).wait(SOON)
                self.assertEqual([run.info.id for run in listed.runs], expected)
            events = [entry["event"] for entry in asked.history().wait(SOON)]
            self.assertEqual(events, ["StateSet", "SignalAwaited"])

    def test_pause_cancel_terminate(self) -> None:
        with pawl.Engine(self.url, workflows=[ask]) as engine:
            run = engine.start(ask, "run").wait(SOON)
            self.assertEqual([run.pause().wait(SOON), run.pause().wait(SOON)], [True, False])
            self.assertTrue(run.describe().wait(SOON).paused)
            self.assertTrue(run.unpause().wait(SOON))
            run.cancel("enough").wait(SOON)
            with self.assertRaisesRegex(pawl.WorkflowCancelled, "run 'run' was cancelled: enough"):
                run.result().wait(SOON)
            with self.assertRaises(pawl.Closed):
                run.signal("answer").wait(SOON)
            other = engine.start(ask, "other").wait(SOON)
            other.terminate("now").wait(SOON)
            with self.assertRaises((pawl.WorkflowFailed, pawl.WorkflowCancelled)):
                other.result().wait(SOON)

    def test_what_is_not_there(self) -> None:
        with pawl.Engine(self.url) as client:
            with self.assertRaisesRegex(pawl.NotFound, "there is no run 'nope'"):
                client.get("nope").wait(SOON)
            handle = client.start(ask, "waits").wait(SOON)  # Nobody works on it.
            with self.assertRaises(pawl.NotFound):
                handle.resolve("nope").wait(SOON)
            with self.assertRaises(pawl.UsageError):
                client.get("")

    def test_a_client_reads_by_what_it_is_told(self) -> None:
        with pawl.Engine(self.url, workflows=[ask]) as engine:
            engine.signal_with_start(ask, "run", signal="answer", value=Answer(True)).wait(SOON)
            self.assertEqual(engine.get("run").wait(SOON).result().wait(SOON), Answer(True))
        with pawl.Engine(self.url) as client:
            for run, expected in [(client.get("run"), {"yes": True}),
                                  (client.get("run", returns=Answer), Answer(True)),
                                  (client.get("run", workflow=ask), Answer(True))]:
                self.assertEqual(run.wait(SOON).result().wait(SOON), expected)

    def test_stores_that_cannot_be_opened(self) -> None:
        for url, kind in [("sqlite:/nowhere/at/all.db", pawl.StoreError), ("", pawl.UsageError),
                          ("mystery:x", pawl.UsageError)]:
            with self.subTest(url=url):
                with self.assertRaises(kind) as caught:
                    pawl.Engine(url).open()
                self.assertGreater(len(str(caught.exception)), 10)

    def test_options_are_checked(self) -> None:
        with self.assertRaisesRegex(pawl.UsageError, "queues is a list of names"):
            pawl.Engine(self.url, queues="default")
        with self.assertRaisesRegex(pawl.UsageError, "'default' needs a name, and a number"):
            pawl.Engine(self.url, queues={"default": 0}).open()
        with self.assertRaisesRegex(pawl.UsageError, "threads must be"):
            pawl.Engine(self.url, threads=0)

    def test_closed_engines(self) -> None:
        engine = pawl.Engine(self.url, workflows=[ask])
        with self.assertRaisesRegex(pawl.UsageError, "the engine is not open"):
            engine.start(ask, "run")
        with engine:
            call = engine.start(ask, "run").wait(SOON).result()
        with self.assertRaisesRegex(pawl.Closed, "the engine has been"):
            call.wait(SOON)
        with self.assertRaises(pawl.Closed):
            engine.start(ask, "run")
        engine.close()
        with self.assertRaisesRegex(pawl.UsageError, "opened before"):
            engine.open()

    def test_errors_that_nobody_looks_at_are_logged(self) -> None:
        with pawl.Engine(self.url) as client, self.assertLogs("pawl", logging.WARNING) as logs:
            call = client.get("nope")
            while not call.done():
                client.list().wait(SOON)
            del call
            gc.collect()
        self.assertIn("get 'nope' failed, and nobody looked: there is no run", logs.output[0])

    def test_payloads_have_a_limit(self) -> None:
        @pawl.workflow
        async def grow(ctx: pawl.Context, where: str) -> str:
            if where == "state":
                ctx.set("large", "x" * 20_000)
            if where == "operation":
                return await ctx.run("op", lambda: "x" * 20_000)
            return "x" * 20_000

        with pawl.Engine(self.url, workflows=[grow], payload_bytes_max=10_000) as engine:
            with self.assertRaises(pawl.PayloadTooLarge):
                engine.start(grow, "input", "x" * 20_000)
            for where in ("state", "result", "operation"):
                with self.subTest(where=where), self.assertRaises(pawl.WorkflowFailed) as caught:
                    engine.start(grow, where, where).wait(SOON).result().wait(SOON)
                self.assertEqual(caught.exception.type, "PayloadTooLarge")

    def test_code_that_disagrees_with_history(self) -> None:
        step = ["first"]

        @pawl.workflow(fingerprint="1")
        async def changing(ctx: pawl.Context) -> None:
            try:
                await ctx.run(step[0], lambda: None)
            except Exception:
                pass  # Does not catch a violation.
            await ctx.signal("go")

        with pawl.Engine(self.url, workflows=[changing]) as engine:
            run = engine.start(changing, "run").wait(SOON)
            while run.describe().wait(SOON).status is not pawl.Status.WAITING:
                pass
        step[0] = "second"
        with pawl.Engine(self.url, workflows=[changing]) as engine:
            run = engine.get("run").wait(SOON)
            run.signal("go").wait(SOON)
            with self.assertRaises(pawl.WorkflowFailed) as caught:
                run.result().wait(SOON)
        self.assertEqual(caught.exception.type, "DETERMINISM_VIOLATION")
        self.assertIn("expected 'second', got 'first'", caught.exception.message)

    def test_code_of_which_nothing_is_known_is_blocked(self) -> None:
        def define(name: str) -> Any:
            @pawl.workflow(name="flow")
            async def flow(ctx: pawl.Context) -> str:
                await ctx.run(name, lambda: None)
                return await ctx.signal("go")

            return flow

        with pawl.Engine(self.url, workflows=[define("step")]) as engine:
            run = engine.start("flow", "run").wait(SOON)
            while run.describe().wait(SOON).status is not pawl.Status.WAITING:
                pass
        with pawl.Engine(self.url, workflows=[define("other")],
                         on_trouble=lambda text: None) as engine:
            run = engine.get("run").wait(SOON)
            run.signal("go", "went").wait(SOON)
            while run.describe().wait(SOON).status not in (
                pawl.Status.BLOCKED, pawl.Status.FAILED
            ):
                pass
            self.assertIs(run.describe().wait(SOON).status, pawl.Status.BLOCKED)
        with pawl.Engine(self.url, workflows=[define("step")]) as engine:
            self.assertEqual(engine.get("run").wait(SOON).result().wait(SOON), "went")

    def test_whoever_is_told_of_trouble_may_ask(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> None:
            await ctx.signal("go")

        told: List[Any] = []

        def tell(text: str) -> None:
            told.append((text, engine.list().wait(SOON).runs))

        with pawl.Engine(self.url, workflows=[flow], on_trouble=tell) as engine:
            worker = engine._worker
            assert worker is not None
            run = engine.start(flow, "run").wait(SOON)
            run._ask("trouble", lambda *_: worker._tell_trouble("full"),
                     pawl._library.short.client_describe).wait(SOON)  # On the thread that polls.
            while not told:
                pass
        self.assertEqual(told[0][0], "full")
        self.assertEqual(len(told[0][1]), 1)

    def test_a_changed_deploy_blocks_and_a_fixed_one_goes_on(self) -> None:
        def define(name: str, fingerprint: str) -> Any:
            @pawl.workflow(name="flow", fingerprint=fingerprint)
            async def flow(ctx: pawl.Context) -> str:
                await ctx.run(name, lambda: None)
                return await ctx.signal("go")

            return flow

        with pawl.Engine(self.url, workflows=[define("step", "1")]) as engine:
            run = engine.start("flow", "run").wait(SOON)
            while run.describe().wait(SOON).status is not pawl.Status.WAITING:
                pass
        troubles: List[str] = []
        with pawl.Engine(self.url, workflows=[define("other", "2")],
                         on_trouble=troubles.append) as engine:
            run = engine.get("run").wait(SOON)
            run.signal("go", "went").wait(SOON)
            while run.describe().wait(SOON).status is not pawl.Status.BLOCKED:
                pass
            self.assertIn("expected 'other', got 'step'", run.describe().wait(SOON).reason)
            run.resume().wait(SOON)  # Is tried again, with the same end.
            while run.describe().wait(SOON).status is not pawl.Status.BLOCKED:
                pass
        with pawl.Engine(self.url, workflows=[define("step", "3")]) as engine:
            self.assertEqual(engine.get("run").wait(SOON).result().wait(SOON), "went")

    def test_run_forever_ends_by_signal(self) -> None:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "forever.py"), self.url], stdout=subprocess.PIPE, text=True,
            env=dict(os.environ),
        )
        try:
            with pawl.Engine(self.url) as client:
                run = client.start("add", "run", 1, 2).wait(SOON)
                self.assertEqual(run.result().wait(SOON), 3)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=SOON)
            self.assertEqual((out, process.returncode), ("closed\n", 0))
        finally:
            process.kill()
            process.communicate()

    def test_a_process_may_end_without_closing(self) -> None:
        program = f"""
import pawl
@pawl.workflow
async def nap(ctx):
    await ctx.run("step", lambda: None)
    await ctx.sleep(3600)
engine = pawl.Engine({self.url!r}, workflows=[nap]).open()
for i in range(20):
    engine.start(nap, str(i)).wait()
"""
        done = python("-c", program)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_nothing_is_left_of_runs_that_have_ended(self) -> None:
        with pawl.Engine(self.url, workflows=[add]) as engine:
            for i in range(50):
                engine.start(add, f"r-{i}", i).wait(SOON).result().wait(SOON)
            engine.start(add, "failed", "no number").wait(SOON)
            with self.assertRaises(pawl.WorkflowFailed):
                engine.get("failed").wait(SOON).result().wait(SOON)
            engine.list().wait(SOON)
            assert engine._worker is not None
            for _ in range(1000):  # The end is told before the thread has put all away.
                gc.collect()
                left = [each for each in gc.get_objects() if isinstance(each, Run)]
                if not left:
                    break
            self.assertEqual(left, [])
            self.assertEqual((engine._worker._runs, engine._worker._calls), ({}, {}))

    def test_runs_that_leave_memory_come_back(self) -> None:
        with pawl.Engine(self.url, workflows=[ask], cache_bytes=1) as engine:
            runs = [engine.start(ask, f"r-{i}").wait(SOON) for i in range(50)]
            for run in runs:
                run.signal("answer", Answer(True)).wait(SOON)
            for run in runs:
                self.assertEqual(run.result().wait(SOON), Answer(True))


if __name__ == "__main__":
    unittest.main()
