"""Failures as they are recorded: {"type": …, "message": …, "details": …}, or just a text."""
from __future__ import annotations

import json
from typing import Any, NamedTuple

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


def _describe(error: BaseException) -> Recorded:
    if isinstance(error, ActivityError):
        return Recorded(text_of(error.type), text_of(error.message), error.details)
    if isinstance(error, Failure):  # It failed elsewhere: that is what people want to know.
        return Recorded(
            text_of(error.type or type(error).__name__), text_of(error.message), error.details
        )
    return Recorded(type(error).__name__, text_of(error), None)


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
