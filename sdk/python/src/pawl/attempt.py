"""Attempt: one execution of an activity or operation, for the function that runs in it."""
from __future__ import annotations

import contextvars
from ctypes import byref, c_int32
from typing import Any, Optional

from ._library import fail, short, to_bytes
from .errors import Error, UsageError
from .options import Duration, to_ms
from .payload import converter_for, decode, encode

_current: contextvars.ContextVar[Optional["Attempt"]] = contextvars.ContextVar(
    "pawl_attempt", default=None
)


class ActivityError(Error):
    """For activities that have more to say than a type and a text. Any other exception is recorded
    with the name of its class and its text."""

    def __init__(
        self,
        message: str,
        *,
        type: str = "ActivityError",
        details: Any = None,
        final: bool = False,
        next_delay: Optional[Duration] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.details = details  # Anything that is JSON, for the workflow.
        self.final = final  # Not tried again, whatever the retry policy says.
        # Before the next attempt, instead of the policy's.
        self.next_delay_ms = None if next_delay is None else to_ms(next_delay, "next_delay")


class Attempt:
    __slots__ = ("id", "name", "number", "_worker", "_run_id", "_key", "_details", "_input")

    def __init__(
        self,
        worker: Any,
        id: int,
        name: str,
        number: int,
        run_id: bytes,
        key: bytes,
        details: bytes = b"",
        input: bytes = b"",
    ) -> None:
        self._worker = worker
        self.id = id
        self.name = name
        self.number = number  # From 1.
        self._run_id = run_id
        self._key = key
        self._details = details
        self._input = input

    @property
    def run_id(self) -> str:
        return self._run_id.decode("utf-8", "replace")

    @property
    def key(self) -> str:
        """The same for every attempt of this step and for no other one: an idempotency key."""
        return self._key.decode("utf-8", "replace")

    def should_stop(self) -> bool:
        """The time limit is over, somebody cancelled it, its run has ended, or the engine stops: end
        soon."""
        if self._worker.is_closing:
            return True
        stops = c_int32()
        status = short.attempt_should_stop(self._worker.handle, self.id, byref(stops))
        return bool(stops.value) if status == 0 else True

    def heartbeat(self, details: Any = None) -> bool:
        """Says that it is alive. The next attempt gets `details`, if this one fails. False: as
        should_stop()."""
        stops = c_int32()
        payload = b"" if details is None else encode(details, f"heartbeat of '{self.name}'")
        status = short.attempt_heartbeat(
            self._worker.handle, self.id, to_bytes(payload), byref(stops)
        )
        if status:
            if self._worker.is_closing:
                return False
            fail(status, "heartbeat")
        return not stops.value and not self._worker.is_closing

    def last_details(self, *, returns: Any = None) -> Any:
        """What an earlier attempt said last; None if it did not."""
        if not self._details:
            return None
        return decode(
            self._details, converter_for(returns), f"heartbeat details of '{self.name}'"
        )


def current_attempt() -> Attempt:
    """Of the activity or operation that calls it."""
    attempt = _current.get()
    if attempt is None:
        raise UsageError("current_attempt: not called by an activity or an operation")
    return attempt


def set_current_attempt(attempt: Optional[Attempt]) -> None:
    _current.set(attempt)
