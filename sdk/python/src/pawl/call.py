"""Call: what a client asked for. `await call` in asyncio; `call.wait()` anywhere else."""
from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, Callable, Generator, Generic, Optional, TypeVar

from ._run import current
from .errors import TimedOut, UsageError

T = TypeVar("T")

_log = logging.getLogger("pawl")


class Call(Generic[T]):
    """Sent when it is made, whether somebody waits for its answer or not."""

    __slots__ = ("_lock", "_is_done", "_value", "_error", "_event", "_loops", "_what", "_seen",
                 "__weakref__")

    def __init__(self, lock: threading.Lock, what: str) -> None:
        self._error: Optional[BaseException] = None
        if current.run is not None:
            raise UsageError(
                f"{what}: clients' calls are not for workflow code; see ctx.child() and ctx.send()"
            )
        self._lock = lock  # Shared by all calls of an engine.
        self._what = what
        self._is_done = False
        self._value: Any = None
        self._event: Optional[threading.Event] = None
        self._loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Future]] = []
        self._seen = False

    def __await__(self) -> Generator[Any, None, T]:
        if not self._is_done:
            loop = asyncio.get_running_loop()
            with self._lock:
                if not self._is_done:
                    waiter = loop.create_future()
                    self._loops.append((loop, waiter))
                else:
                    waiter = None
            if waiter is not None:
                yield from waiter
        return self._take()

    def wait(self, timeout: Optional[float] = None) -> T:
        """Blocks until the answer is there. Raises TimedOut after `timeout` seconds."""
        if not self._is_done:
            with self._lock:
                if not self._is_done and self._event is None:
                    self._event = threading.Event()
                event = self._event
            if event is not None and not event.wait(timeout):
                raise TimedOut(f"{self._what}: no answer within {timeout} s")
        return self._take()

    def done(self) -> bool:
        return self._is_done

    def _take(self) -> T:
        self._seen = True
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def __del__(self) -> None:
        if self._error is not None and not self._seen:
            _log.warning("%s failed, and nobody looked: %s", self._what, self._error)


class Waiters:
    """Those that are to be told of answers: once for each loop, not for each call."""

    def __init__(self) -> None:
        self._by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future]] = {}

    def settle(
        self, call: Call, value: Any = None, error: Optional[BaseException] = None
    ) -> None:
        with call._lock:
            call._value = value
            call._error = error
            call._is_done = True
            event = call._event
            loops = call._loops
            call._loops = []
        if event is not None:
            event.set()
        for loop, waiter in loops:
            self._by_loop.setdefault(loop, []).append(waiter)

    def tell(self) -> None:
        if not self._by_loop:
            return
        for loop, waiters in self._by_loop.items():
            try:
                loop.call_soon_threadsafe(_wake, waiters)
            except RuntimeError:
                pass  # The loop is closed.
        self._by_loop = {}


def _wake(waiters: list[asyncio.Future]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


Read = Callable[[bytes, int, int], Any]
