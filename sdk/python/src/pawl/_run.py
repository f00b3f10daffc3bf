"""Run: the code of one run on one context of the ABI.

The code is a coroutine, and one more for each arm of a join that is under way. They are driven by
send(): each runs until it waits for something that is not there. Nothing else schedules them, so
that their order depends on the history only.
"""
from __future__ import annotations

import struct
import threading
from collections import deque
from ctypes import (
    byref,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    create_string_buffer,
    sizeof,
    string_at,
)
from typing import Any, Callable, Coroutine, NoReturn, Optional

from . import _abi as abi
from ._library import copied, fail, short
from .errors import Cancelled, DeterminismViolation, UsageError
from .failures import clean, encode_failure, read_failure
from .payload import Signature, encode, text_of


class _Current(threading.local):
    run: Optional["Run"] = None


# The run whose code is being executed on this thread.
current = _Current()


class Recurred(BaseException):
    """Leaves the code of a run that goes on as another one."""


class Dropped(GeneratorExit):
    """Leaves the code of a run that is removed from memory: for handlers the same as what close()
    of its coroutine throws."""


class Scratch:
    """Structs for calls, made once. For one thread at a time."""

    def __init__(self) -> None:
        self.command = abi.pawl_command(size=sizeof(abi.pawl_command))
        self.command_ref = byref(self.command)
        # Parts of the command; asking for them makes objects.
        self.name = self.command.name
        self.source = self.command.source
        self.payload = self.command.payload
        self.opened = abi.pawl_opened()
        self.opened_ref = byref(self.opened)
        self.opened_view = memoryview(self.opened).cast("B")
        self.one_future = (c_uint32 * 1)()
        self.begun = abi.pawl_await_state()
        self.begun_ref = byref(self.begun)
        self.begun_view = memoryview(self.begun).cast("B")
        self.outcome = abi.pawl_outcome()
        self.outcome_ref = byref(self.outcome)
        self.outcome_view = memoryview(self.outcome).cast("B")
        self.delivery = abi.pawl_delivery()
        self.delivery_ref = byref(self.delivery)
        self.delivery_view = memoryview(self.delivery).cast("B")
        self.text = abi.pawl_bytes()


_unpack_opened = struct.Struct(abi.pawl_opened_format).unpack_from
_unpack_await = struct.Struct(abi.pawl_await_state_format).unpack_from
_unpack_awaits = struct.Struct(abi.pawl_await_state_format).iter_unpack
_unpack_outcome = struct.Struct(abi.pawl_outcome_format).unpack_from
_unpack_delivery = struct.Struct(abi.pawl_delivery_format).unpack_from
_unpack_violation = struct.Struct(abi.pawl_violation_format).unpack_from
_unpack_position = struct.Struct(abi.pawl_loop_position_format).unpack_from

_VIOLATION_FIELDS = [field[0] for field in abi.pawl_violation._fields_][2:]

_context_open = short.context_open
_begin_await = short.context_begin_await
_give_up_await = short.context_give_up_await
_outcome = short.context_outcome
_next_delivery = short.context_next_delivery


class Join:
    """Counts the arms of a join; the last one has whoever waits go on."""

    __slots__ = ("running", "waiting")

    def __init__(self, running: int) -> None:
        self.running = running
        self.waiting: Optional[Fiber] = None

    def __await__(self):  # type: ignore[no-untyped-def]
        if self.running:
            yield self


class Fiber:
    """A coroutine that is driven on its own: the workflow function, or an arm of a join."""

    __slots__ = ("code", "join", "value", "error")

    def __init__(self, code: Coroutine[Any, Any, Any], join: Optional[Join]) -> None:
        self.code = code
        self.join = join
        self.value: Any = None
        self.error: Optional[BaseException] = None


