"""Guards: what is not the same in every execution is refused while workflow code runs.

Clock, random numbers, files, sockets, processes, threads and asyncio are wrapped once. A wrapper
looks whether this thread is executing workflow code; for everybody else it calls the original.

Not caught: a function that was taken out of its module before (`from time import time`), but for the
modules of workflows, where such names are replaced; random.Random() without a seed and
random.SystemRandom; the order of sets of texts; environment variables; and what C code does by itself.
Calls by logging, warnings, the import system, debuggers and finalizers are let through.
"""
from __future__ import annotations

import asyncio
import builtins
import ctypes
import datetime
import functools
import gc
import inspect
import io
import os
import pathlib
import random
import secrets
import socket
import subprocess
import sys
import threading
import time
import uuid
from types import FrameType
from typing import Any, Callable, Dict, Optional, Set

from ._run import current
from .errors import NonDeterministicCall

_NOW = "use ctx.now()"
_TIME = "use ctx.time()"
_RANDOM = "use ctx.random() or ctx.randint()"
_ACTIVITY = "do it in an activity: await ctx.run(…)"
_SEVERAL = "use ctx.join(), ctx.all() or ctx.any()"
_SIGNAL = "use ctx.signal() or ctx.promise(), or what ctx.join() returns"
_LOCK = "code between two awaits is not interrupted; use ctx.join() for what is concurrent"

_TABLE: Dict[Any, Dict[str, str]] = {
    time: {
        "time": _TIME, "time_ns": _TIME, "monotonic": _TIME, "monotonic_ns": _TIME,
        "perf_counter": _TIME, "perf_counter_ns": _TIME, "sleep": "use await ctx.sleep(…)",
        "process_time": _TIME, "process_time_ns": _TIME, "thread_time": _TIME,
        "thread_time_ns": _TIME, "clock_gettime": _TIME, "clock_gettime_ns": _TIME,
        "localtime": _NOW, "gmtime": _NOW, "ctime": _NOW, "asctime": _NOW, "strftime": _NOW,
    },
    random: {
        name: _RANDOM
        for name in (
            "random", "uniform", "triangular", "randint", "choice", "randrange", "sample",
            "shuffle", "choices", "normalvariate", "lognormvariate", "expovariate",
            "vonmisesvariate", "gammavariate", "gauss", "betavariate", "paretovariate",
            "weibullvariate", "getrandbits", "randbytes", "binomialvariate",
        )
    },
    secrets: {
        name: _ACTIVITY
        for name in (
            "choice", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe",
        )
    },
    uuid: {"uuid1": "use ctx.uuid()", "uuid4": "use ctx.uuid()"},
    os: {
        "urandom": _RANDOM, "getrandom": _RANDOM, "system": _ACTIVITY, "popen": _ACTIVITY,
        "fork": _ACTIVITY,
        **{
            name: _ACTIVITY
            for name in (
                "open", "listdir", "scandir", "stat", "lstat", "access", "mkdir", "rmdir", "remove",
                "unlink", "rename", "replace", "link", "symlink", "readlink", "chmod", "chown",
                "utime", "truncate", "statvfs",
            )
        },
    },
    builtins: {"open": _ACTIVITY},
    io: {"open": _ACTIVITY},
    pathlib.Path: {"open": _ACTIVITY},
    socket.socket: {"__init__": _ACTIVITY},
    socket: {
        name: _ACTIVITY
        for name in (
            "getaddrinfo", "getnameinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr",
            "gethostname",
        )
    },
    subprocess.Popen: {"__init__": _ACTIVITY},
    threading.Thread: {"start": _SEVERAL},
    asyncio: {
        "sleep": "use await ctx.sleep(…)", "create_task": _SEVERAL, "ensure_future": _SEVERAL,
        "gather": _SEVERAL, "wait": _SEVERAL, "wait_for": "use ctx.with_timeout()",
        "get_event_loop": _SEVERAL, "get_running_loop": _SEVERAL, "new_event_loop": _SEVERAL,
        "run": _ACTIVITY, "to_thread": _ACTIVITY, "as_completed": _SEVERAL,
        "shield": "use ctx.shielded()", "timeout": "use ctx.with_timeout()",
        "timeout_at": "use ctx.with_timeout()",
    },
    asyncio.Event: {"__init__": _SIGNAL, "wait": _SIGNAL},
    asyncio.Condition: {"__init__": _SIGNAL, "wait": _SIGNAL},
    asyncio.Queue: {"__init__": _SIGNAL, "get": _SIGNAL, "put": _SIGNAL, "join": _SIGNAL},
    asyncio.Lock: {"__init__": _LOCK, "acquire": _LOCK},
    asyncio.Semaphore: {"__init__": _LOCK, "acquire": _LOCK},
}
if sys.version_info >= (3, 11):
    _TABLE[asyncio.TaskGroup] = {"__init__": _SEVERAL, "create_task": _SEVERAL}

# Only if somebody else has imported them.
_LATE = {"sqlite3": {"connect": _ACTIVITY}, "sqlite3.dbapi2": {"connect": _ACTIVITY}}

# Without this argument they ask the clock.
_GIVEN_TIME = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}

# Says which arguments a function of the system knows: what stands for one knows the same.
_OS_SETS = ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")

