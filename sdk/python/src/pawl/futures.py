"""Futures: what became of commands, to be awaited in workflow code. Nothing else can be awaited there.
"""
from __future__ import annotations

from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Awaitable, Generator, Generic, NoReturn, Optional, Tuple, TypeVar

from . import _abi as abi
from ._library import fail, short, take_buffer, to_bytes
from ._run import Run
from .errors import (
    ActivityFailed,
    ChildCancelled,
    ChildFailed,
    PayloadError,
    PromiseRejected,
    TaskCancelled,
    TimedOut,
    TimerCancelled,
)
from .event import Event, read_event
from .failures import read_failure
from .payload import Converter, convert, read_json

T = TypeVar("T")

_KIND_NAMES = {
    abi.PAWL_TASK: "task",
    abi.PAWL_OPERATION: "operation",
    abi.PAWL_TIMER: "timer",
    abi.PAWL_PROMISE: "promise",
    abi.PAWL_CHILD: "child",
    abi.PAWL_SIGNAL: "signal",
    abi.PAWL_LOOP: "loop",
}


class Future(Generic[T]):
    """A command's outcome to come. May be awaited any number of times."""

    __slots__ = ("_run", "_id", "_kind", "_name", "_converter", "_is_shielded")

    def __init__(
        self,
        run: Run,
        id: int,
        kind: int,
        name: str,
        converter: Optional[Converter],
        is_shielded: bool,
    ) -> None:
        self._run = run
        self._id = id
        self._kind = kind
        self._name = name
        self._converter = converter
        self._is_shielded = is_shielded

    def __await__(self) -> Generator[Any, Any, T]:
        run = self._run
        await_id = run.begin_one(self._id, self._is_shielded)
        if await_id:
            try:
                over = yield await_id
            except BaseException:
                run.give_up(await_id)
                raise
            run.resumed(over)
        return self._value()

    def done(self) -> bool:
        """Its outcome has been delivered."""
        self._run.check("done")
        return self._run.outcome(self._id)[0] != abi.PAWL_PENDING

    def shielded(self) -> "Future[T]":
        """The same outcome; awaiting it is not interrupted by a cancel request."""
        copy = type(self).__new__(type(self))
        for name in Future.__slots__:
            setattr(copy, name, getattr(self, name))
        copy._is_shielded = True
        return copy

    def _value(self) -> T:
        kind, payload, _ = self._run.outcome(self._id)
        if kind == abi.PAWL_VALUE:
            return self._read(payload)
        self._raise(kind, payload)

    def _read(self, payload: bytes) -> T:
        try:
            value: Any = read_json(payload) if payload else None
        except ValueError:
            raise PayloadError(f"{self._subject()}: the outcome is no JSON") from None
        if self._converter is not None:
            value = convert(value, self._converter, self._subject())
        return value  # type: ignore[no-any-return]

    def _subject(self) -> str:
        name = self._name
        if not name and self._kind == abi.PAWL_TIMER:
            name = self._run.command_id(self._id)
        return f"{_KIND_NAMES.get(self._kind, 'step')} '{name}'"

    def _raise(self, outcome: int, payload: bytes) -> NoReturn:
        subject = self._subject()
        if outcome == abi.PAWL_TIMEOUT:
            raise TimedOut(f"{subject} timed out")
        if outcome == abi.PAWL_CANCELLED:
            cancelled = {abi.PAWL_TIMER: TimerCancelled, abi.PAWL_CHILD: ChildCancelled}
            raise cancelled.get(self._kind, TaskCancelled)(f"{subject} was cancelled")
        failed = {abi.PAWL_CHILD: ChildFailed, abi.PAWL_PROMISE: PromiseRejected}
        raise failed.get(self._kind, ActivityFailed)(subject, *read_failure(payload))


class PromiseFuture(Future[T]):
    __slots__ = ()

    def token(self) -> str:
        """Resolves it from anywhere: engine.resolve_token(token, value). An address, no secret."""
        return make_token(self._run.info.id, self._name)


class SignalFuture(Future[T]):
    __slots__ = ()

    def event(self) -> Event:
        """The attributes that the signal was sent with. After it has been awaited."""
        if self._run.trouble is not None:
            self._run.refuse("event")
        return read_event(self._run.outcome(self._id)[2])


@dataclass(frozen=True)
class Signal(Generic[T]):
    """A signal that was taken without waiting for it."""

    value: T
    event: Event


def make_token(run_id: str, promise: str) -> str:
    buffer = c_void_p()
    status = short.promise_token(
        to_bytes(run_id.encode()), to_bytes(promise.encode()), byref(buffer)
    )
    if status:
        fail(status, "token")
    return take_buffer(buffer).decode()


class All(Awaitable[T]):
    __slots__ = ("_futures", "_run", "_is_shielded")

    def __init__(self, run: Run, futures: Tuple[Future[Any], ...], is_shielded: bool) -> None:
        self._run = run
        self._futures = futures
        self._is_shielded = is_shielded

    def _wait(self, mode: int) -> Generator[Any, Any, int]:
        run = self._run
        await_id, decided_by = run.begin_some(
            mode, [each._id for each in self._futures], self._is_shielded
        )
        if await_id:
            try:
                over = yield await_id
            except BaseException:
                run.give_up(await_id)
                raise
            decided_by = run.resumed(over)
        return decided_by

    def __await__(self) -> Generator[Any, Any, Any]:
        failed = yield from self._wait(abi.PAWL_AWAIT_ALL)
        for each in self._futures:
            if each._id == failed:
                each._value()
        return [each._value() for each in self._futures]


class Any_(All[T]):
    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, Any]:
        first = yield from self._wait(abi.PAWL_AWAIT_ANY)
        return next(each for each in self._futures if each._id == first)
