"""Text goes to an outlet in the moment in which it comes, as long as that is free; nothing is lost or told twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import pytest

from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.ids import LOCAL_OWNER
from service.core.records import Outcome
from service.core.signals import ContentDelta, ReasoningDelta
from service.ports import StoredRecord, Take
from service.turns.events import Event, SignalEvent
from service.turns.waker import Waker
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6", "H7")]

THOUGHT = "I need to look at what the weather is like"
ANSWER = "Sunny and warm, with a little wind from the south."


class FakeOutlet:
    """Is free as `free` says each time it is asked, and puts what it takes behind what the iteration gave."""

    def __init__(self, seen: list[Event], free: Callable[[], bool]) -> None:
        self._seen = seen
        self._free = free
        self.taken = 0

    @property
    def is_free(self) -> bool:
        return self._free()

    def take(self, events: Sequence[Event]) -> None:
        self.taken += len(events)
        self._seen += events


class PacedLlama(ScriptedLlama):
    """Lets readers come to rest after each piece, as they do between the tokens of a model."""

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        async with aclosing(super().stream(request, take)) as items:
            async for item in items:
                yield item
                for _ in range(5):
                    await asyncio.sleep(0)


async def seen_of_a_turn(free: Callable[[], bool]) -> tuple[list[Event], FakeOutlet]:
    """Follow a turn of two steps with an outlet."""
    script = [Play(reasoning=THOUGHT, calls=(call("weather"),)), say(ANSWER)]
    house = House(PacedLlama(*script), TablePort(spec("weather")))
    session = await house.session()
    turn = await house.start(session)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None
    seen: list[Event] = []
    outlet = FakeOutlet(seen, free)
    following.tell_at_once(outlet)
    async with following:
        async for batch in following:
            seen += batch
    return seen, outlet


def order_of(seen: Sequence[Event]) -> list[str]:
    kinds = [event.type if isinstance(event, StoredRecord) else event.signal.type for event in seen]
    kinds = [kind for kind in kinds if kind != "progress"]
    return [kind for place, kind in enumerate(kinds) if place == 0 or kinds[place - 1] != kind]


def text_of(seen: Sequence[Event], kind: type[ContentDelta | ReasoningDelta]) -> str:
    """Join the deltas of a kind; each begins where the last one ended."""
    text = ""
    for event in seen:
        if isinstance(event, SignalEvent) and isinstance(event.signal, kind):
            assert event.signal.offset == len(text)
            text += event.signal.text
    return text


def check(seen: Sequence[Event]) -> None:
    assert text_of(seen, ReasoningDelta) == THOUGHT
    assert text_of(seen, ContentDelta) == ANSWER
    assert order_of(seen) == [
        "user",
        "reasoning",
        "assistant",
        "usage",
        "tool_call_started",
        "tool_result",
        "content",
        "assistant",
        "usage",
        "turn_finished",
    ]


async def test_an_outlet_that_is_free_gets_text_and_the_iteration_gets_the_records() -> None:
    seen, outlet = await seen_of_a_turn(lambda: True)

    check(seen)
    assert outlet.taken > 10
    told = sum(isinstance(event, SignalEvent) for event in seen)
    # What came before the reader was there is told by the iteration.
    assert told - outlet.taken <= 2


async def test_an_outlet_that_is_never_free_gets_nothing_and_nothing_is_lost() -> None:
    seen, outlet = await seen_of_a_turn(lambda: False)

    check(seen)
    assert outlet.taken == 0


@pytest.mark.parametrize("seed", range(20))
async def test_whenever_an_outlet_is_free_everything_is_told_once_and_in_order(seed: int) -> None:
    draw = random.Random(seed)

    seen, _ = await seen_of_a_turn(lambda: draw.random() < 0.5)

    check(seen)


@pytest.mark.rules("T13")
async def test_a_cancel_is_told_behind_the_text_that_went_to_an_outlet() -> None:
    house = House(PacedLlama(say(ANSWER, before_end=asyncio.Event())))
    session = await house.session()
    turn = await house.start(session)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None
    seen: list[Event] = []

    class Cancelling(FakeOutlet):
        cancelling: asyncio.Task[object] | None = None

        def take(self, events: Sequence[Event]) -> None:
            super().take(events)
            if text_of(self._seen, ContentDelta) == ANSWER:
                self.cancelling = asyncio.create_task(house.sessions.cancel(session, turn, LOCAL_OWNER))

    outlet = Cancelling(seen, lambda: True)
    following.tell_at_once(outlet)
    async with following:
        async for batch in following:
            seen += batch

    assert outlet.cancelling is not None
    await outlet.cancelling
    assert text_of(seen, ContentDelta) == ANSWER
    last = seen[-1]
    assert isinstance(last, StoredRecord)
    assert last.type == "turn_finished"
    assert f'"outcome":"{Outcome.CANCELLED.value}"'.encode() in last.body


async def test_what_deals_with_the_news_is_asked_only_while_someone_waits() -> None:
    waker, asked = Waker(), 0

    def deals_with_it() -> bool:
        nonlocal asked
        asked += 1
        return asked < 3

    waker.instead = deals_with_it
    waker.set()
    await waker.wait()
    assert asked == 0

    waiting = asyncio.create_task(waker.wait())
    await asyncio.sleep(0)
    waker.set()
    waker.set()
    await asyncio.sleep(0)
    assert not waiting.done()

    waker.set()
    # It is on its way: what comes now is for the one that wakes.
    waker.set()
    await waiting
    assert asked == 3