# Classes in C, whose attributes cannot be set.
_TYPES: Dict[type, Dict[str, str]] = {
    datetime.datetime: {"now": _NOW, "utcnow": _NOW},
    datetime.date: {"today": _NOW},  # datetime has it from here.
}

# They, and what they call, ask for reasons of their own. What a module does while it is imported is
# not the workflow's; neither is a finalizer, which runs wherever the collector happens to.
_TRUSTED = (
    "logging", "warnings", "importlib", "frozen_importlib", "traceback", "linecache", "tokenize",
    "weakref", "pdb", "bdb",
)

_wrappers: Dict[Any, Callable[..., Any]] = {}  # By the original.
_is_installed = False


def _is_trusted(module: Optional[str]) -> bool:
    return module is not None and module.split(".")[0].lstrip("_") in _TRUSTED


def _refuse(name: str, advice: str) -> None:
    frame: Optional[FrameType] = sys._getframe(2)
    by = own = frame.f_globals.get("__name__") if frame else ""
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module == "pawl._run":
            break
        if _is_trusted(module) or frame.f_code.co_name == "__del__":
            return
        if not module.startswith("pawl."):
            own = module  # In the end: the workflow's.
        frame = frame.f_back
    where = "in workflow code"
    if by != own:
        where = f"by {by}, {where}"
        if advice != _ACTIVITY:
            advice = f"call {by} in an activity: await ctx.run(…); in code of your own {advice}"
    raise NonDeterministicCall(
        f"{name} {where}: another execution would get another answer; {advice}"
    )


def _stands_for(original: Callable[..., Any]) -> Callable[[Any], Any]:
    """Gives a wrapper what is known about the original: its hints too, or none. Those of its own
    would be looked up where the original's are."""

    def dress(guard: Any) -> Any:
        functools.update_wrapper(guard, original)
        guard.__annotations__ = dict(getattr(original, "__annotations__", {}))
        return guard

    return dress


def _guarded(original: Callable[..., Any], name: str, advice: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(original):  # And so is what stands for it.

        @_stands_for(original)
        async def guard_coroutine(*args: Any, **kwargs: Any) -> Any:
            if current.run is not None:
                _refuse(name, advice)
            return await original(*args, **kwargs)

        return guard_coroutine

    @_stands_for(original)
    def guard(*args: Any, **kwargs: Any) -> Any:
        if current.run is not None:
            _refuse(name, advice)
        return original(*args, **kwargs)

    return guard


def _guarded_clock(
    original: Callable[..., Any], name: str, advice: str, position: int
) -> Callable[..., Any]:
    @_stands_for(original)
    def guard(*args: Any) -> Any:
        if current.run is not None and (len(args) <= position or args[position] is None):
            _refuse(name, advice)
        return original(*args)

    return guard


def _title(owner: Any, name: str) -> str:
    if isinstance(owner, type):
        own = f"{owner.__module__}.{owner.__qualname__}"
        return f"{own}()" if name == "__init__" else f"{own}.{name}()"
    return f"{name}()" if owner is builtins else f"{owner.__name__}.{name}()"


def install() -> None:
    """Once; later calls do nothing."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    for owner, names in _TABLE.items():
        _guard_names(owner, names)
    for kind, names in _TYPES.items():
        for name, advice in names.items():
            _guard_type(kind, name, advice)


def _guard_names(owner: Any, names: Dict[str, str]) -> None:
    for name, advice in names.items():
        original = getattr(owner, name, None)
        if original is None or original in _wrappers.values():
            continue
        if original not in _wrappers:
            title = _title(owner, name)
            if owner is time and name in _GIVEN_TIME:
                wrapper = _guarded_clock(original, title, advice, _GIVEN_TIME[name])
            else:
                wrapper = _guarded(original, title, advice)
            if inspect.ismodule(owner):  # Is pickled by its name.
                wrapper.__module__ = owner.__name__
            _wrappers[original] = wrapper
        setattr(owner, name, _wrappers[original])
        if owner is os:
            for each in _OS_SETS:
                known: Set[Any] = getattr(os, each, set())
                if original in known:
                    known.add(_wrappers[original])


def _guard_type(kind: type, name: str, advice: str) -> None:
    """By the dictionary behind a class in C, which setattr() refuses to change."""
    if sys.implementation.name != "cpython":
        return
    members = gc.get_referents(kind.__dict__)[0]
    if not isinstance(members, dict) or name not in members:
        return
    title = _title(kind, name)
    bind = members[name].__get__

    def guard(cls: type, *args: Any, **kwargs: Any) -> Any:
        if current.run is not None:
            _refuse(title, advice)
        return bind(None, cls)(*args, **kwargs)

    guard.__name__ = name
    guard.__doc__ = getattr(kind, name).__doc__
    members[name] = classmethod(guard)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def guard_module(function: Callable[..., Any]) -> None:
    """Replaces what the module of a workflow has taken out of others: `from time import time`."""
    for module, late in _LATE.items():
        if module in sys.modules:
            _guard_names(sys.modules[module], late)
    names = getattr(function, "__globals__", {})
    for name, value in list(names.items()):
        try:
            wrapper = _wrappers.get(value)
        except TypeError:  # Not hashable.
            continue
        if wrapper is not None:
            names[name] = wrapper
