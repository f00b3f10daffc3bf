"""Options of commands. Durations are a timedelta or seconds."""
from __future__ import annotations

import enum
from ctypes import byref, c_void_p, pointer, sizeof
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Type, Union

from . import _abi as abi
from ._library import fail, short, take_buffer, text_bytes, to_bytes
from .errors import UsageError
from .payload import encode

Duration = Union[timedelta, float, int]

_MILLISECONDS_MAX = 2**62


def to_ms(duration: Duration, what: str) -> int:
    if isinstance(duration, timedelta):
        milliseconds = duration // timedelta(milliseconds=1)
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        if duration != duration or abs(duration) * 1000 > _MILLISECONDS_MAX:
            raise UsageError(f"{what} is too large: {duration}")
        milliseconds = round(duration * 1000)
    else:
        raise UsageError(
            f"{what} must be seconds or a timedelta, not {type(duration).__name__}"
        )
    if milliseconds < 0:
        raise UsageError(f"{what} must not be negative: {duration}")
    return milliseconds


def limit_ms(limit: Duration, what: str) -> int:
    """0: none. Less than a millisecond is one."""
    return max(1, to_ms(limit, what)) if limit else 0


def choice(value: Any, kind: Type[enum.IntEnum], what: str) -> int:
    try:
        return int(kind(value))
    except ValueError:
        names = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
        raise UsageError(f"{what} must be one of {names}, not {value!r}") from None


def texts(values: Iterable[str], what: str) -> List[str]:
    """A text by itself would be taken for its letters."""
    if isinstance(values, str):
        raise UsageError(f"{what} must be a list of texts, not the text {values!r}")
    return [text_bytes(each, f"{what}: each").decode() for each in values]


class Matching(enum.IntEnum):
    """How commands are found in the history."""

    STRICT = abi.PAWL_STRICT
    PER_KIND = abi.PAWL_PER_KIND
    BY_NAME = abi.PAWL_BY_NAME


class OnChange(enum.IntEnum):
    """What to do with runs that were started under another fingerprint: replay all and go on if the
    code agrees, or block them until a person decides."""

    VERIFY = abi.PAWL_ON_CHANGE_VERIFY
    REFUSE = abi.PAWL_ON_CHANGE_REFUSE


class OnExisting(enum.IntEnum):
    """What start does when there is a run with this id."""

    RETURN = abi.PAWL_EXISTING_RETURN  # A handle to that one, whatever became of it.
    FAIL = abi.PAWL_EXISTING_FAIL  # Raises AlreadyExists.
    REPLACE = abi.PAWL_EXISTING_REPLACE  # An open one is terminated.


class ParentClose(enum.IntEnum):
    """What happens to a child that is open when its parent ends."""

    CANCEL = abi.PAWL_PARENT_CLOSE_CANCEL
    ABANDON = abi.PAWL_PARENT_CLOSE_ABANDON
    TERMINATE = abi.PAWL_PARENT_CLOSE_TERMINATE


class StepKind(enum.IntEnum):
    """For ctx.removed()."""

    TASK = abi.PAWL_TASK
    OPERATION = abi.PAWL_OPERATION
    TIMER = abi.PAWL_TIMER
    PROMISE = abi.PAWL_PROMISE
    CHILD = abi.PAWL_CHILD
    STATE = abi.PAWL_STATE
    SIGNAL = abi.PAWL_SIGNAL
    BRANCH = abi.PAWL_BRANCH
    LOOP = abi.PAWL_LOOP
    VERSION_CHECK = abi.PAWL_VERSION_CHECK
    COMPENSATION = abi.PAWL_COMPENSATION
    CANCEL_TASK = abi.PAWL_CANCEL_TASK
    CANCEL_TIMER = abi.PAWL_CANCEL_TIMER


@dataclass(frozen=True)
class Retry:
    """When and how often an activity is tried again."""

    attempts: int = 1  # In all; 0: no limit.
    initial: Duration = 1.0
    maximum: Duration = 60.0
    factor: float = 2.0
    jitter: float = 0.1  # Part of the interval that is random: 0 to 1.
    final_types: Sequence[str] = field(default=())  # Errors that are not tried again.

    def __post_init__(self) -> None:
        texts(self.final_types, "retry: final_types")

    def to_abi(self) -> abi.pawl_retry:
        kept = self.__dict__.get("_abi")
        if kept is None:
            kept = abi.pawl_retry()
            short.retry_default(byref(kept))
            if not isinstance(self.attempts, int) or not 0 <= self.attempts < 2**32:
                raise UsageError(f"retry: attempts must be a number from 0: {self.attempts!r}")
            kept.attempts = self.attempts
            kept.initial_ms = to_ms(self.initial, "retry: initial")
            kept.maximum_ms = max(to_ms(self.maximum, "retry: maximum"), kept.initial_ms)
            kept.factor = self.factor
            kept.jitter = self.jitter
            kept.final_types = to_bytes("\n".join(self.final_types).encode())
            object.__setattr__(self, "_abi", kept)
        return kept


def check_retry(retry: Any, call: str) -> None:
    if retry is not None and not isinstance(retry, Retry):
        raise UsageError(
            f"{call}: retry must be a pawl.Retry, e.g. pawl.Retry(attempts=3), not {retry!r}"
        )


def task_extra(
    queue: str,
    priority: int,
    timeout: Duration,
    total_timeout: Duration,
    wait_timeout: Duration,
    heartbeat_timeout: Duration,
    retry: Optional[Retry],
) -> bytes:
    check_retry(retry, "schedule")
    if not queue:
        raise UsageError("schedule: the queue must not be empty")
    options = abi.pawl_task_options(size=sizeof(abi.pawl_task_options))
    options.queue = to_bytes(text_bytes(queue, "schedule: the queue"))
    options.priority = priority
    options.attempt_timeout_ms = limit_ms(timeout, "schedule: timeout")
    options.total_timeout_ms = limit_ms(total_timeout, "schedule: total_timeout")
    options.wait_timeout_ms = limit_ms(wait_timeout, "schedule: wait_timeout")
    options.heartbeat_timeout_ms = limit_ms(heartbeat_timeout, "schedule: heartbeat_timeout")
    if retry is not None:
        options.retry = pointer(retry.to_abi())
    buffer = c_void_p()
    status = short.task_extra(byref(options), byref(buffer))
    if status:
        fail(status, "schedule")
    return take_buffer(buffer)


def child_extra(parent_close: ParentClose, tags: Optional[Mapping[str, str]]) -> bytes:
    buffer = c_void_p()
    status = short.child_extra(
        choice(parent_close, ParentClose, "child: parent_close"),
        to_bytes(encode(dict(tags), "tags") if tags else b""),
        byref(buffer),
    )
    if status:
        fail(status, "child")
    return take_buffer(buffer)

