"""What Pawl raises. Everything but what ends a workflow derives from pawl.Error.

In workflow code a failed step raises when it is awaited: ActivityFailed, ChildFailed,
PromiseRejected (all of them a Failure), TimedOut, or one of the *Cancelled. A cancel request raises
Cancelled at the awaits that are pending when it is delivered; as in asyncio, `except Exception` does
not catch it.
"""
from __future__ import annotations

from typing import Any, Optional


class Error(Exception):
    """The base of all others."""


class UsageError(Error):
    """A call that can never work: an empty name, a context used outside of its workflow …"""


class NonDeterministicCall(UsageError):
    """Workflow code asked for something that another execution would answer differently."""


class PayloadError(Error):
    """A value that cannot be written as JSON, or JSON that does not hold what the code expects."""


class PayloadTooLarge(PayloadError):
    """Larger than the engine allows. Nothing of it was recorded or sent."""


class TimedOut(Error):
    """A promise, a signal, with_timeout(), or the time limit of a client's call."""


class TaskCancelled(Error):
    pass


class TimerCancelled(Error):
    pass


class ChildCancelled(Error):
    pass


class Failure(Error):
    """What failed elsewhere and was recorded: by type and text, since the object is long gone."""

    def __init__(self, subject: str, type: str, message: str, details: Any = None) -> None:
        super().__init__(": ".join(filter(None, (f"{subject} failed", type, message))))
        self.subject = subject
        self.type = type
        self.message = message
        self.details = details


class ActivityFailed(Failure):
    """An operation or a task failed for good."""


class ChildFailed(Failure):
    pass


class PromiseRejected(Failure):
    pass


class WorkflowFailed(Failure):
    """For clients: how a run ended."""


class WorkflowCancelled(Error):
    """For clients: how a run ended."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(f"run '{run_id}' was cancelled" + (f": {reason}" if reason else ""))
        self.run_id = run_id
        self.reason = reason


class StoreError(Error):
    """The store cannot be opened, or does not work."""


class NotFound(Error):
    """No such run or promise."""


class AlreadyExists(Error):
    """There is a run with this id, or the promise has its answer."""


class Closed(Error):
    """The run has ended, or the engine has been closed."""


class Cancelled(BaseException):
    """The run was asked to end. Leaving the workflow function, it ends the run as cancelled."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(f"cancelled: {reason}" if reason else "cancelled")
        self.reason = reason


class DeterminismViolation(BaseException):
    """The code of the workflow disagrees with its history. The run goes no further, whether this is
    caught or not; the whole report is stored with the run."""

    code: str
    headline: str
    run_id: str
    location: str
    label: str
    recorded: str
    asked: str
    source_now: str
    source_then: str
    last_agreed: str
    definition_then: str
    definition_now: str
    advice: str
    text: str

    def __init__(self, fields: Optional[dict[str, str]] = None) -> None:
        fields = fields or {}
        super().__init__(fields.get("text", ""))
        self.__dict__.update(fields)
