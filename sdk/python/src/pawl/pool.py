"""Pool: threads for functions that may block. Jobs come in batches; one thread works on a batch as
long as it can, and each job that is begun while others wait has another thread look after these. So
quick functions share one thread, and a slow one keeps nobody waiting.

If a thread cannot be started, those that are there do its work. Without any, the pool is stuck: the
jobs wait for the next put(), which tries again."""
from __future__ import annotations

import logging
import threading
from collections import deque
from queue import SimpleQueue
from typing import Any, Callable, Iterable

_log = logging.getLogger("pawl")


class Pool:
    def __init__(
        self,
        execute: Callable[[Any], None],
        threads_max: int,
        tell_trouble: Callable[[str], None],
    ) -> None:
        self._execute = execute
        self._threads_max = threads_max
        self._tell_trouble = tell_trouble
        self._is_told = False  # Since the last thread could be started.
        self._jobs: deque[Any] = deque()
        self._tokens: SimpleQueue[bool] = SimpleQueue()  # One wakes one thread; False ends it.
        self._is_woken = False
        self._idle: set[int] = set()
        self._busy: set[int] = set()
        self._threads: list[threading.Thread] = []

    def put(self, jobs: Iterable[Any]) -> None:
        self._jobs.extend(jobs)
        self._wake()

    def is_stuck(self) -> bool:
        """There are jobs and no threads."""
        return bool(self._jobs) and not self._threads

    def is_idle(self) -> bool:
        return not self._jobs and not self._busy

    def drop(self) -> None:
        """What has not been begun is not executed."""
        self._jobs.clear()

    def stop(self) -> None:
        self._jobs.clear()
        for _ in self._threads:
            self._tokens.put(False)

    def _wake(self) -> None:
        if self._is_woken:
            return
        self._is_woken = True
        if not self._idle and len(self._threads) < self._threads_max:
            self._add_thread()
        if self._threads:
            self._tokens.put(True)
        else:
            self._is_woken = False

    def _add_thread(self) -> None:
        thread = threading.Thread(
            target=self._work, name=f"pawl-{len(self._threads) + 1}", daemon=True
        )
        try:
            thread.start()
        except (RuntimeError, MemoryError) as error:
            if not self._is_told:
                self._is_told = True
                self._tell_trouble(f"a thread for functions cannot be started: {error}")
            return
        self._is_told = False
        self._threads.append(thread)

    def _work(self) -> None:
        me = threading.get_ident()
        jobs = self._jobs
        tokens = self._tokens
        while True:
            self._idle.add(me)
            goes_on = tokens.get()
            self._idle.discard(me)
            if not goes_on:
                return
            self._busy.add(me)
            self._is_woken = False
            while True:
                try:
                    job = jobs.popleft()
                except IndexError:
                    break
                if jobs and not self._is_woken:
                    self._wake()
                try:
                    self._execute(job)
                except BaseException:  # The thread is needed for the next one.
                    _log.exception("pawl: a job could not be executed")
            job = None
            self._busy.discard(me)
