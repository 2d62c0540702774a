"""The people who decide on calls that wait, as the plan says; a service that was started anew is the same to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from service.core.decisions import DecisionAsked
from service.core.errors import ProblemCode, RequestRefused, StoreFailure
from service.core.ids import LOCAL_OWNER
from service.core.records import PendingCall
from service.core.views import TurnView
from tests.conversations.moments import Moments, TurnClock
from tests.conversations.plan import Manner, Moment, Word
from tests.conversations.played import Answered
from tests.fakes.house import House

# Rounds of the loop in which a turn goes on, and how often what waits still is decided on again.
_ROUNDS = 10
_MOST_TRIES = 20
_NOBODY = Word(Manner.NOBODY)
_NOT_PENDING = ProblemCode.NOT_PENDING
_WRONG = "sha256:" + "0" * 64


class People:
    """Say one word for each time that a turn begins to wait; where it changed nothing, they let every call run."""

    def __init__(self, moments: Moments, clock: TurnClock, house: Callable[[], House], *, wait_s: int) -> None:
        self._moments = moments
        self._clock = clock
        self._house = house
        self._wait_s = wait_s
        self._words: list[Word] = []
        self._asked: tuple[object, ...] = ()
        self._tries = 0
        self.answered: list[Answered] = []

    def plan(self, words: Sequence[Word]) -> None:
        """Take the words of the next turn."""
        self._words = list(words)
        self._asked, self._tries = (), 0

    async def decide(self, view: TurnView) -> bool:
        """Say something to a turn that waits; False when nothing comes of it any more."""
        first, word = view.pending[0], Word()
        asked = (first.session, first.turn, first.asked_at)
        if asked != self._asked:
            self._asked, self._tries = asked, 0
            await self._moments.reach(Moment.WAITING)
            word = self._words.pop(0) if self._words else word
        elif self.answered and _NOT_PENDING in self.answered[-1].refused_by:
            # It is over, and the turn began to sleep only when that time had passed.
            word = _NOBODY
        await self._say(word, view)
        await _go_on()
        self._tries += 1
        return self._tries < _MOST_TRIES

    async def _say(self, word: Word, view: TurnView) -> None:
        if word.manner is Manner.NOBODY and self._wait_s:
            await _go_on()
            self._clock.advance(self._wait_s)
            self.answered.append(Answered(word.manner, ()))
            return
        decisions = [_decision(word, pending, place) for place, pending in enumerate(view.pending)]
        match word.manner:
            case Manner.TOGETHER | Manner.NOBODY:
                refused = [await self._send(word, view, decisions)]
            case Manner.ONE_BY_ONE:
                refused = [await self._send(word, view, [decision]) for decision in reversed(decisions)]
            case Manner.TWICE:
                refused = [await self._send(word, view, decisions) for _ in range(2)]
            case Manner.WRONG_DIGEST:
                wrong = [replace(decision, digest=_WRONG) for decision in decisions[-1:]]
                refused = [await self._send(word, view, [*decisions[:-1], *wrong])]
                refused += [await self._send(word, view, decisions)]
            case Manner.RIVALS:
                against = [replace(one, approved=not one.approved, arguments=None) for one in decisions]
                both = (self._send(word, view, decisions), self._send(word, view, against, by="bob"))
                refused = await asyncio.gather(*both)
        self.answered.append(Answered(word.manner, tuple(refused)))

    async def _send(
        self, word: Word, view: TurnView, decisions: Sequence[DecisionAsked], *, by: str = "ann"
    ) -> str | None:
        """Send decisions; give the reason why they were not taken, None when they were."""
        asked = view.pending[0]
        session, turn = (asked.session, asked.turn) if word.to_child else (view.session, view.id)
        try:
            await self._house().sessions.decide(session, turn, LOCAL_OWNER, decisions, by=by)
        except RequestRefused as refused:
            return refused.code
        except StoreFailure:
            return "store"
        await self._moments.reach(Moment.DECIDED)
        return None


async def _go_on() -> None:
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)


def _decision(word: Word, pending: PendingCall, place: int) -> DecisionAsked:
    approved = word.approved[place % len(word.approved)] if word.approved else True
    return DecisionAsked(
        call=pending.call,
        approved=approved,
        digest=pending.digest,
        arguments=word.arguments if approved else None,
        reason=word.reason,
    )