class Run:
    __slots__ = (
        "handle", "scratch", "clock", "host", "info", "jobs", "trouble", "next_input", "root",
        "has_ended", "signature", "_blocked", "_ready", "_fibers",
    )

    def __init__(
        self, handle: int, host: Any, scratch: Scratch, info: Any,
        signature: Optional[Signature] = None,
    ) -> None:
        self.handle = handle
        self.host = host  # Executes operations.
        self.scratch = scratch
        self.info = info
        self.signature = signature  # Of the workflow, if that is known.
        self.clock: Optional[Callable[[], None]] = None  # Before what may append entries.
        self.jobs: dict[int, Any] = {}  # Operations that are executed, by future.
        self.trouble: Optional[BaseException] = None  # Why no call works any more.
        self.next_input: Optional[bytes] = None
        self.has_ended = False
        self.root: Optional[Fiber] = None
        self._blocked: dict[int, Fiber] = {}
        self._ready: deque[Fiber] = deque()
        self._fibers: set[Fiber] = set()

    # --- Driving ---

    def start(self, code: Coroutine[Any, Any, Any]) -> None:
        self.root = self.add_fiber(code, None)
        self.go(self.root)
        self._go_ready()

    def add_fiber(self, code: Coroutine[Any, Any, Any], join: Optional[Join]) -> Fiber:
        fiber = Fiber(code, join)
        self._fibers.add(fiber)
        return fiber

    def go(self, fiber: Fiber, argument: Any = None) -> None:
        """Runs it until it waits or ends. `argument` is what it gets for what it waited for."""
        if self.trouble is not None:
            return
        resume: Callable[[Any], Any] = fiber.code.send
        while True:
            try:
                waits_for = resume(argument)
            except StopIteration as stop:
                fiber.value = stop.value
                self._end(fiber)
                return
            except BaseException as error:
                fiber.error = error
                self._end(fiber)
                return
            if type(waits_for) is int:
                self._blocked[waits_for] = fiber
                return
            if type(waits_for) is Join:
                waits_for.waiting = fiber
                return
            resume = fiber.code.throw
            argument = UsageError(
                "only what is durable can be awaited in a workflow: futures of its context, "
                "ctx.all, ctx.any, ctx.branch, ctx.join, ctx.loop, and coroutines of these; "
                "anything else belongs into an activity: await ctx.run(…)"
            )

    def _end(self, fiber: Fiber) -> None:
        self._fibers.discard(fiber)
        join = fiber.join
        if join is None:
            self.has_ended = True
            return
        join.running -= 1
        if join.running == 0 and join.waiting is not None:
            self._ready.append(join.waiting)

    def _go_ready(self) -> None:
        while self._ready:
            self.go(self._ready.popleft())

    def deliver_all(self) -> None:
        """Hands out what has arrived, one by one, until nothing is left or the code has ended."""
        scratch = self.scratch
        blocked = self._blocked
        while not self.has_ended and self.trouble is None:
            status = _next_delivery(self.handle, scratch.delivery_ref)
            if status:
                self.refused(status)
            is_there, future, woken, count = _unpack_delivery(scratch.delivery_view)
            if not is_there:
                return
            if future:
                self.jobs.pop(future, None)
            if not count:
                continue
            for await_id, state, decided_by in _unpack_awaits(
                string_at(woken, count * sizeof(abi.pawl_await_state))
            ):
                fiber = blocked.pop(await_id, None)
                if fiber is not None:
                    self.go(fiber, (state, decided_by))
                    if self._ready:
                        self._go_ready()

    def finish(self) -> None:
        """Tells how the code has ended, if it has."""
        root = self.root
        if root is None or not self.has_ended or self.trouble is not None:
            return
        error = root.error
        if self.next_input is not None:
            end, payload = abi.PAWL_END_RECURRED, self.next_input
        elif error is None:
            try:
                end, payload = abi.PAWL_END_COMPLETED, encode(root.value, self._result_text())
            except Exception as problem:
                error = problem
        if error is not None and self.next_input is None:
            end, payload = self._failed_end(error)
        if self.clock is not None:
            self.clock()
        status = short.context_finish(self.handle, end, self.argument(payload))
        if status == abi.PAWL_LIMIT_EXCEEDED:
            try:
                fail(status, self._result_text())
            except Exception as problem:
                end, payload = self._failed_end(problem)
            status = short.context_finish(self.handle, end, self.argument(payload))
        if status:
            try:
                self.refused(status)
            except DeterminismViolation:
                pass

    def _result_text(self) -> str:
        return f"result of workflow '{self.info.kind}'"

    def _failed_end(self, error: BaseException) -> tuple[int, bytes]:
        if isinstance(error, Cancelled):
            is_requested, reason = self.cancel_request()
            if not is_requested:
                reason = encode(clean(text_of(error.reason)), "reason")
            return abi.PAWL_END_CANCELLED, reason
        return abi.PAWL_END_FAILED, encode_failure(error)

    def close(self) -> None:
        """Drops the code: it is not executed any further."""
        if self.trouble is None:
            self.trouble = Dropped("the workflow is being removed from memory")
        for fiber in list(self._fibers):
            try:
                fiber.code.close()
            except BaseException:
                pass  # Of handlers that wanted to go on.
        self._fibers.clear()
        self._blocked.clear()
        self._ready.clear()
        self.jobs.clear()
        self.root = None

    # --- Calls, for the context ---

    def refuse(self, call: str) -> NoReturn:
        """The run is not `current`, or nothing works any more."""
        if isinstance(self.trouble, Dropped):
            if current.run is self:
                raise Dropped(*self.trouble.args)
            raise UsageError(
                f"{call}: the context or future was used after its run had ended or left memory"
            )
        if self.trouble is not None:
            raise self.trouble
        if self.next_input is not None and current.run is self:
            raise Recurred()
        raise UsageError(
            f"{call}: the context or future "
            + (
                "was used outside of its workflow, e.g. in an activity, on another thread or after "
                "the end"
                if current.run is None
                else "belongs to another run"
            )
        )

    def refused(self, status: int) -> NoReturn:
        if status == abi.PAWL_DETERMINISM_VIOLATION:
            self.trouble = self.violation()
            raise self.trouble
        fail(status)

    def violation(self) -> DeterminismViolation:
        filled = abi.pawl_violation(size=sizeof(abi.pawl_violation))
        fields: dict[str, str] = {}
        if short.context_violation(self.handle, byref(filled)) == 0:
            values = _unpack_violation(memoryview(filled).cast("B"))[2:]
            for i, name in enumerate(_VIOLATION_FIELDS):
                address, size = values[2 * i : 2 * i + 2]
                fields[name] = string_at(address, size).decode("utf-8", "replace") if size else ""
        return DeterminismViolation(fields)

    def argument(self, data: bytes) -> abi.pawl_bytes:
        """For one argument of the next call."""
        argument = self.scratch.text
        argument.data = data
        argument.size = len(data)
        return argument

    def open(
        self,
        call: str,
        kind: int,
        branch: int,
        version: int,
        name: bytes,
        source: bytes,
        payload: Optional[bytes],
        options: Optional[dict[str, Any]] = None,
    ) -> tuple[int, int, int]:
        """Future, branch, and whether it must be executed."""
        if current.run is not self or self.trouble is not None or self.next_input is not None:
            self.refuse(call)
        if self.clock is not None:
            self.clock()
        scratch = self.scratch
        self.fill(kind, branch, version, name, source, payload)
        if options is None:
            status = _context_open(self.handle, scratch.command_ref, scratch.opened_ref)
        else:
            with_options(scratch.command, options)
            status = _context_open(self.handle, scratch.command_ref, scratch.opened_ref)
            without_options(scratch.command, options)
        if status:
            self.refused(status)
        return _unpack_opened(scratch.opened_view)  # type: ignore[return-value]

    def fill(
        self,
        kind: int,
        branch: int,
        version: int,
        name: bytes,
        source: bytes,
        payload: Optional[bytes],
    ) -> None:
        scratch = self.scratch
        command = scratch.command
        command.kind = kind
        command.branch = branch
        command.version = version
        part = scratch.name
        part.data = name
        part.size = len(name)
        part = scratch.source
        part.data = source
        part.size = len(source)
        part = scratch.payload
        if payload is None:
            command.has_payload = 0
            part.data = None
            part.size = 0
        else:
            command.has_payload = 1
            part.data = payload
            part.size = len(payload)

    def removed(self, kind: int, branch: int, version: int, name: bytes, source: bytes,
                step_key: bytes) -> None:
        self.check("removed")
        options = {"step_key": step_key} if step_key else {}
        self.fill(kind, branch, version, name, source, None)
        with_options(self.scratch.command, options)
        status = short.context_removed(self.handle, self.scratch.command_ref)
        without_options(self.scratch.command, options)
        if status:
            self.refused(status)

    def check(self, call: str) -> None:
        if current.run is not self or self.trouble is not None or self.next_input is not None:
            self.refuse(call)
        if self.clock is not None:
            self.clock()

    # --- Awaits ---

    def begin_one(self, future: int, is_shielded: bool) -> int:
        """The await to be blocked on; 0: it is there already."""
        if current.run is not self or self.trouble is not None or self.next_input is not None:
            self.refuse("await")
        scratch = self.scratch
        scratch.one_future[0] = future
        status = _begin_await(
            self.handle, 0, scratch.one_future, 1, is_shielded, scratch.begun_ref
        )
        if status:
            self.refused(status)
        await_id: int = scratch.begun.id
        return await_id

    def begin_some(self, mode: int, futures: list[int], is_shielded: bool) -> tuple[int, int]:
        """The await to be blocked on, or 0 and the future that decided."""
        self.check("await")
        scratch = self.scratch
        array = (c_uint32 * len(futures))(*futures)
        status = _begin_await(
            self.handle, mode, array, len(futures), is_shielded, scratch.begun_ref
        )
        if status:
            self.refused(status)
        await_id, _, decided_by = _unpack_await(scratch.begun_view)
        return await_id, decided_by

    def resumed(self, over: tuple[int, int]) -> int:
        """After being blocked: the future that decided. Raises Cancelled."""
        state, decided_by = over
        if state == abi.PAWL_AWAIT_CANCELLED:
            raise Cancelled(read_failure(self.cancel_request()[1]).message)
        return decided_by

    def give_up(self, await_id: int) -> None:
        """The code that waits is dropped. The context may be gone already."""
        self._blocked.pop(await_id, None)
        _give_up_await(self.handle, await_id)

    def outcome(self, future: int) -> tuple[int, bytes, bytes]:
        """What became of it, the payload, and a signal's attributes."""
        scratch = self.scratch
        status = _outcome(self.handle, future, scratch.outcome_ref)
        if status:
            self.refused(status)
        kind, _, payload, size, extra, extra_size = _unpack_outcome(scratch.outcome_view)
        return (
            kind,
            string_at(payload, size) if size else b"",
            string_at(extra, extra_size) if extra_size else b"",
        )

    # --- Structure ---

    def close_branch(self, branch: int) -> None:
        if self.trouble is not None:
            return
        if self.clock is not None:
            self.clock()
        status = short.context_close_branch(self.handle, branch)
        if status:
            self.refused(status)

    def loop_position(self, loop: int) -> tuple[int, bytes, bool, bytes]:
        """Finished iterations, state, whether it has ended, and with what."""
        self.check("loop")
        filled = abi.pawl_loop_position()
        status = short.context_loop_position(self.handle, loop, byref(filled))
        if status:
            self.refused(status)
        finished, state, state_size, is_done, result, size = _unpack_position(
            memoryview(filled).cast("B")
        )
        return (
            finished,
            string_at(state, state_size) if state_size else b"",
            bool(is_done),
            string_at(result, size) if size else b"",
        )

    def enter_iteration(self, loop: int) -> int:
        self.check("loop")
        iteration = c_uint32()
        status = short.context_enter_iteration(self.handle, loop, byref(iteration))
        if status:
            self.refused(status)
        return iteration.value

    def continue_loop(self, loop: int, state: bytes) -> int:
        self.check("loop")
        checkpoint = c_uint32()
        status = short.context_continue_loop(
            self.handle, loop, self.argument(state), byref(checkpoint)
        )
        if status:
            self.refused(status)
        return checkpoint.value

    def end_loop(self, loop: int, state: bytes, result: bytes) -> int:
        self.check("loop")
        checkpoint = c_uint32()
        status = short.context_end_loop(
            self.handle, loop, self.argument(state), abi.pawl_bytes(result, len(result)),
            byref(checkpoint),
        )
        if status:
            self.refused(status)
        return checkpoint.value

    def abandon_loop(self, loop: int) -> None:
        if self.trouble is not None:
            return
        if self.clock is not None:
            self.clock()
        status = short.context_abandon_loop(self.handle, loop)
        if status:
            self.refused(status)

    # --- Reads ---

    def now_ms(self) -> int:
        self.check("now")
        now = c_int64()
        status = short.context_now(self.handle, byref(now))
        if status:
            self.refused(status)
        return now.value

    def cancel_request(self) -> tuple[bool, bytes]:
        is_requested = c_int32()
        reason = abi.pawl_bytes()
        status = short.context_cancelled(self.handle, byref(is_requested), byref(reason))
        if status:
            self.refused(status)
        return bool(is_requested.value), copied(reason)

    def state(self, key: bytes) -> Optional[bytes]:
        self.check("get")
        is_set = c_int32()
        value = abi.pawl_bytes()
        status = short.context_state(self.handle, self.argument(key), byref(is_set), byref(value))
        if status:
            self.refused(status)
        return copied(value) if is_set.value else None

    def uuid(self, branch: int) -> str:
        self.check("uuid")
        text = create_string_buffer(37)
        status = short.context_uuid(self.handle, branch, text)
        if status:
            self.refused(status)
        return text.value.decode("ascii")

    def random(self, branch: int) -> int:
        self.check("random")
        number = c_uint64()
        status = short.context_random(self.handle, branch, byref(number))
        if status:
            self.refused(status)
        return number.value

    def check_version(self, branch: int, latest: int, source: bytes) -> int:
        self.check("check_version")
        version = c_uint32()
        status = short.context_check_version(
            self.handle, branch, latest, self.argument(source), byref(version)
        )
        if status:
            self.refused(status)
        return version.value

    def signal_count(self, name: bytes) -> int:
        self.check("has_signal")
        count = c_size_t()
        status = short.context_signal_count(self.handle, self.argument(name), byref(count))
        if status:
            self.refused(status)
        return count.value

    def take_signal(self, branch: int, name: bytes) -> Optional[tuple[bytes, bytes]]:
        self.check("try_signal")
        scratch = self.scratch
        status = short.context_take_signal(
            self.handle, branch, self.argument(name), scratch.outcome_ref
        )
        if status:
            self.refused(status)
        kind, _, payload, size, extra, extra_size = _unpack_outcome(scratch.outcome_view)
        if kind == abi.PAWL_PENDING:
            return None
        return (
            string_at(payload, size) if size else b"",
            string_at(extra, extra_size) if extra_size else b"",
        )

    def command_id(self, future: int) -> str:
        text = abi.pawl_bytes()
        status = short.context_command_id(self.handle, future, byref(text))
        if status:
            self.refused(status)
        return copied(text).decode("utf-8", "replace")


_TEXTS = {"step_key", "child_kind", "extra"}


def with_options(command: abi.pawl_command, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name in _TEXTS:
            part = getattr(command, name)
            part.data = value
            part.size = len(value)
        else:
            setattr(command, name, value)


def without_options(command: abi.pawl_command, options: dict[str, Any]) -> None:
    for name in options:
        if name in _TEXTS:
            part = getattr(command, name)
            part.data = None
            part.size = 0
        else:
            setattr(command, name, 0)
