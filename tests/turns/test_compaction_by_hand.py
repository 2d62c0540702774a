"""Compaction by hand: a session is busy meanwhile, and the answer says what came of it (C1, H4)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.baseline import Compaction
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.records import (
    Outcome,
)
from service.ports import StoredRecord
from service.turns.requests import OnBusy
from tests.fakes.counted_llama import CountedLlama, size_of
from tests.fakes.house import BOUND_S, House
from tests.fakes.llama import GONE, say
from tests.fakes.strict_prompt import check_prompt
from tests.turns.compacting import QUESTION, SIZE, WORDS, filled, prompt, talker, the_summary
from tests.turns.turn_facts import LaterIds

pytestmark = [pytest.mark.anyio, pytest.mark.rules("C1")]


@pytest.mark.rules("H4")
async def test_by_hand_so_much_is_summarised_that_half_is_left_and_the_session_is_busy_meanwhile() -> None:
    held = say("They talked.", before_end=asyncio.Event())
    house, session = await filled(talker(summaries=[held]), turns=3)
    size = size_of(await prompt(house, session))  # pyright: ignore[reportArgumentType]
    compacting = asyncio.create_task(house.sessions.compact(session, LOCAL_OWNER))
    async with asyncio.timeout(BOUND_S):
        await held.streaming.wait()

    with pytest.raises(RequestRefused) as second:
        await house.start(session, "Hello?")
    with pytest.raises(RequestRefused) as twice:
        await house.sessions.compact(session, LOCAL_OWNER)
    assert held.before_end is not None
    held.before_end.set()
    done = await compacting

    assert second.value.code is twice.value.code is ProblemCode.TURN_IN_PROGRESS
    summary = await the_summary(house, session)
    assert done.by_hand.summary == summary
    assert done.by_hand.seq == done.session.last_seq
    assert summary.tokens_before == size
    assert done.session.context.used_tokens == summary.tokens_after < size
    assert done.session.status.usage.completions == 4
    assert (await house.run(session, "Hello?")).outcome is Outcome.ANSWERED
    check_prompt(house.llama.requests[-1].messages)


async def test_by_hand_all_may_be_summarised_and_the_next_message_stands_below_the_summary() -> None:
    house = House(CountedLlama(say(WORDS * 2), say("Yes."), context_tokens=SIZE))
    session = await house.session(system="Be brief.")
    await house.run(session, QUESTION)

    await house.sessions.compact(session, LOCAL_OWNER)
    before = await prompt(house, session)
    view = await house.run(session, "And now?")

    assert [message["role"] for message in before] == ["system", "user"]
    assert view.outcome is Outcome.ANSWERED
    sent = house.llama.requests[-1].messages
    assert sent[1]["content"] == f"{before[1]['content']}\n\nThe conversation goes on with this message:\n\nAnd now?"
    check_prompt(sent)
    assert (await house.sessions.compact(session, LOCAL_OWNER)).by_hand.summary is not None
    assert (await house.sessions.compact(session, LOCAL_OWNER)).by_hand.summary is None


@pytest.mark.rules("C0")
async def test_a_message_that_goes_below_the_summary_is_counted_with_it() -> None:
    house = House(CountedLlama(say(WORDS * 2), say("Yes."), context_tokens=SIZE))
    session = await house.session(system="Be brief.")
    await house.run(session, QUESTION)
    await house.sessions.compact(session, LOCAL_OWNER)
    records = len(await house.records(session))

    with pytest.raises(RequestRefused) as refused:
        await house.start(session, "word " * 4 * SIZE)

    assert refused.value.code is ProblemCode.SESSION_FULL
    assert len(await house.records(session)) == records
    assert (await house.run(session, "And now?")).outcome is Outcome.ANSWERED


@pytest.mark.parametrize(
    ("asked", "turns", "away", "says"),
    [
        ({"compaction": Compaction.OFF}, 1, False, "compaction is off"),
        ({}, 0, False, "there is nothing that could be"),
        ({}, 1, False, "hardly shorter"),
        ({}, 0, True, "can't be reached"),
    ],
)
async def test_by_hand_nothing_may_come_of_it_and_the_answer_says_why(
    asked: dict[str, object], turns: int, away: bool, says: str
) -> None:
    llama = CountedLlama(say("Hi."), context_tokens=SIZE, endless=True)
    llama.away = GONE if away else None
    house = House(llama)
    session = await house.session(**asked)
    for _ in range(turns):
        await house.run(session)

    done = await house.sessions.compact(session, LOCAL_OWNER)

    assert done.by_hand.summary is None
    assert says in done.by_hand.detail


@pytest.mark.rules("H4")
async def test_a_session_that_runs_or_has_others_waiting_is_not_compacted_by_hand() -> None:
    held = say("Late.", before_end=asyncio.Event())
    house = House(CountedLlama(held, context_tokens=SIZE))
    session = await house.session()
    turn = await house.start(session)
    await held.streaming.wait()

    with pytest.raises(RequestRefused) as caught:
        await house.sessions.compact(session, LOCAL_OWNER)

    assert caught.value.code is ProblemCode.TURN_IN_PROGRESS
    assert caught.value.extensions == {"turn": turn}
    await house.sessions.cancel(session, turn, LOCAL_OWNER)


@pytest.mark.rules("H9")
async def test_a_session_that_is_deleted_while_it_is_compacted_by_hand_is_gone() -> None:
    held = say("They talked.", before_end=asyncio.Event())
    house, session = await filled(talker(summaries=[held]), turns=3)
    compacting = asyncio.create_task(house.sessions.compact(session, LOCAL_OWNER))
    async with asyncio.timeout(BOUND_S):
        await held.streaming.wait()

    await house.sessions.delete(session, LOCAL_OWNER)
    assert held.before_end is not None
    held.before_end.set()

    with pytest.raises(RequestRefused) as caught:
        await compacting
    assert caught.value.code is ProblemCode.NOT_FOUND


@pytest.mark.rules("H6")
async def test_a_summary_by_hand_is_in_the_sessions_stream_and_belongs_to_no_turn() -> None:
    house, session = await filled(talker(), turns=3)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=0)
    assert following is not None

    await house.sessions.compact(session, LOCAL_OWNER)

    async with asyncio.timeout(BOUND_S), following:
        async for batch in following:
            records = [event for event in batch if isinstance(event, StoredRecord)]
            if records and records[-1].type == "summary":
                assert records[-1].turn is None
                break


@pytest.mark.rules("H4")
async def test_a_session_whose_queue_has_not_gone_on_is_busy_and_its_queue_goes_on() -> None:
    held = say("Late.", before_end=asyncio.Event())
    house = House(CountedLlama(held, context_tokens=SIZE))
    session = await house.session()
    await house.start(session)
    async with asyncio.timeout(BOUND_S):
        await held.streaming.wait()
    waiting = await house.start(session, "Later", on_busy=OnBusy.QUEUE)
    await house.sessions.shut_down(0)
    second = House(CountedLlama(say("Yes."), context_tokens=SIZE), log=house.log, ids=LaterIds())

    with pytest.raises(RequestRefused) as caught:
        await second.sessions.compact(session, LOCAL_OWNER)

    assert caught.value.code is ProblemCode.TURN_IN_PROGRESS
    assert (await second.finish(session, waiting)).outcome is Outcome.ANSWERED
