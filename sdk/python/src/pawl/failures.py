"""Failures as they are recorded: {"type": …, "message": …, "details": …}, or just a text."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, NamedTuple, Optional

from .attempt import ActivityError
from .errors import Failure
from .payload import encode, text_of


class Recorded(NamedTuple):
    type: str
    message: str
    details: Any


def read_failure(payload: bytes) -> Recorded:
    if not payload:
        return Recorded("", "", None)
    try:
        value = json.loads(payload)
    except ValueError:
        return Recorded("", payload.decode("utf-8", "replace"), None)
    if isinstance(value, str):
        return Recorded("", value, None)
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return Recorded(str(value.get("type", "")), value["message"], value.get("details"))
    return Recorded("", json.dumps(value, ensure_ascii=False, separators=(",", ":")), None)


def describe_failure(error: BaseException) -> Recorded:
    """What is recorded of an exception. Never raises."""
    try:
        return _describe(error)
    except Exception:  # E.g. a class that has not called its base's __init__.
        return Recorded(type(error).__name__, text_of(error), None)


_PLACES_MAX = 3
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def place_of(filename: str, line: int) -> str:
    """ "shop/order.py:17": the last two parts of the path, since the rest belongs to one machine."""
    return f"{'/'.join(filename.replace(chr(92), '/').split('/')[-2:])}:{line}"


def _places(error: BaseException) -> Optional[Dict[str, Any]]:
    """Where it was raised, the innermost place first. Of code of the user's, if any took part."""
    own, others = [], []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{place_of(code.co_filename, trace.tb_lineno)} {code.co_name}"
        if "-packages" in code.co_filename or code.co_filename.startswith((_LIBRARY, "<frozen")):
            others.append(place)
        elif not code.co_filename.startswith(_OWN):
            own.append(place)
        trace = trace.tb_next
    places = own if own else others
    return {"at": places[: -_PLACES_MAX - 1 : -1]} if places else None


def _describe(error: BaseException) -> Recorded:
    if isinstance(error, ActivityError):
        return Recorded(text_of(error.type), text_of(error.message), error.details)
    if isinstance(error, Failure):  # It failed elsewhere: that is what people want to know.
        return Recorded(
            text_of(error.type or type(error).__name__), text_of(error.message), error.details
        )
    return Recorded(type(error).__name__, text_of(error), _places(error))


def encode_failure(error: BaseException) -> bytes:
    told = describe_failure(error)
    fields = {"type": told.type, "message": told.message}
    if told.details is not None:
        fields["details"] = told.details
    try:
        return encode(fields, "details")
    except Exception:
        return encode({"type": clean(told.type), "message": clean(told.message)}, "failure")


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
