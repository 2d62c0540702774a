"""The one writer: a thread that commits together what came while the last commit ran (S2).

Those who wait are woken together, after the commit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Engine

from service.adapters.log_sql.group_commit import GroupCommit, Write
from service.adapters.log_sql.transaction import GroupTransaction
from service.core.errors import SequenceConflict, StoreFailure, TooManySessions

_GROUP_LIMIT = 256
"""Writes in one transaction: many share the wait for the disk, and the first needn't wait long."""

T = TypeVar("T")

Committed = Callable[[Collection[float], int], None]
"""Takes, for each write of a commit, the seconds from when it was given; and how many of them failed."""


@dataclass(frozen=True, slots=True)
class _Job:
    write: Write
    future: asyncio.Future[Any]
    since: float


class Writer:
    """Runs writes in groups, in the order in which they were given."""

    def __init__(self, engine: Engine, committed: Committed | None = None) -> None:
        self._committed = committed
        self._commit = GroupCommit(engine)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    async def submit(self, write: Callable[[GroupTransaction], T]) -> T:
        """Run a write in the writer's thread; when this returns, it is on disk.

        A caller that is cancelled while it waits gets no answer, and its write may still happen.

        Raises:
            StoreFailure: the write was refused or failed, or the writer has ended.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(write, future, monotonic()))
        # Asked after the job was put: a writer that ends later than this finds it in its queue.
        if self._ended:
            future.cancel()
        self.check()
        return await future

    def check(self) -> None:
        """See whether the writer is at work.

        Raises:
            StoreFailure: it was closed, or it ended by a defect.
        """
        if self._ended:
            raise StoreFailure("the store is closed")

    def stop(self) -> None:
        """Write what was given so far, refuse what comes later, and end."""
        self._jobs.put(None)

    def join(self) -> None:
        """Wait, blocking, until the writer has ended."""
        self._thread.join()

    def _run(self) -> None:
        group: Sequence[_Job] = []
        more = True
        try:
            while more:
                group, more = self._next_group()
                if group:
                    results = self._commit.run([job.write for job in group])
                    # First, so that whoever has waited for a write finds it counted.
                    self._tell(group, results)
                    self._deliver(group, results)
        finally:
            # Also when the thread ends by a defect: nobody must wait for ever. Who has an answer keeps it.
            self._ended = True
            left = [*group, *self._left()]
            self._deliver(left, [StoreFailure("the store is closed") for _ in left])
            self._commit.close()

    def _tell(self, group: Sequence[_Job], results: Sequence[Any]) -> None:
        if self._committed is not None:
            now = monotonic()
            self._committed([now - job.since for job in group], sum(map(_is_failure, results)))

    def _next_group(self) -> tuple[Sequence[_Job], bool]:
        """Wait for a job and take those that came with it; tell whether there may be more."""
        group: list[_Job] = []
        while (job := self._jobs.get()) is not None:
            group.append(job)
            if len(group) == _GROUP_LIMIT or self._jobs.empty():
                return group, True
        return group, False

    def _left(self) -> Sequence[_Job]:
        left: list[_Job] = []
        with suppress(Empty):
            while True:
                job = self._jobs.get_nowait()
                left += [] if job is None else [job]
        return left

    def _deliver(self, group: Sequence[_Job], results: Sequence[Any]) -> None:
        # One wake-up for all. A loop that was closed meanwhile has nobody waiting in it.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_resolve, group, results)


def _is_failure(result: object) -> bool:
    # What was refused by a rule is no failure of the store.
    return isinstance(result, Exception) and not isinstance(result, SequenceConflict | TooManySessions)


def _resolve(group: Sequence[_Job], results: Sequence[Any]) -> None:
    for job, result in zip(group, results, strict=True):
        if job.future.done():
            continue
        if isinstance(result, Exception):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
