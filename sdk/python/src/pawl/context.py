"""Context: what workflow code asks the world through. Every call that makes a command records it; on
replay the recorded outcome is given back, in the order in which it was seen the first time.

For the code of its own workflow only, while that runs: anything else raises UsageError.
"""
from __future__ import annotations

import functools
import sys
import uuid as _uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from types import FrameType
from typing import (
    Any,
    Awaitable,
    Callable,
    List,
    Mapping,
    NoReturn,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
    overload,
)

from . import _abi as abi
from ._library import text_bytes
from ._run import Join, Recurred, Run
from .definitions import name_of, signature_of
from .errors import (
    PayloadError,
    TimedOut,
    UsageError,
)
from .event import Event, read_event
from .failures import place_of
from .futures import All, Any_, Future, PromiseFuture, Signal, SignalFuture
from .options import (
    Duration,
    ParentClose,
    Retry,
    StepKind,
    check_retry,
    child_extra,
    choice,
    task_extra,
    to_ms,
)
from .payload import (
    Converter,
    converter_for,
    decode,
    encode,
    encode_arguments,
    result_converter,
)

T = TypeVar("T")
S = TypeVar("S")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

@dataclass(frozen=True)
class Info:
    """Which run this is."""

    id: str
    number: int  # Of the runs with this id; recur() makes the next one.
    kind: str
    uuid: str


# --- Where in the code ----------------------------------------------------------------------------

_sources: dict[tuple[int, int], tuple[Any, bytes]] = {}


def _source(frame: FrameType) -> bytes:
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    found = _sources.get(key)
    if found is None:
        text = place_of(code.co_filename, frame.f_lineno)
        # The code object is kept so that its id stays its own.
        found = _sources[key] = (code, text.encode("utf-8", "replace"))
    return found[1]


# --- Loops ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoopStep:
    """What the body of a loop returns: continue_with(state) or break_with(value)."""

    is_break: bool
    value: Any
    state: Any = None
    has_state: bool = True


def continue_with(state: Any) -> LoopStep:
    return LoopStep(False, None, state)


_NO_STATE = object()


def break_with(value: Any = None, state: Any = _NO_STATE) -> LoopStep:
    """`state`: the last one, to be recorded; else that of the iteration's begin."""
    return LoopStep(True, value, state, state is not _NO_STATE)


Body = Callable[["Context"], Awaitable[T]]


@functools.lru_cache(maxsize=1024)
def _task_extra(*options: Any) -> bytes:
    return task_extra(*options)


