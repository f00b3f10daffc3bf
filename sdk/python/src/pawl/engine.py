"""Engine: opens a store, works on the runs there that its workflows and activities are for, and is
the client for all of them.

Clients' calls return a Call: `await` it in asyncio, or `.wait()` for it anywhere else. They raise
NotFound, AlreadyExists, Closed, UsageError, PayloadError or StoreError. A run is named by its id; the
newest one with that id is meant.
"""
from __future__ import annotations

import asyncio
import datetime
import enum
import json
import signal as _signal
import threading
from ctypes import byref, c_void_p, sizeof
from dataclasses import dataclass, field
from typing import (
    Any,
    Awaitable,
    Callable,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
    overload,
)

from . import _abi as abi
from ._library import blocking, fail, short, take_buffer, text_bytes, to_bytes
from ._run import current
from ._worker import Worker
from .call import Call
from .context import Info
from .definitions import (
    ActivityDefinition,
    WorkflowDefinition,
    definition_of,
    name_of,
    signature_of,
)
from .errors import Closed, UsageError, WorkflowCancelled, WorkflowFailed
from .event import Event
from .failures import read_failure
from .options import Duration, Matching, OnChange, OnExisting, choice, texts, to_ms
from .payload import Converter, Signature, converter_for, decode, encode, encode_arguments

E = TypeVar("E", bound="Engine")
T = TypeVar("T")


class Status(str, enum.Enum):
    RUNNING = "running"
    WAITING = "waiting"
    COMPENSATING = "compensating"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RECURRED = "recurred"
    BLOCKED = "blocked"  # Needs a person; Description.reason says why.


@dataclass(frozen=True)
class Description:
    """What is known about a run."""

    info: Info
    status: Status
    waiting_for: str  # E.g. "signal approved".
    reason: str  # Of a blocked one: why.
    started: datetime.datetime
    changed: datetime.datetime  # When the status last did.
    paused: bool
    tags: Dict[str, str]


@dataclass(frozen=True)
class RunList:
    """A page of runs, the newest first."""

    runs: List[Description] = field(default_factory=list)
    next: str = ""  # The cursor of the next page; empty: that was all.


