"""For tests: an engine on virtual time, and the replayer."""
from __future__ import annotations

import datetime
from ctypes import byref, c_int64
from typing import Any, Callable, Dict, Iterable, List, Mapping, Union

from ._library import fail, short
from ._worker import Worker
from .call import Call
from .engine import Engine
from .errors import UsageError
from .options import Duration, to_ms
from .replayer import Replay, Replayer

__all__ = ["Environment", "Replay", "Replayer"]


class Environment(Engine):
    """An engine with all its calls, on a store of its own. Time passes only while somebody waits
    for a result or advances it, and then at once: sleeps cost nothing. With `replay_every_turn`
    every run is thrown out of memory after each turn and comes back by replay: that finds code
    which is not deterministic, whose run fails."""

    # No other code has worked on these runs: what disagrees with their history is not deterministic.
    _fingerprint = b"test"

    def __init__(
        self,
        *,
        workflows: Iterable[Callable[..., Any]] = (),
        activities: Iterable[Callable[..., Any]] = (),
        queues: Union[Iterable[str], Mapping[str, int]] = ("default",),
        replay_every_turn: bool = False,
    ) -> None:
        self.troubles: List[str] = []  # What no call could report.
        self._fakes: Dict[str, Callable[..., Any]] = {}
        super().__init__(
            "", workflows=workflows, activities=activities, queues=queues,
            on_trouble=self.troubles.append,
        )
        self._options["is_test"] = 1
        self._options["replay_every_turn"] = int(replay_every_turn)

    def fake(self, name: str, function: Callable[..., Any]) -> "Environment":
        """Calls `function` instead of the operation of this name, with its arguments, or instead of
        the activity, which must be one of this environment's."""
        if not callable(function):
            raise UsageError(f"fake: {function!r} cannot be called")
        self._fakes[name] = function
        return self

    def _prepare(self, worker: Worker) -> None:
        worker.fakes = self._fakes

    def now(self) -> datetime.datetime:
        if self._worker is None:
            raise UsageError("now: the environment is not open; use `with` or `async with`")
        now = c_int64()
        status = short.test_now(self._worker.handle, byref(now))
        if status:
            fail(status, "now")
        epoch = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
        return epoch + datetime.timedelta(milliseconds=now.value)

    def advance(self, duration: Duration) -> Call[None]:
        """Lets time pass."""
        milliseconds = to_ms(duration, "advance")
        return self._call(
            "advance",
            lambda *_: None,
            lambda handle, tag: short.test_advance(handle, milliseconds, tag, None),
        )
