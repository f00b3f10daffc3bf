"""What workflow code must not do."""
import asyncio
import datetime
import logging
import os
import pathlib
import random
import secrets
import pickle
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import uuid
import warnings
from datetime import date
from datetime import datetime as moment
from time import time as clock
from typing import Any, Callable
from uuid import uuid4

from pawl.testing import Replayer
from support import SOON, Environment, pawl

EVENT = asyncio.Event()
QUEUE: "asyncio.Queue[int]" = asyncio.Queue()

CALLS: "dict[str, tuple[Callable[[], Any], str]]" = {
    "time.time": (lambda: time.time(), "ctx.time()"),
    "time.time, taken before": (lambda: clock(), "ctx.time()"),
    "time.monotonic": (lambda: time.monotonic(), "ctx.time()"),
    "time.sleep": (lambda: time.sleep(0), "ctx.sleep("),
    "datetime.now": (lambda: datetime.datetime.now(), "ctx.now()"),
    "datetime.now, taken before": (lambda: moment.now(datetime.timezone.utc), "ctx.now()"),
    "datetime.utcnow": (lambda: moment.utcnow(), "ctx.now()"),
    "datetime.today": (lambda: moment.today(), "ctx.now()"),
    "date.today": (lambda: date.today(), "ctx.now()"),
    "random.random": (lambda: random.random(), "ctx.random()"),
    "random.choice": (lambda: random.choice([1]), "ctx.random()"),
    "random.shuffle": (lambda: random.shuffle([1]), "ctx.random()"),
    "uuid.uuid1": (lambda: uuid.uuid1(), "ctx.uuid()"),
    "uuid.uuid4": (lambda: uuid.uuid4(), "ctx.uuid()"),
    "uuid.uuid4, taken before": (lambda: uuid4(), "ctx.uuid()"),
    "os.urandom": (lambda: os.urandom(4), "ctx.random()"),
    "secrets.token_hex": (lambda: secrets.token_hex(), "ctx.run("),
    "open": (lambda: open("/dev/null"), "ctx.run("),
    "Path.read_text": (lambda: pathlib.Path("/dev/null").read_text(), "ctx.run("),
    "socket": (lambda: socket.socket(), "ctx.run("),
    "Thread.start": (lambda: threading.Thread(target=print).start(), "ctx.join()"),
    "subprocess.run": (lambda: subprocess.run(["true"]), "ctx.run("),
    "asyncio.sleep": (lambda: asyncio.sleep(0), "ctx.sleep("),
    "asyncio.create_task": (lambda: asyncio.create_task(None), "ctx.join()"),
    "time.localtime": (lambda: time.localtime(), "ctx.now()"),
    "time.gmtime": (lambda: time.gmtime(None), "ctx.now()"),
    "time.ctime": (lambda: time.ctime(), "ctx.now()"),
    "time.strftime": (lambda: time.strftime("%Y"), "ctx.now()"),
    "time.clock_gettime": (lambda: time.clock_gettime(time.CLOCK_REALTIME), "ctx.time()"),
    "time.process_time": (lambda: time.process_time(), "ctx.time()"),
    "sqlite3.connect": (lambda: sqlite3.connect(":memory:"), "ctx.run("),
    "os.listdir": (lambda: os.listdir("/"), "ctx.run("),
    "os.stat": (lambda: os.stat("/"), "ctx.run("),
    "os.path.exists": (lambda: os.path.exists("/"), "ctx.run("),
    "os.mkdir": (lambda: os.mkdir("/nowhere/x"), "ctx.run("),
    "os.walk": (lambda: list(os.walk("/nowhere")), "ctx.run("),
    "socket.getaddrinfo": (lambda: socket.getaddrinfo("localhost", 1), "ctx.run("),
    "asyncio.Event": (lambda: asyncio.Event(), "ctx.signal()"),
    "asyncio.Event.wait": (lambda: EVENT.wait(), "ctx.signal()"),
    "asyncio.Queue": (lambda: asyncio.Queue(), "ctx.signal()"),
    "asyncio.Queue.get": (lambda: QUEUE.get(), "ctx.signal()"),
    "asyncio.Lock": (lambda: asyncio.Lock(), "ctx.join()"),
    "asyncio.shield": (lambda: asyncio.shield(asyncio.Future), "ctx.shielded()"),
    "asyncio.get_event_loop": (lambda: asyncio.get_event_loop(), "ctx.join()"),
}


if sys.version_info >= (3, 11):
    CALLS["asyncio.timeout"] = (lambda: asyncio.timeout(1), "ctx.with_timeout()")
    CALLS["asyncio.TaskGroup"] = (lambda: asyncio.TaskGroup(), "ctx.join()")


async def calling(ctx: pawl.Context, name: str) -> None:
    made = CALLS[name][0]()
    if asyncio.iscoroutine(made):
        await made


