"""Worker: executes what an engine of the ABI hands out.

One thread polls. It runs the code of workflows itself, since that is short and must not be executed
by two threads at once; functions of operations and tasks go to a pool, in batches, and those that are
coroutines to an asyncio loop in a thread of its own.
"""
from __future__ import annotations

import asyncio
import logging
import struct
import threading
import weakref
from ctypes import byref, c_int32, sizeof, string_at
from queue import SimpleQueue
from types import CoroutineType
from typing import Any, Callable, Optional

from . import _abi as abi
from . import guards
from ._library import blocking, exception_for, fail, last_error, short, to_bytes
from ._run import Run, Scratch, current
from .attempt import ActivityError, Attempt, set_current_attempt
from .call import Call, Read, Waiters
from .context import Context, Info
from .definitions import ActivityDefinition, WorkflowDefinition
from .errors import Closed, DeterminismViolation, PayloadError
from .failures import clean, describe_failure
from .options import Duration, Retry, limit_ms
from .payload import Signature, encode, text_of
from .pool import Pool

_log = logging.getLogger("pawl")

_unpack_event = struct.Struct(abi.pawl_event_format).unpack_from
_unpack_events = struct.Struct(abi.pawl_events_format).unpack_from

_EVERYTHING = 0xFFFFFFFF
_BATCH = 256
_TELL_SECONDS = 2.0
_LOOK_SECONDS = 0.2  # How often it is asked whether coroutines should stop.
_STUCK_MS = 1000  # When to try again if there is no thread for functions.

_yield = short.context_yield
_execute_operation = short.context_execute
_complete = short.attempt_complete