class RunHandle(Generic[T]):
    """A run, to ask about it and to act on it."""

    def __init__(
        self, engine: "Engine", id: str, is_new: bool, converter: Optional[Converter]
    ) -> None:
        self._engine = engine
        self._converter = converter
        self.id = id
        self.is_new = is_new  # The call that gave this handle has started it.

    def result(self) -> Call[T]:
        """Waits for the end of the run, and of those it recurs to; a blocked one has not ended.
        Raises WorkflowFailed or WorkflowCancelled."""
        engine, id = self._engine, self.id

        def read(payload: bytes, status: int, _: int) -> Any:
            if status == abi.PAWL_RUN_COMPLETED:
                return decode(payload, self._converter, f"result of run '{id}'")
            if status == abi.PAWL_RUN_CANCELLED:
                raise WorkflowCancelled(id, read_failure(payload).message)
            raise WorkflowFailed(f"run '{id}'", *read_failure(payload))

        key = to_bytes(text_bytes(id, "the run's id"))
        return engine._call(
            f"result of run '{id}'",
            read,
            lambda handle, tag: short.client_result(handle, key, -1, tag, None),
        )

    def signal(self, name: str, value: Any = None, *, event: Optional[Event] = None) -> Call[bool]:
        """False: the event, by its id and source, was sent before."""
        return self._flag(
            f"signal '{name}'",
            short.client_signal,
            to_bytes(text_bytes(name, "signal: the name")),
            to_bytes(encode(value, f"signal '{name}'")),
            to_bytes(event.to_client() if event else b""),
        )

    def resolve(self, promise: str, value: Any = None) -> Call[None]:
        return self._done(
            f"resolve '{promise}'",
            short.client_resolve,
            to_bytes(text_bytes(promise, "resolve: the promise")),
            to_bytes(encode(value, f"promise '{promise}'")),
        )

    def reject(self, promise: str, type: str, message: str, details: Any = None) -> Call[None]:
        failure = abi.pawl_failure(size=sizeof(abi.pawl_failure))
        failure.type = to_bytes(text_bytes(type, "reject: the type"))
        failure.message = to_bytes(text_bytes(message, "reject: the message"))
        if details is not None:
            failure.details = to_bytes(encode(details, "reject: details"))
        return self._done(
            f"reject '{promise}'",
            short.client_reject,
            to_bytes(text_bytes(promise, "reject: the promise")),
            byref(failure),
        )

    def cancel(self, reason: str = "") -> Call[None]:
        return self._done("cancel", short.client_cancel, to_bytes(text_bytes(reason, "reason")))

    def terminate(self, reason: str = "") -> Call[None]:
        """Ends it at once; no code of it runs any more, no compensation either."""
        return self._done(
            "terminate", short.client_terminate, to_bytes(text_bytes(reason, "reason"))
        )

    def pause(self) -> Call[bool]:
        """Holds it where it is. False: it was so before."""
        return self._flag("pause", short.client_pause, 1)

    def unpause(self) -> Call[bool]:
        return self._flag("unpause", short.client_pause, 0)

    def resume(self) -> Call[None]:
        """Has a blocked run tried again."""
        return self._done("resume", short.client_resume)

    def describe(self) -> Call[Description]:
        return self._ask(
            "describe",
            lambda payload, _, __: _read_description(json.loads(payload)),
            short.client_describe,
        )

    def history(self) -> Call[List[Dict[str, Any]]]:
        """The entries of its log, e.g. for testing.Replayer."""
        return self._ask(
            "history", lambda payload, _, __: json.loads(payload), short.client_history
        )

    def _ask(self, what: str, read: Any, function: Any, *arguments: Any) -> Call[Any]:
        id = to_bytes(text_bytes(self.id, "the run's id"))
        return self._engine._call(
            f"{what} of run '{self.id}'",
            read,
            lambda handle, tag: function(handle, id, *arguments, tag, None),
        )

    def _flag(self, what: str, function: Any, *arguments: Any) -> Call[bool]:
        return self._ask(what, lambda _, __, flag: bool(flag), function, *arguments)

    def _done(self, what: str, function: Any, *arguments: Any) -> Call[None]:
        return self._ask(what, lambda *_: None, function, *arguments)