class GuardTest(unittest.TestCase):
    def test_each_is_refused_with_what_to_use(self) -> None:
        replayer = Replayer(calling)
        for name, (_, advice) in CALLS.items():
            with self.subTest(name=name):
                replay = replayer.replay([], name)
                self.assertIsInstance(replay.error, pawl.NonDeterministicCall)
                self.assertIn(advice, str(replay.error))

    def test_code_of_others_belongs_into_an_activity(self) -> None:
        library: dict = {"__name__": "requests"}
        exec("import time\ndef get(): return time.time()", library)

        async def flow(ctx: pawl.Context) -> None:
            library["get"]()

        error = str(Replayer(flow).replay([]).error)
        self.assertIn("time.time() by requests, in workflow code: ", error)
        self.assertIn("call requests in an activity: await ctx.run(…); in code of your own use", error)

    def test_importing_is_allowed_whatever_the_module_does(self) -> None:
        async def flow(ctx: pawl.Context) -> float:
            import late_module

            return float(late_module.STARTED)

        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "late_module.py").write_text(
                "import os, time\nSTARTED = time.time()\nos.listdir('.')\n")
            sys.path.insert(0, folder)
            try:
                replay = Replayer(flow).replay([])
            finally:
                sys.path.remove(folder)
        self.assertIsNone(replay.error)

    def test_given_times_and_finalizers_are_allowed(self) -> None:
        class Late:
            def __del__(self) -> None:
                seen.append(os.stat("/") and time.time())

        async def flow(ctx: pawl.Context) -> str:
            left = Late()
            del left
            try:
                raise ValueError("x")
            except ValueError:
                assert "ValueError" in traceback.format_exc()
            return time.strftime("%Y", time.gmtime(0)) + time.ctime(0)[:0]

        seen: list = []
        replay = Replayer(flow).replay([])
        self.assertEqual((replay.error, replay.result, len(seen)), (None, "1970", 1))

    def test_nobody_else_notices(self) -> None:
        Replayer(calling)  # The guards are there.
        self.assertIs(pickle.loads(pickle.dumps(os.stat)), os.stat)
        self.assertIs(pickle.loads(pickle.dumps(time.sleep)), time.sleep)
        self.assertEqual(os.open in os.supports_dir_fd, os.stat in os.supports_dir_fd)
        folder = tempfile.mkdtemp()
        shutil.rmtree(folder)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(time.localtime().tm_year, datetime.date.today().year)
        self.assertEqual(sqlite3.connect(":memory:").execute("select 1").fetchone(), (1,))

        async def wait() -> int:
            event, queue = asyncio.Event(), asyncio.Queue()  # type: ignore[var-annotated]
            event.set()
            await asyncio.shield(event.wait())
            await queue.put(1)
            async with asyncio.Lock():
                return await queue.get()

        self.assertEqual(asyncio.run(wait()), 1)
        self.assertLess(abs(time.time() - clock()), 60)
        self.assertIs(type(moment.now()), datetime.datetime)
        self.assertIs(type(moment.now(datetime.timezone.utc).tzinfo), datetime.timezone)
        self.assertIs(type(moment.today()), datetime.datetime)
        self.assertIs(type(date.today()), datetime.date)
        self.assertEqual(uuid.uuid4().version, 4)
        self.assertEqual(len(os.urandom(4)), 4)
        self.assertTrue(asyncio.iscoroutinefunction(asyncio.sleep))
        asyncio.run(asyncio.sleep(0))

        class Own(datetime.datetime):
            pass

        self.assertIs(type(Own.now()), Own)

    def test_operations_and_other_threads_are_free(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> bool:
            return await ctx.run("clock", lambda: bool(time.time() and moment.now() and uuid4()))

        ended, seen = threading.Event(), []

        def other() -> None:
            while not ended.is_set():
                seen.append(time.time())
                moment.now()

        with Environment(workflows=[flow]) as env:
            thread = threading.Thread(target=other)
            thread.start()
            try:
                runs = [env.start(flow, f"r-{i}").wait(SOON) for i in range(20)]
                self.assertEqual([run.result().wait(SOON) for run in runs], [True] * 20)
            finally:
                ended.set()
                thread.join()
        self.assertTrue(seen)

    def test_what_stands_for_a_function_has_its_hints(self) -> None:
        @pawl.workflow
        async def flow(ctx: pawl.Context) -> list:
            await ctx.run("wait", time.sleep, 0)
            await ctx.run("wait as a coroutine", asyncio.sleep, 0)
            return [await ctx.run("names", os.listdir, "/dev/fd"),
                    await ctx.run("then", time.asctime, time.gmtime(0))]

        with warnings.catch_warnings(record=True) as warned, Environment(workflows=[flow]) as env:
            warnings.simplefilter("always")
            names, then = env.start(flow, "run").wait(SOON).result().wait(SOON)
        self.assertEqual([str(each.message) for each in warned], [])
        self.assertIn("0", names)
        self.assertEqual(then, "Thu Jan  1 00:00:00 1970")

    def test_logging_and_seeded_numbers_are_allowed(self) -> None:
        async def flow(ctx: pawl.Context) -> float:
            logging.getLogger("test").info("at %s", ctx.now())
            import colorsys  # noqa: F401  Imports open files.

            return random.Random(7).random()

        replay = Replayer(flow).replay([])
        self.assertEqual((replay.error, replay.result), (None, random.Random(7).random()))

    def test_handlers_of_dropped_code_are_guarded_too(self) -> None:
        seen = []

        async def flow(ctx: pawl.Context) -> None:
            try:
                await ctx.sleep(1)
            finally:
                try:
                    time.time()
                except pawl.NonDeterministicCall:
                    seen.append("refused")
                try:
                    ctx.sleep(1)
                except Exception:
                    seen.append("caught by except Exception")
                except BaseException as error:
                    seen.append(str(error))

        self.assertEqual(Replayer(flow).replay([]).outcome, "suspended")
        self.assertEqual(seen, ["refused", "the workflow is being removed from memory"])


if __name__ == "__main__":
    unittest.main()
