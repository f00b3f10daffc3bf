"""Workflows and activities: functions with a name that histories know them by."""
from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any, Callable, Optional, TypeVar, Union, overload

from .errors import UsageError
from .options import Matching, OnChange, Retry, check_retry
from .payload import Signature

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class WorkflowDefinition:
    name: str
    function: Callable[..., Any]
    matching: Matching
    fingerprint: str
    on_change: OnChange
    signature: Signature = field(repr=False)


@dataclass
class ActivityDefinition:
    name: str
    function: Callable[..., Any]
    compensation_retry: Optional[Retry]
    signature: Signature = field(repr=False)
    is_method: bool = False  # Of a class: it is called by way of an object.


@overload
def workflow(function: F) -> F: ...


@overload
def workflow(
    *,
    name: Optional[str] = ...,
    matching: Matching = ...,
    fingerprint: str = ...,
    on_change: OnChange = ...,
) -> Callable[[F], F]: ...


def workflow(
    function: Optional[F] = None,
    *,
    name: Optional[str] = None,
    matching: Matching = Matching.STRICT,
    fingerprint: str = "",
    on_change: OnChange = OnChange.VERIFY,
) -> Any:
    """An `async def` whose first parameter is its Context. `fingerprint` says whether two processes
    have the same code, of all that the workflow calls: e.g. the number of a release. Empty: unknown.
    A run that disagrees with its history is blocked if its code is another one or unknown, and
    fails if it is the same."""

    def decorate(function: F) -> F:
        if not inspect.iscoroutinefunction(function):
            raise UsageError(
                f"workflow '{getattr(function, '__name__', function)}' must be an async def"
            )
        if not inspect.signature(function).parameters:
            raise UsageError(
                f"workflow '{function.__name__}' takes its context first: "
                f"async def {function.__name__}(ctx, …)"
            )
        chosen = function.__name__ if name is None else name
        if not chosen:
            raise UsageError("a workflow needs a name")
        function.__pawl__ = WorkflowDefinition(  # type: ignore[attr-defined]
            chosen, function, matching, fingerprint, on_change, Signature(function, skip=1)
        )
        return function

    return decorate if function is None else decorate(function)


@overload
def activity(function: F) -> F: ...


@overload
def activity(
    *, name: Optional[str] = ..., compensation_retry: Optional[Retry] = ...
) -> Callable[[F], F]: ...


def activity(
    function: Optional[F] = None,
    *,
    name: Optional[str] = None,
    compensation_retry: Optional[Retry] = None,
) -> Any:
    """A function, async or not, for ctx.schedule() and ctx.compensate(); also a method, which an
    engine gets by way of an object: activities=[shop.charge]. `compensation_retry`: when it runs as
    a compensation; by default ten attempts."""

    def decorate(function: F) -> F:
        if not callable(function):
            raise UsageError(f"{function!r} cannot be called")
        chosen = _own_name(function) if name is None else name
        if not chosen:
            raise UsageError("an activity needs a name")
        check_retry(compensation_retry, f"activity '{chosen}': compensation")
        is_method = _is_method(function)
        known = ActivityDefinition(
            chosen, function, compensation_retry, Signature(function, skip=int(is_method)), is_method
        )
        try:
            function.__pawl__ = known  # type: ignore[attr-defined]
        except AttributeError:  # E.g. of a method of an object: nothing can be set there.
            held: Any = functools.partial(function)
            held.__pawl__ = known
            return held  # type: ignore[no-any-return]
        return function

    return decorate if function is None else decorate(function)


def _own_name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _is_method(function: Any) -> bool:
    """In the body of its class, where there is no object yet."""
    if not inspect.isfunction(function):
        return False
    around = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), "")
    return bool(around) and not around.endswith("<locals>") and first in ("self", "cls")


def definition_of(
    function: Any,
) -> Optional[Union[WorkflowDefinition, ActivityDefinition]]:
    known = getattr(function, "__pawl__", None)
    if isinstance(known, ActivityDefinition) and isinstance(function, MethodType):
        signature = known.signature if known.is_method else Signature(function, skip=0)
        return replace(known, function=function, signature=signature, is_method=False)
    return known


def signature_of(function: Any) -> Optional[Signature]:
    known = definition_of(function)
    return None if known is None else known.signature


def name_of(function: Union[str, Callable[..., Any]], call: str) -> str:
    if isinstance(function, str):
        return function
    known = definition_of(function)
    if known is None:
        raise UsageError(
            f"{call}: {getattr(function, '__name__', function)!r} is neither a name nor decorated "
            "with @pawl.workflow or @pawl.activity"
        )
    return known.name
