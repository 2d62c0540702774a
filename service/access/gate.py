"""Bounds the completions in flight to the server's slots (L9): first come, first served over sessions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from service.core.ids import OwnerId, ReadingId, SessionId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a permit, or waits for one.

    A step of a session's turn (a summary by hand belongs to no turn), or the chunk of a reading (its answer is none).
    Nothing of it is told but to its owner (K3).
    """

    owner: OwnerId | None = None
    session: SessionId | None = None
    turn: TurnId | None = None
    step: int | None = None
    reading: ReadingId | None = None
    chunk: int | None = None

    def shown_to(self, owner: OwnerId) -> Holder:
        """Give what somebody may know of it: all of what is its own, and of others that there is one."""
        return self if self.owner == owner else Holder()


TellPosition = Callable[[int], None]
"""Takes a waiter's place in the queue, counted from 1; called again whenever it changes."""


class Gate:
    """A counted gate with a queue in order of arrival.

    A session has at most one completion in flight, so the order of arrival is fair over sessions. What runs aside,
    readings and summaries, leaves one permit to the steps of turns where there are several.
    """

    def __init__(self, capacity: int, now: Callable[[], float] = monotonic) -> None:
        self._capacity = capacity
        self._now = now
        self._in_use = 0
        self._aside = 0
        self._one_is_alone = False
        self._queue: deque[_Waiter] = deque()
        self._holders: list[Holder] = []

    @property
    def holders(self) -> tuple[Holder, ...]:
        """Who holds a permit now, in order of admission."""
        return tuple(self._holders)

    @property
    def queued(self) -> tuple[Holder, ...]:
        """Who waits for a permit, in order of arrival."""
        return tuple(waiter.holder for waiter in self._queue)

    @property
    def capacity(self) -> int:
        """How many permits there are."""
        return self._capacity

    @property
    def in_use(self) -> int:
        """How many permits are given out."""
        return self._in_use

    @property
    def waiting(self) -> int:
        """How many wait for a permit."""
        return len(self._queue)

    def resize(self, capacity: int) -> None:
        """Follow the server's number of slots; permits that are out stay valid."""
        self._capacity = capacity
        self._admit()

    @asynccontextmanager
    async def permit(
        self, holder: Holder, tell_position: TellPosition, *, alone: bool = False, aside: bool = False
    ) -> AsyncGenerator[float]:
        """Hold one permit for the body's time; leaving the queue or the body in any way gives it back.

        Gives the seconds for which the permit was waited for.

        `alone` waits until nothing else runs, and nothing else is let in until it is through (L7). `aside` is a
        reading or a summary: all of those together hold at most all permits but one (L9).
        """
        waiter = _Waiter(holder, asyncio.get_running_loop().create_future(), tell_position, alone=alone, aside=aside)
        waited_s = await self._enter(waiter)
        self._holders.append(holder)
        try:
            yield waited_s
        finally:
            self._holders.remove(holder)
            self._give_back(waiter)

    async def _enter(self, waiter: _Waiter) -> float:
        self._queue.append(waiter)
        self._admit()
        if waiter.admitted.done():
            return 0.0
        since = self._now()
        try:
            await waiter.admitted
        except asyncio.CancelledError:
            self._leave(waiter)
            raise
        return self._now() - since

    def _leave(self, waiter: _Waiter) -> None:
        if not waiter.has_left:
            # It was admitted in the same moment in which it was cancelled: the permit goes on to the next.
            self._give_back(waiter)
        elif waiter in self._queue:
            self._queue.remove(waiter)
            # It may have been the one, to run alone, for which the others had to wait.
            self._admit()

    def _has_room(self, waiter: _Waiter) -> bool:
        if waiter.alone:
            return self._in_use == 0
        return self._in_use < self._capacity and not self._one_is_alone

    def _is_held_back(self, waiter: _Waiter) -> bool:
        return waiter.aside and self._aside >= max(1, self._capacity - 1)

    def _take(self, waiter: _Waiter) -> None:
        self._in_use += 1
        self._aside += waiter.aside
        self._one_is_alone = waiter.alone

    def _give_back(self, waiter: _Waiter) -> None:
        self._in_use -= 1
        self._aside -= waiter.aside
        if waiter.alone:
            self._one_is_alone = False
        self._admit()

    def _admit(self) -> None:
        for waiter in tuple(self._queue):
            if self._is_held_back(waiter):
                # The permit that is kept from it is for those behind it.
                continue
            if not self._has_room(waiter):
                break
            self._queue.remove(waiter)
            if not waiter.has_left:
                self._take(waiter)
                waiter.admitted.set_result(None)
        self._tell_positions()

    def _tell_positions(self) -> None:
        for position, waiter in enumerate(self._queue, start=1):
            waiter.tell(position)


class _Waiter:
    """One that waits; `tell` passes on only what is new."""

    def __init__(
        self,
        holder: Holder,
        admitted: asyncio.Future[None],
        tell_position: TellPosition,
        *,
        alone: bool,
        aside: bool,
    ) -> None:
        self.holder = holder
        self.admitted = admitted
        self.alone = alone
        self.aside = aside
        self._tell_position = tell_position
        self._told: int | None = None

    @property
    def has_left(self) -> bool:
        """Whether it was cancelled while it waited; its task may not have come to that yet."""
        return self.admitted.cancelled()

    def tell(self, position: int) -> None:
        if position != self._told:
            self._told = position
            self._tell_position(position)