class Engine:
    """Works from `with` or `async with` on, or from open(), until close(). Without workflows and
    activities it is a client only."""

    _fingerprint = b""  # Of workflows that have none of their own.

    def __init__(
        self,
        url: str,
        *,
        workflows: Iterable[Callable[..., Any]] = (),
        activities: Iterable[Callable[..., Any]] = (),
        queues: Union[Iterable[str], Mapping[str, int]] = ("default",),
        concurrency: int = 64,
        threads: int = 64,
        cache_bytes: int = 0,
        payload_bytes_max: int = 0,
        lease: Duration = 0,
        worker_name: str = "",
        grace: float = 5.0,
        on_trouble: Optional[Callable[[str], None]] = None,
    ) -> None:
        """`queues`: to take tasks from, each `concurrency` at once, or as many as a mapping says.
        `threads`: at most so many for functions that block. `cache_bytes`: for runs that wait in
        memory. `grace`: seconds that close() gives to attempts under way: functions are told by
        should_stop(), coroutines are cancelled. `on_trouble`: told of what no call can report, e.g.
        a full disk, on a thread of its own; by default it is logged."""
        self._workflows: Dict[str, WorkflowDefinition] = {}
        self._activities: Dict[str, ActivityDefinition] = {}
        for functions, what in ((workflows, "workflows"), (activities, "activities")):
            if callable(functions) or isinstance(functions, str):
                raise UsageError(f"engine: {what} is a list of functions")
        for function in workflows:
            self._add(function, WorkflowDefinition, self._workflows, "workflow")
        for function in activities:
            self._add(function, ActivityDefinition, self._activities, "activity")
        if not isinstance(threads, int) or threads < 1:
            raise UsageError("engine: threads must be a number from 1")
        if isinstance(queues, str):
            raise UsageError("engine: queues is a list of names, or a mapping of names to numbers")
        counts = (
            dict(queues)
            if isinstance(queues, Mapping)
            else {name: concurrency for name in queues}
        )
        self._url = url
        self._options: Dict[str, Any] = {
            "url": to_bytes(text_bytes(url, "engine: the url")),
            "worker_name": to_bytes(text_bytes(worker_name, "engine: the worker's name")),
            "lease_ms": to_ms(lease, "engine: lease"),
            "cache_bytes": cache_bytes,
            "payload_bytes_max": payload_bytes_max,
            "queues": to_bytes(encode(counts, "engine: queues")),
        }
        self._threads = threads
        self._grace = grace
        self._on_trouble = on_trouble
        self._worker: Optional[Worker] = None
        self._is_closed = False

    @staticmethod
    def _add(
        function: Any, wanted: Type[Any], known: Dict[str, Any], what: str
    ) -> None:
        definition = definition_of(function)
        name = getattr(function, "__name__", repr(function))
        if not isinstance(definition, wanted):
            raise UsageError(f"engine: '{name}' is not decorated with @pawl.{what}")
        if isinstance(definition, ActivityDefinition) and definition.is_method:
            raise UsageError(
                f"engine: '{name}' is a method of a class: activities=[that_object.{name}]"
            )
        if definition.name in known:
            raise UsageError(f"engine: there are two of the {what} '{definition.name}'")
        known[definition.name] = definition

    # --- Life ---

    def open(self: E) -> E:
        """Opens the store and starts to work."""
        if self._worker is not None or self._is_closed:
            raise UsageError("engine: it has been opened before")
        options = abi.pawl_engine_options(size=sizeof(abi.pawl_engine_options), **self._options)
        handle = c_void_p()
        status = blocking.engine_open(byref(options), byref(handle))
        if status:
            fail(status)
        assert handle.value is not None
        try:
            self._register(handle.value)
            worker = Worker(
                handle.value, self._workflows, self._activities, self._threads, self._on_trouble
            )
            self._prepare(worker)
            worker.start()
        except BaseException:
            blocking.engine_free(handle)
            raise
        self._worker = worker
        if self._workflows or self._activities:
            status = blocking.engine_start(handle)
            if status:
                try:
                    fail(status)
                finally:
                    self.close()
        return self

    def _register(self, handle: int) -> None:
        for workflow in self._workflows.values():
            options = abi.pawl_workflow_options(size=sizeof(abi.pawl_workflow_options))
            options.kind = to_bytes(text_bytes(workflow.name, "workflow: the name"))
            what = f"workflow '{workflow.name}'"
            options.matching = choice(workflow.matching, Matching, f"{what}: matching")
            fingerprint = text_bytes(workflow.fingerprint, "the fingerprint")
            options.fingerprint = to_bytes(fingerprint or self._fingerprint)
            options.on_change = choice(workflow.on_change, OnChange, f"{what}: on_change")
            status = short.engine_add_workflow(handle, byref(options))
            if status:
                fail(status, f"workflow '{workflow.name}'")
        for activity in self._activities.values():
            retry = activity.compensation_retry
            status = short.engine_add_activity(
                handle,
                to_bytes(text_bytes(activity.name, "activity: the name")),
                None if retry is None else byref(retry.to_abi()),
            )
            if status:
                fail(status, f"activity '{activity.name}'")

    def _prepare(self, worker: Worker) -> None:
        """For tests."""

    def close(self) -> None:
        """Waits for what is under way, up to the grace, and gives the runs back."""
        worker = self._worker
        if worker is None or self._is_closed:
            return
        if current.run is not None:
            raise UsageError("close: not from inside of a workflow")
        self._is_closed = True
        worker.close(self._grace)

    def run_forever(self) -> None:
        """Works until the process is interrupted or asked to end (SIGINT, SIGTERM)."""
        ended = threading.Event()
        is_main = threading.current_thread() is threading.main_thread()
        before = {}
        with self:
            if is_main:
                for number in (_signal.SIGINT, _signal.SIGTERM):
                    before[number] = _signal.signal(number, lambda *_: ended.set())
            try:
                ended.wait()
            finally:
                for number, handler in before.items():
                    _signal.signal(number, handler)

    def __enter__(self: E) -> E:
        return self.open()

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aenter__(self: E) -> E:
        return await _in_thread(self.open)

    async def __aexit__(self, *_: Any) -> None:
        await _in_thread(self.close)

    # --- Runs ---

    @overload
    def start(
        self, workflow: Callable[..., Awaitable[T]], id: str, *args: Any,
        on_existing: OnExisting = ..., tags: Optional[Mapping[str, str]] = ...,
    ) -> Call[RunHandle[T]]: ...

    @overload
    def start(
        self, workflow: str, id: str, *args: Any,
        on_existing: OnExisting = ..., tags: Optional[Mapping[str, str]] = ..., returns: Type[T],
    ) -> Call[RunHandle[T]]: ...

    @overload
    def start(
        self, workflow: str, id: str, *args: Any,
        on_existing: OnExisting = ..., tags: Optional[Mapping[str, str]] = ..., returns: Any = ...,
    ) -> Call[RunHandle[Any]]: ...

    def start(
        self,
        workflow: Union[str, Callable[..., Any]],
        id: str,
        *args: Any,
        on_existing: OnExisting = OnExisting.RETURN,
        tags: Optional[Mapping[str, str]] = None,
        returns: Any = None,
    ) -> Call[RunHandle[Any]]:
        """An empty id: a new one is made. The workflow need not be this engine's: the run waits
        until a process that has it works on the store."""
        return self._start("start", workflow, id, args, on_existing, tags, returns)

    @overload
    def signal_with_start(
        self, workflow: Callable[..., Awaitable[T]], id: str, *args: Any, signal: str, value: Any = ...,
        event: Optional[Event] = ...,
        on_existing: OnExisting = ..., tags: Optional[Mapping[str, str]] = ...,
    ) -> Call[RunHandle[T]]: ...

    @overload
    def signal_with_start(
        self, workflow: str, id: str, *args: Any, signal: str, value: Any = ...,
        event: Optional[Event] = ...,
        on_existing: OnExisting = ..., tags: Optional[Mapping[str, str]] = ..., returns: Type[T],
    ) -> Call[RunHandle[T]]: ...

    @overload
    def signal_with_start(
        self, workflow: str, id: str, *args: Any, signal: str, value: Any = ...,
        event: Optional[Event] = ...,
        on_existing: OnExisting = ..., tags: Optional[Mapping[str, str]] = ..., returns: Any = ...,
    ) -> Call[RunHandle[Any]]: ...

    def signal_with_start(
        self,
        workflow: Union[str, Callable[..., Any]],
        id: str,
        *args: Any,
        signal: str,
        value: Any = None,
        event: Optional[Event] = None,
        on_existing: OnExisting = OnExisting.RETURN,
        tags: Optional[Mapping[str, str]] = None,
        returns: Any = None,
    ) -> Call[RunHandle[Any]]:
        """Starts the run unless it is there, and sends it a signal, in one commit. If that run has
        ended, nobody gets the signal."""
        if not signal:
            raise UsageError("signal_with_start: the signal must not be empty")
        return self._start(
            "signal_with_start", workflow, id, args, on_existing, tags, returns,
            signal=to_bytes(text_bytes(signal, "signal_with_start: the signal")),
            signal_payload=to_bytes(encode(value, f"signal '{signal}'")),
            signal_event=to_bytes(event.to_client() if event else b""),
        )

    def _start(
        self,
        call: str,
        workflow: Union[str, Callable[..., Any]],
        id: str,
        args: Tuple[Any, ...],
        on_existing: OnExisting,
        tags: Optional[Mapping[str, str]],
        returns: Any,
        **more: Any,
    ) -> Call[RunHandle[Any]]:
        kind = name_of(workflow, call)
        options = abi.pawl_start_options(size=sizeof(abi.pawl_start_options), **more)
        options.kind = to_bytes(text_bytes(kind, f"{call}: the kind"))
        options.id = to_bytes(text_bytes(id, f"{call}: the id"))
        options.input = to_bytes(
            encode_arguments(args, f"input of '{kind}'", self._signature(workflow, kind))
        )
        options.on_existing = choice(on_existing, OnExisting, f"{call}: on_existing")
        if tags:
            options.tags = to_bytes(encode(dict(tags), f"{call}: tags"))
        converter = self._converter(workflow, kind, returns)
        return self._call(
            f"{call} '{id}'",
            lambda payload, _, flag: RunHandle(self, payload.decode(), bool(flag), converter),
            lambda handle, tag: short.client_start(handle, byref(options), tag, None),
        )

    def _converter(self, workflow: Any, kind: str, returns: Any) -> Optional[Converter]:
        if returns is not None:
            return converter_for(returns)
        signature = self._signature(workflow, kind)
        return None if signature is None else signature.result

    def _signature(self, workflow: Any, kind: str) -> Optional[Signature]:
        signature = signature_of(workflow)
        if signature is None and kind in self._workflows:
            return self._workflows[kind].signature
        return signature

    def get(
        self, id: str, *, workflow: Optional[Callable[..., Any]] = None, returns: Any = None
    ) -> Call[RunHandle[Any]]:
        """A handle to a run that is there, or NotFound. Its result is read as `workflow` or
        `returns` says; of this engine's workflows that is known."""

        def read(payload: bytes, _: int, __: int) -> RunHandle[Any]:
            kind = json.loads(payload)["kind"]
            return RunHandle(self, id, False, self._converter(workflow, kind, returns))

        key = to_bytes(text_bytes(id, "get: the id"))
        return self._call(
            f"get '{id}'",
            read,
            lambda handle, tag: short.client_describe(handle, key, tag, None),
        )

    def list(
        self,
        *,
        kinds: Iterable[str] = (),
        statuses: Iterable[Union[Status, str]] = (),
        tags: Optional[Mapping[str, str]] = None,
        limit: int = 100,
        cursor: str = "",
    ) -> Call[RunList]:
        """All of what is given must hold."""
        query: Dict[str, Any] = {"limit": limit}
        if names := texts(kinds, "list: kinds"):
            query["kinds"] = names
        known = {each.value for each in Status}
        if values := texts(statuses, "list: statuses"):
            if unknown := [each for each in values if each not in known]:
                raise UsageError(f"list: there is no status {unknown[0]!r}")
            query["statuses"] = values
        if tags:
            query["tags"] = dict(tags)
        if cursor:
            query["cursor"] = cursor
        text = to_bytes(encode(query, "list"))

        def read(payload: bytes, _: int, __: int) -> RunList:
            page = json.loads(payload)
            return RunList([_read_description(each) for each in page["runs"]], page["next"])

        return self._call(
            "list", read, lambda handle, tag: short.client_list(handle, text, tag, None)
        )

    # --- Promises, by the text that PromiseFuture.token() gave ---

    def resolve_token(self, token: str, value: Any = None) -> Call[None]:
        run_id, promise = _parts_of(token)
        return RunHandle[Any](self, run_id, False, None).resolve(promise, value)

    def reject_token(
        self, token: str, type: str, message: str, details: Any = None
    ) -> Call[None]:
        run_id, promise = _parts_of(token)
        return RunHandle[Any](self, run_id, False, None).reject(promise, type, message, details)

    def _call(self, what: str, read: Any, send: Callable[[int, int], int]) -> Call[Any]:
        worker = self._worker
        if worker is None:
            raise UsageError(f"{what}: the engine is not open; use `with` or `async with`")
        if self._is_closed:
            raise Closed(f"{what}: the engine has been closed")
        handle = worker.handle
        return worker.call(what, read, lambda tag: send(handle, tag))


def _read_description(fields: Dict[str, Any]) -> Description:
    return Description(
        Info(fields["id"], fields["number"], fields["kind"], fields["uuid"]),
        Status(fields["status"]),
        fields.get("waitingFor", ""),
        fields.get("reason", ""),
        _moment(fields["started"]),
        _moment(fields["changed"]),
        fields["paused"],
        fields["tags"],
    )


def _moment(milliseconds: int) -> datetime.datetime:
    epoch = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return epoch + datetime.timedelta(milliseconds=milliseconds)


def _parts_of(token: str) -> Tuple[str, str]:
    run_id, promise = c_void_p(), c_void_p()
    status = short.promise_token_parts(
        to_bytes(text_bytes(token, "the token")), byref(run_id), byref(promise)
    )
    if status:
        fail(status)
    return take_buffer(run_id).decode(), take_buffer(promise).decode()


async def _in_thread(function: Callable[[], T]) -> T:
    """What blocks: not on the loop's thread."""
    return await asyncio.get_running_loop().run_in_executor(None, function)
