"""Replayer: what the code of a workflow makes of a history, without an engine."""
from __future__ import annotations

import asyncio
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_void_p, sizeof
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Union

from . import _abi as abi
from . import guards
from ._library import fail, short, take_buffer, text_bytes, to_bytes
from ._run import Run, Scratch, current
from .context import Context, Info
from .definitions import WorkflowDefinition, definition_of
from .engine import Description
from .errors import Cancelled, DeterminismViolation, UsageError
from .failures import encode_failure
from .options import Matching
from .payload import encode, encode_arguments

NIL = "00000000-0000-0000-0000-000000000000"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass
class Replay:
    """What came of it."""

    outcome: str  # completed, failed, cancelled, recurred, suspended or violation
    result: Any = None  # Of a completed one: what the function returned.
    error: Optional[BaseException] = None  # What it raised.
    violation: Optional[DeterminismViolation] = None
    next_input: Any = None  # Of a recurred one.
    new: List[Dict[str, Any]] = field(default_factory=list)  # Entries that would be recorded.
    waiting: List[str] = field(default_factory=list)  # Locations of what it waits for.
    orphaned: List[str] = field(default_factory=list)  # Recorded, but not asked for.


class Replayer:
    """Runs a workflow function against histories. Operations whose outcome is not recorded are
    executed at once, where they are issued."""

    def __init__(
        self,
        workflow: Callable[..., Any],
        *,
        matching: Optional[Matching] = None,
        run_id: str = NIL,
        started_at_ms: int = 0,
    ) -> None:
        known = definition_of(workflow)
        if isinstance(known, WorkflowDefinition):
            self._matching = known.matching if matching is None else matching
            self._kind = known.name
        elif inspect.iscoroutinefunction(workflow):
            self._matching = Matching.STRICT if matching is None else matching
            self._kind = getattr(workflow, "__name__", "workflow")
        else:
            raise UsageError("replay: an async def is expected, or what @pawl.workflow made of one")
        guards.install()
        guards.guard_module(workflow)
        self._workflow = workflow
        self._run_id = run_id
        self._started_at_ms = started_at_ms

    def replay(
        self,
        history: Union[str, bytes, Sequence[Dict[str, Any]]],
        *input: Any,
        run: Union[str, Description] = "run",
    ) -> Replay:
        """`history`: what run.history() gave, or a list of entries. `input` are the arguments of the
        workflow. `run`: what run.describe() gave; ids, times and random numbers are those of that
        run then. Or just what ctx.info.id says; the rest is as this replayer was made."""
        if isinstance(history, bytes):
            text = history
        elif isinstance(history, str):
            text = history.encode("utf-8")
        else:
            text = encode(list(history), "history")
        if current.run is not None:
            raise UsageError("replay: not from inside of a workflow")
        return _Replaying(self, text, self._identity(run)).replay(self._arguments(input))

    def _identity(self, run: Union[str, Description]) -> "_Identity":
        if isinstance(run, Description):
            started = (run.started - _EPOCH) // timedelta(milliseconds=1)
            return _Identity(replace(run.info, kind=self._kind), started)
        return _Identity(Info(run, 1, self._kind, self._run_id), self._started_at_ms)

    def _arguments(self, input: tuple) -> list:
        known = definition_of(self._workflow)
        if isinstance(known, WorkflowDefinition):  # By way of JSON, as an engine does.
            where = f"input of '{self._kind}'"
            return known.signature.arguments(
                encode_arguments(input, where, known.signature), where
            )
        return list(input)


class _Identity(NamedTuple):
    info: Info
    started_at_ms: int


class _Replaying:
    """One replay: the host of its run."""

    def __init__(self, replayer: Replayer, history: bytes, identity: _Identity) -> None:
        self._replayer = replayer
        info, self._started_at_ms = identity
        options = abi.pawl_context_options(size=sizeof(abi.pawl_context_options))
        options.run_id = to_bytes(text_bytes(info.uuid, "run_id"))
        options.matching = int(replayer._matching)
        options.started_at_ms = self._started_at_ms
        options.history = to_bytes(history)
        handle = c_void_p()
        status = short.context_create(byref(options), byref(handle))
        if status:
            fail(status, "history")
        assert handle.value is not None
        self._handle = handle.value
        known = definition_of(replayer._workflow)
        self._run = Run(
            self._handle, self, Scratch(), info, None if known is None else known.signature
        )
        self._run.clock = self._tick
        self._new: List[Dict[str, Any]] = []
        self._last_seq = 0
        for entry in json.loads(history or b"[]"):
            self._last_seq = entry.get("seq", self._last_seq + 1)

    def replay(self, arguments: list) -> Replay:
        run = self._run
        try:
            current.run = run
            try:
                run.start(self._replayer._workflow(Context(run, 0), *arguments))
                run.deliver_all()
            except DeterminismViolation:
                pass
            root = run.root
            has_ended = run.has_ended
            if has_ended:
                run.finish()
            return self._report(root, has_ended)
        finally:
            run.close()
            current.run = None
            short.context_free(self._handle)

    def _report(self, root: Any, has_ended: bool) -> Replay:
        self._take_new()
        buffer = c_void_p()
        status = short.context_report(self._handle, byref(buffer))
        if status:
            fail(status, "report")
        places = json.loads(take_buffer(buffer))
        replay = Replay("suspended", orphaned=places["orphaned"])
        trouble = self._run.trouble
        if isinstance(trouble, DeterminismViolation):
            replay.outcome = "violation"
            replay.violation = trouble
            replay.waiting = places["waiting"]
            return replay
        replay.new = self._new
        if not has_ended:
            replay.waiting = places["waiting"]
            return replay
        replay.error = root.error
        if self._run.next_input is not None:
            replay.outcome = "recurred"
            replay.error = None
            replay.next_input = json.loads(self._run.next_input)
        elif isinstance(root.error, Cancelled):
            replay.outcome = "cancelled"
        elif root.error is not None:
            replay.outcome = "failed"
        else:
            replay.outcome = "completed"
            replay.result = root.value
        return replay

    # --- Time: a new entry's is the start of the run and its seq ---

    def _take_new(self) -> None:
        buffer = c_void_p()
        status = short.context_take_new(self._handle, byref(buffer))
        if status:
            fail(status, "replay")
        entries = take_buffer(buffer)
        if entries != b"[]":
            self._new += json.loads(entries)
            self._last_seq = self._new[-1]["seq"]

    def _tick(self) -> None:
        self._take_new()
        short.context_set_time(self._handle, self._started_at_ms + self._last_seq + 1)

    # --- Operations ---

    def execute(
        self, run: Run, future: int, name: str, function: Callable[..., Any], args: tuple,
        retry: Any, timeout: Any,
    ) -> None:
        current.run = None
        try:
            value = function(*args)
            if inspect.iscoroutine(value):  # On a thread: this one may have a running loop.
                with ThreadPoolExecutor(1) as thread:
                    value = thread.submit(asyncio.run, value).result()
            outcome, payload = abi.PAWL_VALUE, encode(value, f"result of '{name}'")
        except Exception as error:
            outcome, payload = abi.PAWL_FAILED, encode_failure(error)
        finally:
            current.run = run
        self._complete(run, future, outcome, payload)

    def send(self, run: Run, future: int, *call: Any) -> None:
        self._complete(run, future, abi.PAWL_VALUE, b"null")

    def _complete(self, run: Run, future: int, outcome: int, payload: bytes) -> None:
        self._tick()
        status = short.context_complete(run.handle, future, outcome, run.argument(payload))
        if status:
            run.refused(status)