class Worker:
    def __init__(
        self,
        handle: int,
        workflows: dict[str, WorkflowDefinition],
        activities: dict[str, ActivityDefinition],
        threads_max: int,
        on_trouble: Optional[Callable[[str], None]],
    ) -> None:
        guards.install()
        for workflow in workflows.values():
            guards.guard_module(workflow.function)
        self.handle = handle
        self.is_closing = False
        self.fakes: dict[str, Callable[..., Any]] = {}
        self._workflows = workflows
        self._activities = activities
        self._troubles = None if on_trouble is None else _Troubles(on_trouble)
        self._runs: dict[int, Run] = {}
        self._scratch = Scratch()
        self._pool = Pool(self._execute, threads_max, self._tell_trouble)
        self._local = threading.local()
        self._calls: dict[int, tuple[Call, Read]] = {}
        self._last_tag = 0
        self._lock = threading.Lock()
        self._async = _AsyncSide(self)
        self._thread = threading.Thread(target=self._work, name="pawl-poll", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, grace: float) -> None:
        """Lets attempts that are under way end for `grace` seconds, then stops the engine."""
        self.is_closing = True
        self._pool.drop()
        ended = threading.Event()
        waited = 0.0
        while waited < grace and not (self._pool.is_idle() and self._async.is_idle()):
            ended.wait(0.01)
            waited += 0.01
        blocking.engine_stop(self.handle)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._pool.stop()
        self._async.stop()
        if self._troubles is not None:
            self._troubles.stop()
        blocking.engine_free(self.handle)

    # --- Clients' calls ---

    def call(self, what: str, read: Read, send: Callable[[int], int]) -> Call[Any]:
        """`send(tag)` makes the call; `read(payload, run_status, flag)` its value."""
        call: Call[Any] = Call(self._lock, what)
        with self._lock:
            self._last_tag += 1
            tag = self._last_tag
            self._calls[tag] = (call, read)
        status = send(tag)
        if status:
            self._calls.pop(tag, None)
            fail(status, what)
        return call

    # --- Polling ---

    def _work(self) -> None:
        events = abi.pawl_events()
        reference = byref(events)
        view = memoryview(events).cast("B")
        waiters = Waiters()
        while True:
            wait_ms = _STUCK_MS if self._pool.is_stuck() else -1
            status = blocking.engine_poll(self.handle, _EVERYTHING, _BATCH, wait_ms, reference)
            if status == abi.PAWL_TIMED_OUT:
                self._put([])
                continue
            if status:
                if status != abi.PAWL_CLOSED:
                    self._tell_trouble(f"the engine is of no use any more: {last_error()}")
                break
            list_, first, stride, count = _unpack_events(view)
            try:
                batch = [self._copy(first + i * stride) for i in range(count)]
            finally:
                short.events_free(list_)
            self._handle(batch, waiters)
            waiters.tell()
        self._end(waiters)

    def _end(self, waiters: Waiters) -> None:
        closed = Closed("the engine has been closed")
        with self._lock:
            calls = list(self._calls.values())
            self._calls.clear()
        for call, _ in calls:
            waiters.settle(call, error=closed)
        waiters.tell()
        for run in self._runs.values():
            self._drop(run)
        self._runs.clear()

    @staticmethod
    def _copy(address: int) -> tuple:
        """The fields of an event, with texts of its kind as bytes."""
        (
            kind, is_new, context, attempt, future, number,
            run_id, run_id_size, uuid, uuid_size, name, name_size, payload, payload_size,
            key, key_size, details, details_size, status, run_status, flag,
        ) = _unpack_event(string_at(address, _EVENT_SIZE))
        if kind == abi.PAWL_EVENT_ACTIVATION:
            if not is_new:
                return kind, context, None
            return (
                kind,
                context,
                (
                    string_at(run_id, run_id_size),
                    string_at(uuid, uuid_size),
                    string_at(name, name_size),
                    string_at(payload, payload_size),
                    number,
                ),
            )
        if kind == abi.PAWL_EVENT_OPERATION:
            return (
                kind, context, future, attempt, number,
                string_at(run_id, run_id_size), string_at(key, key_size),
            )
        if kind == abi.PAWL_EVENT_TASK:
            return (
                kind, attempt, number, string_at(run_id, run_id_size), string_at(key, key_size),
                string_at(name, name_size), string_at(payload, payload_size),
                string_at(details, details_size),
            )
        if kind == abi.PAWL_EVENT_FORGET:
            return kind, context
        return kind, attempt, status, string_at(payload, payload_size), run_status, flag

    def _handle(self, batch: list, waiters: Waiters) -> None:
        jobs: list[tuple] = []
        for event in batch:
            kind = event[0]
            try:
                if kind == abi.PAWL_EVENT_ACTIVATION:
                    self._activate(event[1], event[2])
                elif kind == abi.PAWL_EVENT_OPERATION:
                    self._add_operation(event, jobs)
                elif kind == abi.PAWL_EVENT_TASK:
                    self._add_task(event, jobs)
                elif kind == abi.PAWL_EVENT_FORGET:
                    run = self._runs.pop(event[1], None)
                    if run is not None:
                        self._drop(run)
                elif kind == abi.PAWL_EVENT_REPLY:
                    self._reply(event, waiters)
                elif kind == abi.PAWL_EVENT_TROUBLE:
                    self._tell_trouble(event[3].decode("utf-8", "replace"))
            except Exception:
                if not self.is_closing:
                    _log.exception("pawl: an event could not be handled")
        if jobs or self._pool.is_stuck():
            self._put(jobs)

    def _put(self, jobs: list[tuple]) -> None:
        if self.is_closing:
            return
        try:
            self._pool.put(jobs)
        except Exception:  # The thread that polls is needed for all the others.
            _log.exception("pawl: functions could not be given to a thread")

    def _tell_trouble(self, text: str) -> None:
        if self._troubles is None:
            _log.error("%s", text)
        else:
            self._troubles.put(text)

    def _reply(self, event: tuple, waiters: Waiters) -> None:
        _, tag, status, payload, run_status, flag = event
        call, read = self._calls.pop(tag, (None, None))
        if call is None or read is None:
            return
        if status:
            error = exception_for(status, payload.decode("utf-8", "replace"))
            waiters.settle(call, error=error)
            return
        try:
            value = read(payload, run_status, flag)
        except Exception as error:
            waiters.settle(call, error=error)
        else:
            waiters.settle(call, value)

    # --- The code of runs ---

    def _activate(self, handle: int, new: Optional[tuple]) -> None:
        if new is None:
            run = self._runs.get(handle)
        else:
            info = _read_info(new)
            known = self._workflows.get(info.kind)
            run = Run(
                handle, self, self._scratch, info, None if known is None else known.signature
            )
            self._runs[handle] = run
        if run is None:
            _yield(handle)
            return
        current.run = run
        try:
            if new is not None:
                self._begin(run, new[3])
            run.deliver_all()
            run.finish()
        except DeterminismViolation:
            pass  # The engine has it, and says what becomes of the run.
        except Exception:
            if not self.is_closing:
                _log.exception("pawl: run '%s' cannot go on", run.info.id)
        finally:
            current.run = None
            is_over = run.has_ended or run.trouble is not None
            if is_over:
                self._runs.pop(handle, None)
            _yield(handle)
            if is_over:
                self._drop(run)

    def _begin(self, run: Run, input: bytes) -> None:
        definition = self._workflows[run.info.kind]
        try:
            arguments = definition.signature.arguments(
                input, f"input of workflow '{definition.name}'"
            )
            code = definition.function(Context(run, 0), *arguments)
        except Exception as error:
            code = _raise(error)
        run.start(code)

    def _drop(self, run: Run) -> None:
        current.run = run  # Handlers of the code are still workflow code.
        try:
            run.close()
        finally:
            current.run = None

    def execute(
        self, run: Run, future: int, name: str, function: Callable[..., Any], args: tuple,
        retry: Optional[Retry], timeout: Duration,
    ) -> None:
        if self.fakes and name in self.fakes:
            function = self.fakes[name]
        run.jobs[future] = (name, function, args)
        status = _execute_operation(
            run.handle,
            future,
            None if retry is None else byref(retry.to_abi()),
            limit_ms(timeout, "run: timeout"),
        )
        if status:
            run.refused(status)

    def send(
        self, run: Run, future: int, to: bytes, signal: bytes, payload: bytes, extra: bytes,
        dedupe: bytes,
    ) -> None:
        status = short.context_send(
            run.handle, future, to_bytes(to), to_bytes(signal), to_bytes(payload), to_bytes(extra),
            to_bytes(dedupe),
        )
        if status:
            run.refused(status)

    # --- Attempts ---

    def _add_operation(self, event: tuple, jobs: list) -> None:
        _, context, future, id, number, run_id, key = event
        run = self._runs.get(context)
        job = None if run is None else run.jobs.get(future)
        if job is None:
            attempt = Attempt(self, id, "", number, run_id, key)
            self._fail(attempt, ActivityError("its run is gone", type="Stopped"))
            return
        name, function, args = job
        jobs.append((Attempt(self, id, name, number, run_id, key), function, args))

    def _add_task(self, event: tuple, jobs: list) -> None:
        _, id, number, run_id, key, name, payload, details = event
        text = name.decode("utf-8", "replace")
        attempt = Attempt(self, id, text, number, run_id, key, details, payload)
        definition = self._activities[text]
        function = self.fakes.get(text, definition.function)
        jobs.append((attempt, function, definition.signature))

    def _execute(self, job: tuple) -> None:
        """On a thread of the pool."""
        attempt, function, args = job
        set_current_attempt(attempt)
        try:
            if type(args) is Signature:
                args = args.arguments(attempt._input, f"input of activity '{attempt.name}'")
            value = function(*args)
            if type(value) is CoroutineType:
                self._async.start(value, attempt)
            else:
                self.complete(attempt, value)
        except BaseException as error:
            self._fail(attempt, error)

    def complete(self, attempt: Attempt, value: Any) -> None:
        try:
            payload = encode(value, f"result of '{attempt.name}'")
        except PayloadError as error:
            self._fail(attempt, error)
            return
        local = self._local
        try:
            argument = local.argument
        except AttributeError:
            argument = local.argument = abi.pawl_bytes()
        argument.data = payload
        argument.size = len(payload)
        status = _complete(self.handle, attempt.id, argument)
        if status and status not in (abi.PAWL_CLOSED, abi.PAWL_NOT_FOUND, abi.PAWL_BAD_HANDLE):
            try:
                fail(status, f"result of '{attempt.name}'")
            except Exception as error:
                self._fail(attempt, error)

    def _fail(self, attempt: Attempt, error: BaseException) -> None:
        if self.is_closing:
            return  # It was asked to stop, and begins again elsewhere.
        told = describe_failure(error)
        failure = abi.pawl_failure(size=sizeof(abi.pawl_failure))
        failure.type = to_bytes(_utf8(told.type))
        failure.message = to_bytes(_utf8(told.message))
        if told.details is not None:
            try:
                failure.details = to_bytes(encode(told.details, "details"))
            except PayloadError:
                failure.details = to_bytes(encode(clean(text_of(told.details)), "details"))
        # The next attempt would do it all again, for the same result.
        failure.is_final = isinstance(error, PayloadError)
        if isinstance(error, asyncio.CancelledError):
            failure.is_cancelled = attempt.should_stop()
        if isinstance(error, ActivityError):
            failure.is_final = bool(getattr(error, "final", False))
            next_delay_ms = getattr(error, "next_delay_ms", None)
            if next_delay_ms is not None:
                failure.has_next_delay = 1
                failure.next_delay_ms = next_delay_ms
        short.attempt_fail(self.handle, attempt.id, byref(failure))


