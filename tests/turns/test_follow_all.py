"""All sessions in one stream: records in the store's order, then what is in flight (H6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from service.core.ids import LOCAL_OWNER, OwnerId, SessionId
from service.core.records import TurnFinished
from service.core.signals import ContentDelta, Partial, ReasoningDelta, Resync, SessionDeleted, ShuttingDown, Signal
from service.ports import StoredRecord
from service.turns.events import Event, SignalEvent
from service.turns.store_follower import StoreFollower
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6")]

BOUND_S = 20.0
T = TypeVar("T", bound=Signal)


class Reading:
    """Reads a stream of all sessions until something is seen."""

    def __init__(self, batches: AsyncGenerator[list[Event]]) -> None:
        self._batches = batches
        self.events: list[Event] = []

    async def until(self, seen: Callable[[Event], bool]) -> None:
        async with asyncio.timeout(BOUND_S):
            while not any(seen(event) for event in self.events):
                self.events += await anext(self._batches)

    async def tick(self, house: House) -> None:
        """Read past all records that there are, by the last word of a session that is made and deleted for it."""
        passing = await house.session()
        await house.sessions.delete(passing, LOCAL_OWNER)
        await self.until(lambda event: event.session == passing and isinstance(event, SignalEvent))

    async def to_the_end(self) -> None:
        async with asyncio.timeout(BOUND_S):
            async for batch in self._batches:
                self.events += batch

    @property
    def records(self) -> list[StoredRecord]:
        return [event for event in self.events if isinstance(event, StoredRecord)]

    def signals(self, kind: type[T]) -> list[T]:
        return [signal for _, signal in self.told(kind)]

    def told(self, kind: type[T]) -> list[tuple[SessionId | None, T]]:
        """The signals of a kind, with their sessions."""
        signals = [event for event in self.events if isinstance(event, SignalEvent)]
        return [(event.session, event.signal) for event in signals if isinstance(event.signal, kind)]


async def batches_of(follower: StoreFollower) -> AsyncGenerator[list[Event]]:
    async for batch in follower:
        yield list(batch)


@asynccontextmanager
async def reading(house: House, after_pos: int | None = None, owner: OwnerId = LOCAL_OWNER) -> AsyncGenerator[Reading]:
    follower = await house.sessions.follow_all(owner, after_pos)

    async with follower:
        stream = batches_of(follower)
        try:
            yield Reading(stream)
        finally:
            await stream.aclose()


def a_record(kind: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, StoredRecord) and event.type == kind


def said(text: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, SignalEvent) and getattr(event.signal, "text", "").endswith(text)


async def test_without_a_cursor_it_begins_now_and_tells_sessions_that_are_made() -> None:
    house = House(ScriptedLlama(say("One."), say("Two.")))
    old = await house.session()
    await house.run(old)
    async with reading(house) as stream:
        new = await house.session()
        await stream.until(a_record("session_created"))
        await house.run(new)
        await stream.until(a_record("turn_finished"))
    assert [record.session for record in stream.records] == [new] * 5
    assert stream.records[0].type == "session_created"


@pytest.mark.cases(11)
async def test_turns_of_other_clients_are_told_in_the_stores_order() -> None:
    first, second = say("One.", before_end=asyncio.Event()), say("Two.", before_end=asyncio.Event())
    house = House(ScriptedLlama(first, second))
    sessions = [await house.session(), await house.session()]
    async with reading(house) as stream:
        turns = [await house.start(session) for session in sessions]
        for play in (second, first):
            await play.streaming.wait()
            assert play.before_end is not None
            play.before_end.set()
        for session, turn in zip(sessions, turns, strict=True):
            await house.finish(session, turn)
        await stream.until(
            lambda _: len([record for record in stream.records if record.type == TurnFinished.type]) == 2
        )
    assert [record.pos for record in stream.records] == sorted(record.pos for record in stream.records)
    assert {record.session for record in stream.records} == set(sessions)


async def test_each_word_of_each_session_is_told_once() -> None:
    script = [Play(reasoning="Let me think.", calls=(call("clock"),)), say("It is noon, I think, or nearly so.")]
    house = House(ScriptedLlama(*script), TablePort(spec("clock")))
    async with reading(house) as stream:
        session = await house.session()
        await stream.until(a_record("session_created"))
        await stream.tick(house)
        await house.run(session)
        await stream.until(a_record("turn_finished"))
    thought = "".join(signal.text for signal in stream.signals(ReasoningDelta))
    text = "".join(signal.text for signal in stream.signals(ContentDelta))
    assert (thought, text) == ("Let me think.", "It is noon, I think, or nearly so.")
    assert not stream.signals(Partial)


async def test_who_joins_gets_the_steps_in_flight_of_all_sessions() -> None:
    plays = [say(f"Half {number}", before_end=asyncio.Event()) for number in range(2)]
    house = House(ScriptedLlama(*plays))
    sessions = [await house.session(), await house.session()]
    turns = [await house.start(session) for session in sessions]
    for play in plays:
        await play.streaming.wait()
    async with reading(house) as stream:
        await stream.until(lambda _: len(stream.signals(Partial)) == 2)
        for play in plays:
            assert play.before_end is not None
            play.before_end.set()
        for session, turn in zip(sessions, turns, strict=True):
            await house.finish(session, turn)
        await stream.until(lambda _: len([r for r in stream.records if r.type == TurnFinished.type]) == 2)
    partials = {session: partial.content for session, partial in stream.told(Partial)}
    assert partials == {sessions[0]: "Half 0", sessions[1]: "Half 1"}
    assert not stream.signals(ContentDelta)


async def test_a_cursor_brings_back_what_was_missed_in_every_session() -> None:
    house = House(ScriptedLlama(say("One."), say("Two."), say("Three.")))
    first, second = await house.session(), await house.session()
    await house.run(first)
    seen = await house.log.last_pos()
    await house.run(second)
    await house.run(first)
    async with reading(house, after_pos=seen) as stream:
        await stream.until(lambda _: len([r for r in stream.records if r.type == TurnFinished.type]) == 2)
    stored = sorted([*await house.log.read(first), *await house.log.read(second)], key=lambda record: record.pos)
    assert stream.records == [record for record in stored if record.pos > seen]


async def test_a_cursor_beyond_the_end_is_told_and_then_it_is_live() -> None:
    house = House(ScriptedLlama(say("One.")))
    session = await house.session()
    async with reading(house, after_pos=999) as stream:
        await stream.until(lambda event: isinstance(event, SignalEvent) and isinstance(event.signal, Resync))
        await house.run(session)
        await stream.until(a_record("turn_finished"))
    assert stream.told(Resync) == [(None, Resync(last_pos=1))]


async def test_another_owners_sessions_are_not_there() -> None:
    half = say("Half", before_end=asyncio.Event())
    house = House(ScriptedLlama(half))
    session = await house.session()
    async with reading(house, owner=OwnerId("stranger")) as stream, reading(house) as own:
        turn = await house.start(session)
        await half.streaming.wait()
        assert half.before_end is not None
        half.before_end.set()
        await house.finish(session, turn)
        await own.until(a_record("turn_finished"))
        await house.sessions.shut_down(0)
        await stream.to_the_end()
    assert stream.records == []
    assert {type(event.signal) for event in stream.events if isinstance(event, SignalEvent)} == {ShuttingDown}


@pytest.mark.rules("H9")
async def test_a_deleted_session_is_told_and_the_stream_goes_on() -> None:
    house = House(ScriptedLlama(say("One.")))
    gone, stays = await house.session(), await house.session()
    async with reading(house) as stream:
        await house.sessions.delete(gone, LOCAL_OWNER)
        await house.run(stays)
        await stream.until(lambda event: isinstance(event, SignalEvent) and isinstance(event.signal, SessionDeleted))
        await stream.until(a_record("turn_finished"))
    assert [session for session, _ in stream.told(SessionDeleted)] == [gone]


@pytest.mark.rules("H8")
async def test_a_stop_ends_it_with_a_last_word() -> None:
    house = House(ScriptedLlama())
    async with reading(house) as stream:
        await house.sessions.shut_down(0)
        await stream.to_the_end()
    assert [event.signal for event in stream.events if isinstance(event, SignalEvent)] == [ShuttingDown()]


@pytest.mark.rules("H7")
async def test_of_sessions_in_which_nothing_is_in_flight_nothing_is_remembered() -> None:
    house = House(ScriptedLlama(say("Yes."), endless=True))
    follower = await house.sessions.follow_all(LOCAL_OWNER, None)
    async with follower:
        stream = Reading(batches_of(follower))
        await stream.tick(house)
        for _ in range(5):
            await house.run(await house.session())
        await stream.tick(house)
    assert follower.remembered == 0
    assert len([record for record in stream.records if record.type == TurnFinished.type]) == 5