class Context:
    __slots__ = ("_run", "_branch", "_version", "_is_shielded")

    def __init__(self, run: Run, branch: int, is_shielded: bool = False, version: int = 0) -> None:
        self._run = run
        self._branch = branch
        self._is_shielded = is_shielded
        self._version = version  # 0: the branch's.

    # --- Activities ---

    @overload
    def run(
        self, name: str, function: Callable[..., Awaitable[T]], *args: Any,
        retry: Optional[Retry] = ..., timeout: Duration = ..., step_key: str = ...,
    ) -> Future[T]: ...

    @overload
    def run(
        self, name: str, function: Callable[..., T], *args: Any,
        retry: Optional[Retry] = ..., timeout: Duration = ..., step_key: str = ...,
    ) -> Future[T]: ...

    def run(
        self,
        name: str,
        function: Any = None,
        *args: Any,
        retry: Optional[Retry] = None,
        timeout: Duration = 0,
        step_key: str = "",
    ) -> Future[Any]:
        """Calls `function(*args)`, which may be async, in this process, once all that came before is
        durable, and records what it returns or raises. It runs on another thread, and maybe more
        than once: it must not use anything of the workflow's. The result is read by the function's
        type hint; the arguments are recorded if they can be written as JSON."""
        if function is None:
            raise UsageError("run: a function is expected: ctx.run(name, function, *args)")
        if not callable(function):
            raise UsageError(f"run: {function!r} cannot be called; ctx.run(name, function, *args)")
        check_retry(retry, "run")
        payload: Optional[bytes] = None
        if args:
            try:
                payload = encode_arguments(args, "run")
            except PayloadError:
                payload = None
        run = self._run
        future, _, must_execute = run.open(
            "run",
            abi.PAWL_OPERATION,
            self._branch,
            self._version,
            text_bytes(name, "run: the name"),
            _source(sys._getframe(1)),
            payload,
            {"step_key": text_bytes(step_key, "step_key")} if step_key else None,
        )
        if must_execute:
            run.host.execute(run, future, name, function, args, retry, timeout)
        return Future(
            run, future, abi.PAWL_OPERATION, name, result_converter(function), self._is_shielded
        )

    @overload
    def schedule(
        self, activity: Callable[..., Awaitable[T]], *args: Any,
        queue: str = ..., priority: int = ..., timeout: Duration = ..., total_timeout: Duration = ...,
        wait_timeout: Duration = ..., heartbeat_timeout: Duration = ...,
        retry: Optional[Retry] = ..., step_key: str = ...,
    ) -> Future[T]: ...

    @overload
    def schedule(
        self, activity: Callable[..., T], *args: Any,
        queue: str = ..., priority: int = ..., timeout: Duration = ..., total_timeout: Duration = ...,
        wait_timeout: Duration = ..., heartbeat_timeout: Duration = ...,
        retry: Optional[Retry] = ..., step_key: str = ...,
    ) -> Future[T]: ...

    @overload
    def schedule(
        self, activity: str, *args: Any,
        queue: str = ..., priority: int = ..., timeout: Duration = ..., total_timeout: Duration = ...,
        wait_timeout: Duration = ..., heartbeat_timeout: Duration = ...,
        retry: Optional[Retry] = ..., step_key: str = ...,
        returns: Type[T],
    ) -> Future[T]: ...

    @overload
    def schedule(
        self, activity: str, *args: Any,
        queue: str = ..., priority: int = ..., timeout: Duration = ..., total_timeout: Duration = ...,
        wait_timeout: Duration = ..., heartbeat_timeout: Duration = ...,
        retry: Optional[Retry] = ..., step_key: str = ...,
        returns: Any = ...,
    ) -> Future[Any]: ...

    def schedule(
        self,
        activity: Union[str, Callable[..., Any]],
        *args: Any,
        queue: str = "default",
        priority: int = 0,
        timeout: Duration = 0,
        total_timeout: Duration = 0,
        wait_timeout: Duration = 0,
        heartbeat_timeout: Duration = 0,
        retry: Optional[Retry] = None,
        step_key: str = "",
        returns: Any = None,
    ) -> Future[Any]:
        """Puts a task on a queue, for whichever worker has an activity of this type. `timeout` is of
        one attempt, `total_timeout` of all of it, `wait_timeout` until a worker takes it; 0: none.
        The result is read by the type hint of the activity, or by `returns`."""
        name = name_of(activity, "schedule")
        given = (queue, priority, timeout, total_timeout, wait_timeout, heartbeat_timeout, retry)
        try:
            extra = _task_extra(*given)
        except TypeError:  # Not hashable.
            extra = task_extra(*given)
        return self._future(
            "schedule",
            abi.PAWL_TASK,
            name,
            _source(sys._getframe(1)),
            self._input(activity, args, f"input of task '{name}'"),
            _returned(activity, returns),
            {"extra": extra},
            step_key,
        )

    # --- Time ---

    def sleep(self, duration: Duration, *, id: str = "", step_key: str = "") -> Future[None]:
        """`id`: compared on replay; empty: one is made."""
        return self._future(
            "sleep",
            abi.PAWL_TIMER,
            id,
            _source(sys._getframe(1)),
            None,
            None,
            {"number": to_ms(duration, "sleep")},
            step_key,
        )

    def sleep_until(self, time: datetime, *, id: str = "", step_key: str = "") -> Future[None]:
        if time.tzinfo is None:
            raise UsageError("sleep_until: the time needs a time zone, e.g. timezone.utc")
        left = max(time - self.now(), timedelta(0))
        return self._future(
            "sleep_until",
            abi.PAWL_TIMER,
            id,
            _source(sys._getframe(1)),
            None,
            None,
            {"number": to_ms(left, "sleep_until")},
            step_key,
        )

    def now(self) -> datetime:
        """The time of the last thing that this run has seen, in UTC."""
        return _EPOCH + timedelta(milliseconds=self._run.now_ms())

    def time(self) -> float:
        """The same in seconds since 1970."""
        return self._run.now_ms() / 1000

    # --- From outside ---

    @overload
    def signal(
        self, name: str, *, timeout: Optional[Duration] = ..., step_key: str = ..., returns: Type[T]
    ) -> SignalFuture[T]: ...

    @overload
    def signal(
        self, name: str, *, timeout: Optional[Duration] = ..., step_key: str = ..., returns: Any = ...
    ) -> SignalFuture[Any]: ...

    def signal(
        self,
        name: str,
        *,
        timeout: Optional[Duration] = None,
        step_key: str = "",
        returns: Any = None,
    ) -> SignalFuture[Any]:
        """Waits for the next signal of this name. They queue up while nobody waits. After `timeout`:
        TimedOut."""
        return self._future(  # type: ignore[return-value]
            "signal",
            abi.PAWL_SIGNAL,
            name,
            _source(sys._getframe(1)),
            None,
            converter_for(returns),
            _limit(timeout, "signal: timeout"),
            step_key,
            SignalFuture,
        )

    def has_signal(self, name: str) -> bool:
        """A signal that nobody has taken is there."""
        return self._run.signal_count(text_bytes(name, "has_signal: the name")) > 0

    def try_signal(self, name: str, *, returns: Any = None) -> Optional[Signal[Any]]:
        """Takes it, without waiting."""
        taken = self._run.take_signal(self._branch, text_bytes(name, "try_signal: the name"))
        if taken is None:
            return None
        where = f"signal '{name}'"
        return Signal(decode(taken[0], converter_for(returns), where), read_event(taken[1]))

    @overload
    def promise(
        self, name: str, *, timeout: Optional[Duration] = ..., step_key: str = ..., returns: Type[T]
    ) -> PromiseFuture[T]: ...

    @overload
    def promise(
        self, name: str, *, timeout: Optional[Duration] = ..., step_key: str = ..., returns: Any = ...
    ) -> PromiseFuture[Any]: ...

    def promise(
        self,
        name: str,
        *,
        timeout: Optional[Duration] = None,
        step_key: str = "",
        returns: Any = None,
    ) -> PromiseFuture[Any]:
        """Something that somebody outside will resolve or reject, once. After `timeout`: TimedOut."""
        return self._future(  # type: ignore[return-value]
            "promise",
            abi.PAWL_PROMISE,
            name,
            _source(sys._getframe(1)),
            None,
            converter_for(returns),
            _limit(timeout, "promise: timeout"),
            step_key,
            PromiseFuture,
        )

    # --- Other runs ---

    @overload
    def child(
        self, workflow: Callable[..., Awaitable[T]], id: str, *args: Any,
        parent_close: ParentClose = ..., tags: Optional[Mapping[str, str]] = ...,
        step_key: str = ...,
    ) -> Future[T]: ...

    @overload
    def child(
        self, workflow: str, id: str, *args: Any,
        parent_close: ParentClose = ..., tags: Optional[Mapping[str, str]] = ...,
        step_key: str = ..., returns: Type[T],
    ) -> Future[T]: ...

    @overload
    def child(
        self, workflow: str, id: str, *args: Any,
        parent_close: ParentClose = ..., tags: Optional[Mapping[str, str]] = ...,
        step_key: str = ..., returns: Any = ...,
    ) -> Future[Any]: ...

    def child(
        self,
        workflow: Union[str, Callable[..., Any]],
        id: str,
        *args: Any,
        parent_close: ParentClose = ParentClose.CANCEL,
        tags: Optional[Mapping[str, str]] = None,
        step_key: str = "",
        returns: Any = None,
    ) -> Future[Any]:
        """Starts a run of its own. If there is one with this id, it fails: ChildFailed."""
        kind = name_of(workflow, "child")
        options: dict[str, Any] = {"child_kind": text_bytes(kind, "child: the kind")}
        if not kind:
            raise UsageError("child: the kind must not be empty")
        extra = child_extra(parent_close, tags)
        if extra:
            options["extra"] = extra
        return self._future(
            "child",
            abi.PAWL_CHILD,
            id,
            _source(sys._getframe(1)),
            self._input(workflow, args, f"input of child '{id}'"),
            _returned(workflow, returns),
            options,
            step_key,
        )

    def send(
        self,
        run_id: str,
        signal: str,
        value: Any = None,
        *,
        event: Optional[Event] = None,
        step_key: str = "",
    ) -> Future[None]:
        """Sends a signal to another run, once. Complete when it is on its way; nobody gets it if
        there is no run with this id, or if it has ended."""
        event = event or Event()
        to = text_bytes(run_id, "send: the run's id")
        if not to:
            raise UsageError("send: the run's id must not be empty")
        name = f"send {signal}"
        payload = encode(value, f"signal '{signal}'")
        run = self._run
        future, _, must_execute = run.open(
            "send",
            abi.PAWL_OPERATION,
            self._branch,
            self._version,
            text_bytes(name, "send: the signal"),
            _source(sys._getframe(1)),
            payload,
            {"step_key": text_bytes(step_key, "step_key")} if step_key else None,
        )
        if must_execute:
            run.host.send(
                run, future, to, text_bytes(signal, "send: the signal"), payload,
                event.to_extra(signal), event.dedupe().encode(),
            )
        return Future(run, future, abi.PAWL_OPERATION, name, None, self._is_shielded)

    # --- State: values that people can see from outside while the run goes on ---

    def set(self, key: str, value: Any, *, step_key: str = "") -> None:
        self._command(
            "set", abi.PAWL_STATE, key, _source(sys._getframe(1)), encode(value, f"state '{key}'"),
            None, step_key,
        )

    def get(self, key: str, default: Any = None, *, returns: Any = None) -> Any:
        payload = self._run.state(text_bytes(key, "get: the key"))
        if payload is None:
            return default
        return decode(payload, converter_for(returns), f"state '{key}'")

    def clear(self, key: str, *, step_key: str = "") -> None:
        self._command(
            "clear", abi.PAWL_STATE, key, _source(sys._getframe(1)), None, {"clear": 1}, step_key
        )

    # --- Instead of what must not be used in a workflow ---

    def uuid(self) -> _uuid.UUID:
        return _uuid.UUID(self._run.uuid(self._branch))

    def random(self) -> float:
        """In [0, 1)."""
        return (self._run.random(self._branch) >> 11) * 2.0**-53

    def randint(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        if low > high:
            raise UsageError("randint: the first number is greater than the second")
        count = high - low + 1
        if count > 2**64:
            raise UsageError("randint: the numbers are too far apart")
        rest = 2**64 % count
        while True:  # The last, incomplete block of numbers is not used.
            number = self._run.random(self._branch)
            if number < 2**64 - rest:
                return low + number % count

    # --- Cancelling ---

    def cancelled(self) -> bool:
        """A cancel request has been delivered."""
        self._run.check("cancelled")
        return self._run.cancel_request()[0]

    def cancel(self, future: Future[Any]) -> None:
        """Asks to cancel a task or a timer. Nothing happens if it is complete or was asked before."""
        if not isinstance(future, Future):
            raise UsageError(
                f"cancel: a future is expected, which ctx.schedule() or ctx.sleep() returned, "
                f"not {future!r}"
            )
        if future._run is not self._run:
            raise UsageError("cancel: the future belongs to another run")
        self._command(
            "cancel", abi.PAWL_CANCEL_TASK, "", _source(sys._getframe(1)), None,
            {"target": future._id}, "",
        )

    def shielded(self) -> "Context":
        """The same context; awaiting what its methods return, wherever that happens, is not
        interrupted by a cancel request."""
        return Context(self._run, self._branch, True, self._version)

    # --- Several at once ---

    def all(self, *futures: Future[Any]) -> Awaitable[List[Any]]:
        """Waits for all of them: a list of their values. The first failure to be seen is raised at
        once."""
        self._check_own("all", futures)
        return All(self._run, futures, self._shields(futures))

    def any(self, *futures: Future[T]) -> Awaitable[Future[T]]:
        """Waits for whichever is complete first, and returns that future; await it for its value."""
        self._check_own("any", futures)
        if not futures:
            raise UsageError("any: there are no futures, it would wait for ever")
        return Any_(self._run, futures, self._shields(futures))

    def with_timeout(self, future: Future[T], limit: Duration) -> Awaitable[T]:
        """The future's outcome, or TimedOut. The future itself is not cancelled."""
        self._check_own("with_timeout", (future,))
        return self._with_timeout(future, limit, _source(sys._getframe(1)))

    async def _with_timeout(self, future: Future[T], limit: Duration, source: bytes) -> T:
        number = to_ms(limit, "with_timeout")
        timer = self._future(
            "with_timeout", abi.PAWL_TIMER, "", source, None, None, {"number": number}, ""
        )
        group = (future, timer)
        first = await Any_(self._run, group, self._is_shielded or future._is_shielded)
        if first is timer:
            raise TimedOut(f"{future._subject()} took longer than {number} ms")
        self._command(
            "cancel", abi.PAWL_CANCEL_TASK, "", source, None, {"target": timer._id}, ""
        )
        return await future

    # --- Structure ---

    def branch(self, body: Body[T], *, step_key: str = "") -> Awaitable[T]:
        """Runs `body(ctx)`, a coroutine, with locations of its own."""
        return self._run_branch(body, step_key, _source(sys._getframe(1)))

    async def _run_branch(self, body: Body[T], step_key: str, source: bytes) -> T:
        return await _run_body(self._open_branch("branch", step_key, source), body)

    def join(self, *bodies: Body[Any]) -> Awaitable[List[Any]]:
        """Runs several of them concurrently, till all have ended: a list of their results. The first
        error, in the order of the arguments, is raised then."""
        return self._join(bodies, _source(sys._getframe(1)))

    async def _join(self, bodies: Tuple[Body[Any], ...], source: bytes) -> List[Any]:
        run = self._run
        inner = [self._open_branch("join", "", source) for _ in bodies]
        join = Join(len(bodies))
        arms = [run.add_fiber(_run_body(*each), join) for each in zip(inner, bodies)]
        for arm in arms:
            run.go(arm)
        await join
        for arm in arms:
            if arm.error is not None:
                raise arm.error
        return [arm.value for arm in arms]

    def loop(
        self,
        state: S,
        body: Callable[["Context", S], Awaitable[LoopStep]],
        *,
        times: Optional[int] = None,
        checkpoint_every: int = 20,
        step_key: str = "",
        state_type: Any = None,
        returns: Any = None,
    ) -> Awaitable[Any]:
        """Runs `body(ctx, state)`, a coroutine that returns continue_with(state) or
        break_with(value), until it breaks: the value. With `times`, at most so often: then the last
        state. What finished iterations recorded is replaced by the state every `checkpoint_every`
        iterations: nothing that was made in one may be used in another, but by way of the state,
        which is read as `state_type`, by default the type of the first one."""
        return self._loop(
            state,
            body,
            times,
            checkpoint_every,
            step_key,
            converter_for(state_type if state_type is not None else _state_hint(state)),
            converter_for(returns),
            _source(sys._getframe(1)),
        )

    async def _loop(
        self,
        state: Any,
        body: Callable[["Context", Any], Awaitable[LoopStep]],
        times: Optional[int],
        checkpoint_every: int,
        step_key: str,
        state_converter: Optional[Converter],
        converter: Optional[Converter],
        source: bytes,
    ) -> Any:
        run = self._run
        where = "state of a loop"
        if not isinstance(checkpoint_every, int) or not 1 <= checkpoint_every < 2**32:
            raise UsageError("loop: checkpoint_every must be a number from 1")
        options: dict[str, Any] = {"checkpoint_every": checkpoint_every}
        if step_key:
            options["step_key"] = text_bytes(step_key, "step_key")
        future, loop, _ = run.open(
            "loop", abi.PAWL_LOOP, self._branch, self._version, b"", source,
            encode(state, where), options,
        )
        if future:
            await self._checkpoint(future)
        finished, encoded, is_done, result = run.loop_position(loop)
        has_broken = is_done and bool(result)
        while not is_done and (times is None or finished < times):
            inner = Context(run, run.enter_iteration(loop), self._is_shielded)
            checkpoint = 0
            try:
                step = await body(inner, decode(encoded, state_converter, where))
                if not isinstance(step, LoopStep):
                    raise UsageError(
                        "loop: the body returns continue_with(state) or break_with(value), not "
                        f"{type(step).__name__}"
                    )
                finished += 1
                is_done = has_broken = step.is_break
                if is_done:
                    result = encode(step.value, "result of a loop")
                if step.has_state:
                    encoded = encode(step.state, where)
                if not is_done and (times is None or finished < times):
                    checkpoint = run.continue_loop(loop, encoded)
            except BaseException:
                run.abandon_loop(loop)
                raise
            if checkpoint:
                await self._checkpoint(checkpoint)
        checkpoint = run.end_loop(loop, encoded, result)
        if checkpoint:
            await self._checkpoint(checkpoint)
        if has_broken:
            return decode(result, converter, "result of a loop")
        return decode(encoded, state_converter, where)

    def _checkpoint(self, future: int) -> Future[None]:
        return Future(self._run, future, abi.PAWL_LOOP, "", None, True)

    def recur(self, *input: Any) -> NoReturn:
        """Ends this run; the next one of the same id starts with `input`. Never returns: it raises
        something that only `except BaseException` catches, which must raise it again."""
        self._run.check("recur")
        self._run.next_input = encode_arguments(input, "input of recur", self._run.signature)
        raise Recurred()

    # --- Sagas ---

    def compensate(
        self, activity: Union[str, Callable[..., Any]], *args: Any, step_key: str = ""
    ) -> None:
        """Registers an activity that undoes what was done, should the run fail or be cancelled. The
        last one comes first."""
        name = name_of(activity, "compensate")
        self._command(
            "compensate",
            abi.PAWL_COMPENSATION,
            name,
            _source(sys._getframe(1)),
            self._input(activity, args, f"input of compensation '{name}'"),
            None,
            step_key,
        )

    # --- Changes of code that has open runs ---

    def v(self, version: int) -> "Context":
        """The steps made by way of the returned context have this version: ctx.v(2).run(…)."""
        if not isinstance(version, int) or not 1 <= version < 2**32:
            raise UsageError("v: versions are numbers from 1")
        return Context(self._run, self._branch, self._is_shielded, version)

    def removed(self, kind: StepKind, name: str = "", *, step_key: str = "") -> None:
        """Stands for a step that the code once had. An empty name: any."""
        self._run.removed(
            choice(kind, StepKind, "removed: the kind"),
            self._branch,
            self._version,
            text_bytes(name, "removed: the name"),
            _source(sys._getframe(1)),
            text_bytes(step_key, "step_key"),
        )

    def check_version(self, latest: int) -> int:
        """Which version of the code this run follows here: `latest` if it gets here for the first
        time."""
        if not isinstance(latest, int) or not 1 <= latest < 2**32:
            raise UsageError("check_version: versions are numbers from 1")
        return self._run.check_version(self._branch, latest, _source(sys._getframe(1)))

    @property
    def info(self) -> Info:
        return self._run.info  # type: ignore[no-any-return]

    # --- For all of them ---

    def _input(self, function: Any, args: Tuple[Any, ...], where: str) -> Optional[bytes]:
        signature = signature_of(function)
        if signature is None and not args:
            return None
        payload = encode_arguments(args, where, signature)
        return payload if args else None

    def _future(
        self,
        call: str,
        kind: int,
        name: str,
        source: bytes,
        payload: Optional[bytes],
        converter: Optional[Converter],
        options: Optional[dict[str, Any]],
        step_key: str,
        make: Type[Future[Any]] = Future,
    ) -> Future[Any]:
        future, _, _ = self._command(call, kind, name, source, payload, options, step_key)
        return make(self._run, future, kind, name, converter, self._is_shielded)

    def _command(
        self,
        call: str,
        kind: int,
        name: str,
        source: bytes,
        payload: Optional[bytes],
        options: Optional[dict[str, Any]],
        step_key: str,
    ) -> tuple[int, int, int]:
        if step_key:
            options = {**(options or {}), "step_key": text_bytes(step_key, "step_key")}
        return self._run.open(
            call, kind, self._branch, self._version, text_bytes(name, f"{call}: the name"), source,
            payload, options,
        )

    def _open_branch(self, call: str, step_key: str, source: bytes) -> "Context":
        _, branch, _ = self._command(call, abi.PAWL_BRANCH, "", source, None, None, step_key)
        return Context(self._run, branch, self._is_shielded)

    def _check_own(self, call: str, futures: Tuple[Any, ...]) -> None:
        for each in futures:
            if not isinstance(each, Future):
                raise UsageError(
                    f"{call}: {each!r} is no future of this context; ctx.join() runs coroutines"
                )
            if each._run is not self._run:
                raise UsageError(f"{call}: the future belongs to another run")

    def _shields(self, futures: Tuple[Future[Any], ...]) -> bool:
        return self._is_shielded or all(each._is_shielded for each in futures) and bool(futures)


def _limit(timeout: Optional[Duration], what: str) -> Optional[dict[str, Any]]:
    """For signals and promises, where 0 ms stand for no limit."""
    return None if timeout is None else {"number": max(1, to_ms(timeout, what))}


class Saga:
    """Compensations of a run: what was added last comes first."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def add(
        self, activity: Union[str, Callable[..., Any]], *args: Any, step_key: str = ""
    ) -> None:
        name = name_of(activity, "saga.add")
        self._ctx._command(
            "saga.add",
            abi.PAWL_COMPENSATION,
            name,
            _source(sys._getframe(1)),
            self._ctx._input(activity, args, f"input of compensation '{name}'") or b"null",
            None,
            step_key,
        )


async def _run_body(inner: Context, body: Body[T]) -> T:
    """The code of one branch: whatever happens in it, the branch is closed at its end."""
    try:
        result = await body(inner)
    except BaseException:
        inner._run.close_branch(inner._branch)
        raise
    inner._run.close_branch(inner._branch)
    return result


def _state_hint(state: Any) -> Any:
    """Only of classes of the user's: an int may become a float, a list hold anything."""
    return Any if type(state).__module__ == "builtins" else type(state)


def _returned(function: Any, returns: Any) -> Optional[Converter]:
    if returns is not None:
        return converter_for(returns)
    signature = signature_of(function)
    return None if signature is None else signature.result