class _Troubles:
    """Tells the user's function, on a thread of its own: it may make calls of the engine, whose
    answers come by way of the thread that polls."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._texts: SimpleQueue[Optional[str]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def put(self, text: str) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="pawl-trouble", daemon=True)
                try:
                    thread.start()
                except (RuntimeError, MemoryError) as error:
                    _log.error("pawl: on_trouble cannot be told (%s) of: %s", error, text)
                    return
                self._thread = thread
        self._texts.put(text)

    def stop(self) -> None:
        """What has been put is told first, unless that takes long."""
        self._texts.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_TELL_SECONDS)

    def _work(self) -> None:
        while (text := self._texts.get()) is not None:
            try:
                self._tell(text)
            except Exception:
                _log.exception("pawl: on_trouble failed; it was told: %s", text)


_EVENT_SIZE = struct.calcsize(abi.pawl_event_format)


class _AsyncSide:
    """Coroutines of operations and activities, on a loop of their own. Those that should stop are
    cancelled, once."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._running: dict[Attempt, asyncio.Task] = {}
        self._told: weakref.WeakSet[asyncio.Task] = weakref.WeakSet()

    def is_idle(self) -> bool:
        return not self._running

    def start(self, code: Any, attempt: Attempt) -> None:
        with self._lock:
            if self._loop is None:
                try:
                    self._loop = _start_loop()
                except BaseException:  # The attempt has failed; the next one tries again.
                    code.close()
                    raise
        self._loop.call_soon_threadsafe(self._begin, code, attempt)

    def stop(self) -> None:
        with self._lock:
            loop = self._loop
        if loop is not None:
            for task in list(self._running.values()):
                loop.call_soon_threadsafe(task.cancel)
            loop.call_soon_threadsafe(lambda: loop.call_soon(loop.stop))

    def _begin(self, code: Any, attempt: Attempt) -> None:
        assert self._loop is not None
        if not self._running:
            self._loop.call_later(_LOOK_SECONDS, self._look)
        self._running[attempt] = self._loop.create_task(self._run(code, attempt))

    async def _run(self, code: Any, attempt: Attempt) -> None:
        set_current_attempt(attempt)
        try:
            self._worker.complete(attempt, await code)
        except BaseException as error:
            self._worker._fail(attempt, error)
        finally:
            self._running.pop(attempt, None)

    def _look(self) -> None:
        for attempt, task in list(self._running.items()):
            if task in self._told:
                continue
            stops = c_int32()
            status = short.attempt_should_stop(self._worker.handle, attempt.id, byref(stops))
            if status or stops.value or self._worker.is_closing:
                self._told.add(task)
                task.cancel()
        if self._running and self._loop is not None:
            self._loop.call_later(_LOOK_SECONDS, self._look)


def _start_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    try:
        threading.Thread(target=loop.run_forever, name="pawl-asyncio", daemon=True).start()
    except BaseException:
        loop.close()
        raise
    return loop


def _read_info(new: tuple) -> Info:
    run_id, uuid, kind, _, number = new
    return Info(run_id.decode(), number, kind.decode(), uuid.decode())


async def _raise(error: BaseException) -> Any:
    raise error


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
