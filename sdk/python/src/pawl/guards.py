"""Guards: what is not the same in every execution is refused while workflow code runs.

Clock, random numbers, files, sockets, processes, threads and asyncio are wrapped once. A wrapper
looks whether this thread is executing workflow code; for everybody else it calls the original.

Not caught: a function that was taken out of its module before (`from time import time`), but for the
modules of workflows, where such names are replaced; random.Random() without a seed and
random.SystemRandom; the order of sets of texts; environment variables; and what C code does by itself.
Calls by logging, warnings and the import system are let through.
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
from typing import Any, Callable, Dict, Optional

from ._run import current
from .errors import NonDeterministicCall

_NOW = "use ctx.now()"
_TIME = "use ctx.time()"
_RANDOM = "use ctx.random() or ctx.randint()"
_ACTIVITY = "do it in an activity: await ctx.run(…)"
_SEVERAL = "use ctx.join(), ctx.all() or ctx.any()"

_TABLE: Dict[Any, Dict[str, str]] = {
    time: {
        "time": _TIME, "time_ns": _TIME, "monotonic": _TIME, "monotonic_ns": _TIME,
        "perf_counter": _TIME, "perf_counter_ns": _TIME, "sleep": "use await ctx.sleep(…)",
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
        "fork": _ACTIVITY, "open": _ACTIVITY,
    },
    builtins: {"open": _ACTIVITY},
    io: {"open": _ACTIVITY},
    pathlib.Path: {"open": _ACTIVITY},
    socket.socket: {"__init__": _ACTIVITY},
    subprocess.Popen: {"__init__": _ACTIVITY},
    threading.Thread: {"start": _SEVERAL},
    asyncio: {
        "sleep": "use await ctx.sleep(…)", "create_task": _SEVERAL, "ensure_future": _SEVERAL,
        "gather": _SEVERAL, "wait": _SEVERAL, "wait_for": "use ctx.with_timeout()",
        "get_event_loop": _SEVERAL, "get_running_loop": _SEVERAL, "new_event_loop": _SEVERAL,
        "run": _ACTIVITY, "to_thread": _ACTIVITY,
    },
}

# Classes in C, whose attributes cannot be set.
_TYPES: Dict[type, Dict[str, str]] = {
    datetime.datetime: {"now": _NOW, "utcnow": _NOW},
    datetime.date: {"today": _NOW},  # datetime has it from here.
}

# They read the clock for reasons of their own.
_TRUSTED = ("logging", "warnings", "importlib", "traceback", "linecache", "tokenize")

_wrappers: Dict[Any, Callable[..., Any]] = {}  # By the original.
_is_installed = False


def _is_trusted(module: Optional[str]) -> bool:
    return module is not None and module.split(".")[0].lstrip("_") in _TRUSTED


def _refuse(name: str, advice: str) -> None:
    if not _is_trusted(sys._getframe(2).f_globals.get("__name__")):
        raise NonDeterministicCall(
            f"{name} in workflow code: another execution would get another answer; {advice}"
        )


def _guarded(original: Callable[..., Any], name: str, advice: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(original):  # And so is what stands for it.

        @functools.wraps(original)
        async def guard_coroutine(*args: Any, **kwargs: Any) -> Any:
            if current.run is not None:
                _refuse(name, advice)
            return await original(*args, **kwargs)

        return guard_coroutine

    @functools.wraps(original)
    def guard(*args: Any, **kwargs: Any) -> Any:
        if current.run is not None:
            _refuse(name, advice)
        return original(*args, **kwargs)

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
        for name, advice in names.items():
            original = getattr(owner, name, None)
            if original is None:
                continue
            if original not in _wrappers:
                _wrappers[original] = _guarded(original, _title(owner, name), advice)
            setattr(owner, name, _wrappers[original])
    for kind, names in _TYPES.items():
        for name, advice in names.items():
            _guard_type(kind, name, advice)


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
    names = getattr(function, "__globals__", {})
    for name, value in list(names.items()):
        try:
            wrapper = _wrappers.get(value)
        except TypeError:  # Not hashable.
            continue
        if wrapper is not None:
            names[name] = wrapper
