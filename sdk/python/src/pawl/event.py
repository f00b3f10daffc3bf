"""Event: the attributes of a CloudEvent, for signals that are one."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Dict

from .payload import encode

_NAMES = ("id", "source", "type", "subject", "time", "datacontenttype", "dataschema")
# As they are recorded: `time` of an entry is when the run saw it.
_RECORDED = {name: "eventTime" if name == "time" else name for name in _NAMES}


@dataclass(frozen=True)
class Event:
    id: str = ""  # With the source: a signal is sent once for it.
    source: str = ""
    type: str = ""  # Empty: the signal's name.
    subject: str = ""
    time: str = ""
    datacontenttype: str = ""
    dataschema: str = ""
    extensions: Dict[str, str] = field(default_factory=dict)

    def to_client(self) -> bytes:
        """As clients' calls take it: all attributes side by side."""
        fields = {name: getattr(self, name) for name in _NAMES if getattr(self, name)}
        fields.update(self.extensions)
        return encode(fields, "event") if fields else b""

    def to_extra(self, signal: str) -> bytes:
        """As it is recorded."""
        if self == Event():
            return b""
        fields = {
            recorded: getattr(self, name)
            for name, recorded in _RECORDED.items()
            if getattr(self, name)
        }
        fields.setdefault("type", signal)
        if self.extensions:
            fields["extensions"] = self.extensions  # type: ignore[assignment]
        return encode(fields, "event")

    def dedupe(self) -> str:
        return f"{self.id}\n{self.source}" if self.id and self.source else self.id


def read_event(extra: bytes) -> Event:
    try:
        fields = json.loads(extra) if extra else {}
    except ValueError:
        fields = {}
    if not isinstance(fields, dict):
        fields = {}
    given = {
        name: fields[recorded]
        for name, recorded in _RECORDED.items()
        if isinstance(fields.get(recorded), str)
    }
    extensions = fields.get("extensions")
    if isinstance(extensions, dict):
        given["extensions"] = extensions
    return Event(**given)
