"""Followers see everything once and in order, whenever they come and however slow they are (H6, H7, S1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.completion_events import ContentText
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.session_status import SessionStatus
from service.core.signals import (
    ContentDelta,
    Partial,
    Queued,
    ReasoningDelta,
    Resync,
    SessionDeleted,
    ShuttingDown,
    StoreBroken,
)
from service.ports import RecordDraft, StoredRecord
from service.turns.events import Event, SignalEvent
from service.turns.feed import Feeds
from service.turns.follower import Follower
from service.turns.requests import OnBusy
from service.turns.step_text import StepText
from tests.fakes.clock import START
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = pytest.mark.anyio


async def follower(house: House, session: SessionId, **how: object) -> Follower:
    how = {"turn": None, "after_pos": None, **how}
    following = await house.sessions.follow(session, LOCAL_OWNER, **how)  # pyright: ignore[reportArgumentType]
    assert following is not None
    return following


async def all_of(following: Follower) -> list[Event]:
    async with following:
        return [event async for batch in following for event in batch]


def seqs(events: Sequence[Event]) -> list[int]:
    return [event.seq for event in events if isinstance(event, StoredRecord)]


def deltas(events: Sequence[Event]) -> list[ContentDelta | ReasoningDelta]:
    return [
        event.signal
        for event in events
        if isinstance(event, SignalEvent) and isinstance(event.signal, ContentDelta | ReasoningDelta)
    ]


async def two_step_turn() -> tuple[House, SessionId, TurnId]:
    script = [Play(reasoning="I need to look", calls=(call("weather"),)), say("Sunny and warm.")]
    house = House(ScriptedLlama(*script), TablePort(spec("weather")))
    session = await house.session()
    return house, session, await house.start(session)


@pytest.mark.rules("H6", "H1")
async def test_the_reader_of_a_new_turn_sees_it_whole_from_its_first_record_to_its_end() -> None:
    house, session, turn = await two_step_turn()

    events = await all_of(await follower(house, session, turn=turn, until_pause=True))

    assert seqs(events) == [2, 3, 4, 5, 6, 7, 8, 9]
    said = deltas(events)
    assert "".join(delta.text for delta in said if delta.step == 1) == "I need to look"
    assert "".join(delta.text for delta in said if delta.step == 2) == "Sunny and warm."


@pytest.mark.rules("H6")
async def test_offsets_count_the_code_points_that_came_before() -> None:
    house = House(ScriptedLlama(say("Grüße 👋 an alle")))
    session = await house.session()
    turn = await house.start(session)

    events = await all_of(await follower(house, session, turn=turn, until_pause=True))

    text = ""
    for delta in deltas(events):
        assert delta.offset == len(text)
        text += delta.text
    assert text == "Grüße 👋 an alle"


@pytest.mark.rules("H7")
async def test_a_reader_that_was_away_for_whole_steps_gets_their_text_merged_before_their_record() -> None:
    house, session, turn = await two_step_turn()
    await house.finish(session, turn)

    events = await all_of(await follower(house, session, turn=turn, until_pause=True))

    order = [event.signal.type if isinstance(event, SignalEvent) else event.type for event in events]
    assert order == [
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


@pytest.mark.rules("H6")
async def test_a_finished_turn_is_replayed_from_the_log_without_deltas() -> None:
    house, session, turn = await two_step_turn()
    await house.finish(session, turn)

    events = await all_of(await follower(house, session, turn=turn))

    assert seqs(events) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert deltas(events) == []


@pytest.mark.rules("H6")
async def test_resuming_behind_any_record_gives_exactly_the_rest() -> None:
    house, session, turn = await two_step_turn()
    live = await all_of(await follower(house, session, turn=turn, until_pause=True))
    records = [event for event in live if isinstance(event, StoredRecord)]

    for place, record in enumerate(records[:-1], start=1):
        rest = await all_of(await follower(house, session, turn=turn, after_pos=record.pos))
        assert [event for event in rest if isinstance(event, StoredRecord)] == records[place:]


@pytest.mark.rules("H6")
async def test_resuming_at_or_past_the_end_of_a_turn_gives_nothing_to_follow() -> None:
    house, session, turn = await two_step_turn()
    live = await all_of(await follower(house, session, turn=turn, until_pause=True))
    last = [event for event in live if isinstance(event, StoredRecord)][-1]

    for pos in (last.pos, last.pos + 1000):
        assert await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=pos) is None


@pytest.mark.rules("H6")
async def test_who_joins_a_step_in_flight_gets_its_text_so_far_once_and_then_the_rest() -> None:
    end = asyncio.Event()
    half = say("Once upon a time", before_end=end)
    house = House(ScriptedLlama(half))
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()

    seen: list[Event] = []
    async with await follower(house, session, turn=turn) as following:
        async for batch in following:
            seen += batch
            end.set()

    partials = [e.signal for e in seen if isinstance(e, SignalEvent) and isinstance(e.signal, Partial)]
    assert [(partial.step, partial.content) for partial in partials] == [(1, "Once upon a time")]
    assert deltas(seen) == []
    assert seqs(seen) == [2, 3, 4, 5]


@pytest.mark.rules("H6")
async def test_a_cursor_beyond_the_store_is_told_to_resync_and_then_sees_what_is_new() -> None:
    house = House(ScriptedLlama(say("Hello.")))
    session = await house.session()

    seen: list[Event] = []
    async with await follower(house, session, after_pos=10_000) as following:
        await house.start(session)
        async for batch in following:
            seen += batch
            if seqs(seen)[-1:] == [5]:
                break

    first = seen[0]
    assert isinstance(first, SignalEvent)
    assert isinstance(first.signal, Resync)
    assert seqs(seen) == [2, 3, 4, 5]


@pytest.mark.rules("H6")
async def test_the_stream_of_a_session_goes_on_over_turns_and_holds_its_creation() -> None:
    house = House(ScriptedLlama(say("One."), say("Two.")))
    session = await house.session()

    seen: list[Event] = []
    async with await follower(house, session) as following:
        await house.run(session)
        await house.run(session)
        async for batch in following:
            seen += batch
            if seqs(seen)[-1:] == [9]:
                break

    assert seqs(seen) == list(range(1, 10))


@pytest.mark.rules("H6")
async def test_a_stream_of_a_turn_holds_nothing_of_other_turns() -> None:
    house = House(ScriptedLlama(say("One."), say("Two.")))
    session = await house.session()
    await house.run(session)
    second = await house.run(session)

    events = await all_of(await follower(house, session, turn=second.id))

    assert seqs(events) == [6, 7, 8, 9]


@pytest.mark.rules("L9")
async def test_a_turn_that_waits_for_the_gate_tells_its_position() -> None:
    running = say("Busy", before_end=asyncio.Event())
    house = House(ScriptedLlama(running, say("Free."), slots=1))
    first, second = await house.session(), await house.session()
    await house.start(first)
    await running.streaming.wait()
    turn = await house.start(second)

    positions: list[int] = []
    async with await follower(house, second, turn=turn) as following:
        async for batch in following:
            positions += [
                e.signal.position for e in batch if isinstance(e, SignalEvent) and isinstance(e.signal, Queued)
            ]
            if positions:
                break

    assert positions == [1]
    assert running.before_end is not None
    running.before_end.set()
    await house.finish(second, turn)


@pytest.mark.rules("H9")
async def test_deleting_a_session_ends_its_followers_with_a_last_word() -> None:
    house = House(ScriptedLlama())
    session = await house.session()

    async with await follower(house, session) as following:
        await house.sessions.delete(session, LOCAL_OWNER)
        events = [event async for batch in following for event in batch]

    last = events[-1]
    assert isinstance(last, SignalEvent)
    assert isinstance(last.signal, SessionDeleted)


@pytest.mark.rules("H8")
async def test_a_shutdown_ends_followers_that_are_there_and_those_that_still_come() -> None:
    house = House(ScriptedLlama())
    session = await house.session()

    async with await follower(house, session) as following:
        await house.sessions.shut_down(0)
        events = [event async for batch in following for event in batch]
    late = await all_of(await follower(house, session))

    for seen in (events, late):
        last = seen[-1]
        assert isinstance(last, SignalEvent)
        assert isinstance(last.signal, ShuttingDown)


@pytest.mark.rules("H7")
async def test_a_follower_further_behind_than_the_recent_records_reads_the_log() -> None:
    calls = [ask_for(call("weather", f'{{"city": "{number}"}}')) for number in range(30)]
    house = House(ScriptedLlama(*calls, say("Done.")), TablePort(spec("weather")), limits=None)
    session = await house.session()
    from_the_start = await follower(house, session)
    async with from_the_start:
        for _ in range(3):
            await house.run(session, "Go on", limits={"tool_iterations": 8})
        last_seq = (await house.sessions.view(session, LOCAL_OWNER)).last_seq
        seen: list[Event] = []
        async for batch in from_the_start:
            seen += batch
            if seqs(seen)[-1] == last_seq:
                break

    assert last_seq > 64
    assert seqs(seen) == list(range(1, last_seq + 1))


@pytest.mark.rules("H4")
async def test_who_sees_a_turn_end_can_start_the_next_one_at_once() -> None:
    house = House(ScriptedLlama(*(say(f"Answer {number}.") for number in range(20))))
    session = await house.session()

    for _ in range(20):
        turn = await house.start(session)
        async with await follower(house, session, turn=turn, until_pause=True) as following:
            async for _batch in following:
                pass

    assert len(await house.sessions.turns(session, LOCAL_OWNER)) == 20


@pytest.mark.rules("H6")
async def test_records_of_other_turns_that_lie_in_between_are_passed_over() -> None:
    first = say("One.", before_end=asyncio.Event())
    house = House(ScriptedLlama(first, say("Two.")))
    session = await house.session()
    turn = await house.start(session)
    await first.streaming.wait()
    second = await house.start(session, on_busy=OnBusy.QUEUE)
    assert first.before_end is not None
    first.before_end.set()
    await house.finish(session, second)

    for how in ({"until_pause": True}, {"after_pos": 1}):
        events = await all_of(await follower(house, session, turn=turn, **how))
        assert seqs(events) == [2, 4, 5, 6]


@pytest.mark.rules("H1", "A2")
async def test_who_lets_a_turn_go_on_is_told_every_word_from_there_on() -> None:
    half = say("Once upon a time", before_end=asyncio.Event())
    house = House(ScriptedLlama(ask_for(call("weather")), half), TablePort(spec("weather")))
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    place = (await house.log.read(session))[4]

    following = await follower(house, session, turn=turn, after_pos=place.pos, until_pause=True)
    assert half.before_end is not None
    half.before_end.set()
    seen = await all_of(following)

    assert seqs(seen) == [6, 7, 8, 9]
    assert "".join(delta.text for delta in deltas(seen)) == "Once upon a time"
    assert not [event for event in seen if isinstance(event, SignalEvent) and isinstance(event.signal, Partial)]


@pytest.mark.rules("S5", "H6")
async def test_a_record_that_was_written_though_its_write_failed_is_not_passed_over() -> None:
    log = MemoryLog()
    house = House(ScriptedLlama(), log=log)
    session = await house.session()
    feeds = Feeds()
    feed = feeds.of(session)

    async def appended(seq: int) -> Sequence[StoredRecord]:
        draft = RecordDraft(turn=None, type="user", body=b"{}")
        return await log.append(session, seq - 1, [draft], SessionStatus(), START)

    feed.publish_records(await appended(2))
    async with Follower(feed, log, after_pos=None) as following:
        batches = aiter(following)
        seen = [*await anext(batches)]
        await appended(3)
        feed.publish_records(await appended(4))
        seen += await anext(batches)

    assert seqs(seen) == [1, 2, 3, 4]


@pytest.mark.rules("S5", "H6")
@pytest.mark.parametrize("which", [None, "turn"])
async def test_a_broken_store_has_the_last_word_also_for_who_comes_only_now(which: str | None) -> None:
    house = House(ScriptedLlama(say("Hi.")), None)
    session = await house.session()
    turn = await house.start(session)
    await all_of(await follower(house, session, turn=turn, until_pause=True))
    feed, broken = Feeds().of(session), TurnId("trn_broken")
    text = StepText(turn=broken, step=1, attempt=0)
    text.take(ContentText(text="One two"))
    feed.begin_step(text)
    feed.publish_signal(broken, Queued(position=1))
    feed.publish_signal(broken, StoreBroken())

    events = await all_of(Follower(feed, house.log, after_pos=None, turn=None if which is None else broken))

    told = [type(event.signal) for event in events if isinstance(event, SignalEvent)]
    assert told == [Partial, Queued, StoreBroken]
