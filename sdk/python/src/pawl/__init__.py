"""Pawl: durable execution. A workflow is an `async def`; the result of every step is recorded before
anyone can see it; after a crash, a deploy or a reboot it goes on exactly where it was.

  @pawl.workflow
  async def hello(ctx: pawl.Context, name: str) -> str:
      return await ctx.run("greet", greet, name)

  with pawl.Engine("sqlite:hello.db", workflows=[hello]) as engine:
      print(engine.start(hello, "first", "world").wait().result().wait())
"""
from ._library import short as _short
from .attempt import ActivityError, Attempt, current_attempt
from .call import Call
from .context import Context, Info, LoopStep, Saga, break_with, continue_with
from .definitions import activity, workflow
from .engine import Description, Engine, RunHandle, RunList, Status
from .errors import (
    ActivityFailed,
    AlreadyExists,
    Cancelled,
    ChildCancelled,
    ChildFailed,
    Closed,
    DeterminismViolation,
    Error,
    Failure,
    NonDeterministicCall,
    NotFound,
    PayloadError,
    PayloadTooLarge,
    PromiseRejected,
    StoreError,
    TaskCancelled,
    TimedOut,
    TimerCancelled,
    UsageError,
    WorkflowCancelled,
    WorkflowFailed,
)
from .event import Event
from .futures import Future, PromiseFuture, Signal, SignalFuture
from .options import Matching, OnChange, OnExisting, ParentClose, Retry, StepKind

__version__ = _short.version().decode()

__all__ = [
    "ActivityError",
    "ActivityFailed",
    "AlreadyExists",
    "Attempt",
    "Call",
    "Cancelled",
    "ChildCancelled",
    "ChildFailed",
    "Closed",
    "Context",
    "Description",
    "DeterminismViolation",
    "Engine",
    "Error",
    "Event",
    "Failure",
    "Future",
    "Info",
    "LoopStep",
    "Matching",
    "NonDeterministicCall",
    "NotFound",
    "OnChange",
    "OnExisting",
    "ParentClose",
    "PayloadError",
    "PayloadTooLarge",
    "PromiseFuture",
    "PromiseRejected",
    "Retry",
    "RunHandle",
    "RunList",
    "Saga",
    "Signal",
    "SignalFuture",
    "Status",
    "StepKind",
    "StoreError",
    "TaskCancelled",
    "TimedOut",
    "TimerCancelled",
    "UsageError",
    "WorkflowCancelled",
    "WorkflowFailed",
    "activity",
    "break_with",
    "continue_with",
    "current_attempt",
    "workflow",
]
