"""Loads libpawl.so: what its calls are, and what their statuses mean.

`short` are calls that keep the interpreter's lock, which is much cheaper; none of them waits for
anything but a mutex that is held shortly by threads which never want that lock. `blocking` are the
same calls without it.
"""
from __future__ import annotations

import ctypes
import os
import struct
import types
from ctypes import byref, c_void_p, string_at
from pathlib import Path
from typing import Any, NoReturn, Optional

from . import _abi as abi
from . import errors


def _find_library() -> str:
    named = os.environ.get("PAWL_LIBRARY")
    if named:
        return named
    packed = Path(__file__).with_name("libpawl.so")
    return str(packed) if packed.exists() else "libpawl.so.1"


def _load(loader: Any, path: str) -> Any:
    try:
        library = loader(path)
    except OSError as error:
        raise ImportError(
            f"pawl: the library cannot be loaded: {error}; PAWL_LIBRARY may name its path"
        ) from None
    functions = types.SimpleNamespace()
    for name, (result, arguments) in abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"pawl: {path} has no {name}: it is older than this package"
            ) from None
        function.restype = result
        function.argtypes = arguments
        setattr(functions, name[len("pawl_"):], function)
    return functions


PATH = _find_library()
short = _load(ctypes.PyDLL, PATH)
blocking = _load(ctypes.CDLL, PATH)
if short.abi_version() != abi.PAWL_ABI_VERSION:
    raise ImportError(
        f"pawl: {PATH} has version {short.abi_version()} of the ABI, "
        f"this package needs {abi.PAWL_ABI_VERSION}"
    )

_EXCEPTIONS = {
    abi.PAWL_LIMIT_EXCEEDED: errors.PayloadTooLarge,
    abi.PAWL_NOT_FOUND: errors.NotFound,
    abi.PAWL_ALREADY_EXISTS: errors.AlreadyExists,
    abi.PAWL_CLOSED: errors.Closed,
    abi.PAWL_TIMED_OUT: errors.TimedOut,
    abi.PAWL_INTERNAL: errors.Error,
    abi.PAWL_STORE_BUSY: errors.StoreError,
    abi.PAWL_STORE_FULL: errors.StoreError,
    abi.PAWL_STORE_IO: errors.StoreError,
    abi.PAWL_STORE_CORRUPT: errors.StoreError,
    abi.PAWL_STORE_UNUSABLE: errors.StoreError,
    abi.PAWL_UNKNOWN_OUTCOME: errors.StoreError,
}


_unpack_bytes = struct.Struct(abi.pawl_bytes_format).unpack_from


def copied(given: abi.pawl_bytes) -> bytes:
    """What the library gave out. By address: a c_char_p would end at a zero."""
    address, size = _unpack_bytes(memoryview(given).cast("B"))
    return string_at(address, size) if size else b""


def last_error() -> str:
    return copied(short.last_error()).decode("utf-8", "replace")


def exception_for(status: int, message: str) -> errors.Error:
    return _EXCEPTIONS.get(status, errors.UsageError)(message)


def fail(status: int, call: str = "") -> NoReturn:
    """Raises what the last call on this thread was refused for."""
    message = last_error()
    if call and not message.startswith(call + ":"):
        message = f"{call}: {message}"
    raise exception_for(status, message)


def to_bytes(data: Optional[bytes]) -> abi.pawl_bytes:
    return abi.pawl_bytes(data, len(data)) if data else abi.pawl_bytes()


def text_bytes(text: Any, what: str) -> bytes:
    if not isinstance(text, str):
        raise errors.UsageError(f"{what} must be a text, not {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise errors.UsageError(f"{what} is no UTF-8") from None


def take_buffer(buffer: c_void_p) -> bytes:
    """The content of a buffer that the library gave out, which is freed."""
    data = abi.pawl_bytes()
    status = short.buffer_data(buffer, byref(data))
    if status:
        fail(status)
    content = copied(data)
    short.buffer_free(buffer)
    return content
