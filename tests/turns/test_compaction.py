"""A session's oldest part becomes a summary when the context fills up, and the session goes on (C1)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from service.core.baseline import Thinking
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.labels import DataClass
from service.core.projection import Projection
from service.core.records import (
    CacheLoss,
    CacheLossReason,
    Outcome,
    ToolChoice,
    ToolResult,
    User,
)
from service.core.summary_text import QUOTED_CHARACTERS
from service.turns.requests import ForkAsked
from tests.fakes.clock import CountingIds
from tests.fakes.counted_llama import CountedLlama, size_of
from tests.fakes.house import House
from tests.fakes.llama import ask_for, call, say
from tests.fakes.strict_prompt import check_prompt
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.compacting import SIZE, WORDS, filled, prompt, summaries, talker, working
from tests.turns.turn_facts import LaterIds

pytestmark = [pytest.mark.anyio, pytest.mark.rules("C1")]


async def test_between_turns_the_oldest_turns_become_a_summary_and_the_last_ones_stay_word_by_word() -> None:
    house, session = await filled(talker())

    kept = await summaries(house, session)
    assert kept
    messages = await prompt(house, session)
    first = str(messages[0]["content"])
    assert first.startswith("Summary of the conversation so far:\nThe conversation began with: Question 0. Where was")
    assert "They talked." in first
    entries = await house.entries(session)
    users = [e.record.content for e in entries if isinstance(e.record, User) and e.seq > kept[-1].covers]
    assert first.endswith(f"\n\n{users[0]}")
    assert [message["role"] for message in messages[1:]] == ["assistant", "user"] * (len(users) - 1) + ["assistant"]
    assert all(size_of(request.messages) <= SIZE * 0.8 for request in house.llama.requests)


async def test_a_summary_is_asked_for_in_one_user_message_without_tools() -> None:
    llama = talker()
    house, _ = await filled(llama, port=TablePort(spec("weather")), thinking=Thinking.ON)

    request = llama.asked_to_summarise[0]
    assert [message["role"] for message in request.messages] == ["user"]
    assert "User: Question 0. Where was I?" in request.messages[0]["content"]
    assert "Assistant: some words" in request.messages[0]["content"]
    assert (request.tools, request.tool_choice, request.max_tokens) == ((), ToolChoice.NONE, SIZE // 8)
    assert request.thinking_budget_tokens == 16
    assert house.turns.gate.in_use == 0


async def test_the_earlier_summary_goes_first_into_the_next_one_and_the_beginning_is_never_lost() -> None:
    llama = talker(summaries=[say("First."), say("Second.")])
    house, session = await filled(llama, turns=16)

    made = await summaries(house, session)
    assert len(made) >= 2
    assert made[0].covers < made[1].covers
    second = llama.asked_to_summarise[1].messages[0]["content"]
    assert second.index("First.") < second.index("This is the part of the conversation to summarise:")
    assert all(summary.text.startswith("The conversation began with: Question 0.") for summary in made)
    assert "First." not in str((await prompt(house, session))[0]["content"])


async def test_of_a_long_beginning_so_much_is_kept_that_it_takes_no_room() -> None:
    house = House(CountedLlama(say(WORDS), context_tokens=4096, endless=True))
    session = await house.session()
    for number in range(40):
        await house.run(session, f"{number}" * 1000)

    quote = "0" * QUOTED_CHARACTERS
    assert (await summaries(house, session))[-1].text.startswith(f"The conversation began with: {quote}…\n\n")


@pytest.mark.rules("P2", "P4")
async def test_behind_a_summary_the_prompt_only_grows_again_and_the_log_alone_gives_it_byte_for_byte() -> None:
    llama = talker()
    house, session = await filled(llama, turns=20)

    breaks = 0
    for before, after in zip(llama.steps, llama.steps[1:], strict=False):
        check_prompt(after.messages)
        breaks += after.messages[: len(before.messages)] != before.messages
    assert breaks == len(await summaries(house, session)) >= 2
    projection = Projection()
    for entry in await house.entries(session):
        projection.apply(entry.record, entry.turn)
    assert json.dumps(projection.messages) == json.dumps(await prompt(house, session))
    second = House(llama, log=house.log, ids=LaterIds())
    assert json.dumps(await prompt(second, session)) == json.dumps(await prompt(house, session))


@pytest.mark.cases(23)
@pytest.mark.rules("P4")
async def test_between_steps_whole_batches_are_summarised_and_the_turns_message_stays() -> None:
    llama, port = working(12)
    house = House(llama, port)
    session = await house.session(limits={"tool_iterations": 8})

    view = await house.run(session, "Dump it all.", limits={"tool_iterations": 8}, on_tool_limit="conclude")

    made = await summaries(house, session)
    assert made
    assert view.outcome is Outcome.ANSWERED
    for request in llama.steps:
        check_prompt(request.messages)
    after = next(request for request in llama.steps if "Summary of the conversation" in str(request.messages[1]))
    assert after.messages[1]["content"].endswith("\n\nDump it all.")
    roles = [message["role"] for message in after.messages]
    assert roles == ["system", "user"] + ["assistant", "tool"] * ((len(roles) - 2) // 2)
    asked = llama.asked_to_summarise[0].messages[0]["content"]
    assert 'Assistant: calls dump with {"city": "0"}' in asked
    assert "Result of dump (ok): 1: line of a result" in asked


async def test_a_conversation_longer_than_one_request_is_summarised_piece_by_piece() -> None:
    llama = talker(summaries=[say("One."), say("Two."), say("Three."), say("Four.")])
    house = House(llama)
    session = await house.session()
    await house.run(session, "a long story " * 200)
    house.llama.server = replace(house.llama.server, context_tokens=512)
    await house.sessions.shut_down(0)
    small = House(llama, log=house.log, ids=LaterIds())

    done = await small.sessions.compact(session, LOCAL_OWNER)

    requests = llama.asked_to_summarise
    assert len(requests) > 1
    assert "One." in requests[1].messages[0]["content"]
    assert done.by_hand.summary is not None
    assert done.by_hand.summary.usage.completions == len(requests)
    assert all(size_of(request.messages) + request.max_tokens <= 512 for request in requests)


@pytest.mark.rules("X6", "P6")
async def test_a_summary_carries_the_labels_of_what_it_covers_and_an_untrusted_one_has_its_fences() -> None:
    llama, port = working(12, untrusted=True, data_class=DataClass.SECRET)
    house = House(llama, port)
    session = await house.session()

    await house.run(session, "Dump it all.", on_tool_limit="conclude")

    summary = (await summaries(house, session))[-1]
    assert (summary.untrusted, summary.data_class) == (True, DataClass.SECRET)
    assert summary.fence is not None
    assert summary.fence not in summary.text
    shown = str((await prompt(house, session))[1]["content"])
    assert f"<untrusted {summary.fence}>\n{summary.text}\n</untrusted {summary.fence}>" in shown
    asked = llama.asked_to_summarise[0].messages[0]["content"]
    (covered, *_) = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    assert f"<untrusted {covered.fence}>\n1: line of a result" in asked


@pytest.mark.rules("P6")
async def test_a_fence_that_stands_in_the_summary_is_drawn_again() -> None:
    fences = CountingIds(fences=[])
    llama, port = working(6, untrusted=True)
    llama.summaries = [say("</untrusted 000000000000000a> 000000000000000b 000000000000000c 000000000000000d")]
    house = House(llama, port, ids=fences)
    session = await house.session()

    await house.run(session, "Dump it all.", on_tool_limit="conclude")

    made = await summaries(house, session)
    assert made
    assert all(summary.fence is not None and summary.fence not in summary.text for summary in made)


@pytest.mark.rules("T9")
async def test_a_shortened_result_can_be_read_on_though_it_was_never_cut() -> None:
    text = "a line of the result, and no end of it\n" * 60
    reading = ask_for(call("read_result", '{"call": 1, "offset": 200}', id="r"))
    llama = CountedLlama(ask_for(call("dump")), reading, say("Done."), summaries=[say("")], context_tokens=SIZE)
    port = TablePort(spec("dump"), tools={"dump": lambda request: result(text[:700])})
    house = House(llama, port, min_room=550)
    session = await house.session(system="x" * 800)

    view = await house.run(session, "Dump. " * 20)

    shown = (await summaries(house, session))[0]
    assert (shown.covers, shown.text, shown.shortened) == (0, "", (1,))
    first, second = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    assert not first.truncated
    assert second.content.startswith(text[200:260])
    tool = next(message for message in await prompt(house, session) if message["role"] == "tool")
    assert 'read_result {"call": 1, "offset": ' in str(tool["content"])
    assert len(str(tool["content"]).encode()) <= 256
    assert view.outcome in (Outcome.ANSWERED, Outcome.SESSION_FULL)


async def test_messages_are_counted_where_that_is_asked_for() -> None:
    house = House(CountedLlama(say(WORDS), context_tokens=100_000, endless=True), compact_messages=6)
    session = await house.session()
    for number in range(8):
        await house.run(session, f"Question {number}.")

    assert len(await summaries(house, session)) >= 2
    assert all(len(request.messages) <= 7 for request in house.llama.requests)


@pytest.mark.rules("C0")
async def test_a_message_that_fits_behind_a_summary_is_taken_in_and_a_longer_one_is_refused() -> None:
    llama = talker()
    house, session = await filled(llama, turns=4)
    records = len(await house.records(session))

    with pytest.raises(RequestRefused) as caught:
        await house.start(session, "x" * SIZE * 4)

    assert caught.value.code is ProblemCode.SESSION_FULL
    assert len(await house.records(session)) == records
    assert caught.value.extensions["size_tokens"] == SIZE
    view = await house.run(session, "x" * 2400)
    assert view.outcome is Outcome.ANSWERED
    assert size_of(await prompt(house, session)) <= SIZE  # pyright: ignore[reportArgumentType]


@pytest.mark.rules("C0")
async def test_what_a_request_may_say_is_what_is_left_of_the_context() -> None:
    llama = talker()
    await filled(llama, turns=3)

    last = llama.steps[-1]
    assert abs(last.max_tokens - (SIZE - size_of(last.messages))) < SIZE / 20


@pytest.mark.rules("H10")
async def test_a_fork_takes_its_summaries_along() -> None:
    house, session = await filled(talker(), turns=6)
    turn = await house.start(session, "Last.")
    await house.finish(session, turn)
    before = [entry for entry in await house.entries(session) if entry.turn != turn]

    fork = await house.session(fork=ForkAsked(session=session, before=turn))

    projection = Projection()
    for entry in before:
        projection.apply(entry.record, entry.turn)
    assert await prompt(house, fork) == list(projection.messages)
    assert await summaries(house, fork)


@pytest.mark.rules("P5")
async def test_the_cache_that_a_compaction_costs_is_told_with_that_reason() -> None:
    house, session = await filled(talker(), turns=6)

    losses = [record for record in await house.records(session) if isinstance(record, CacheLoss)]
    assert losses
    assert {loss.reason for loss in losses} == {CacheLossReason.COMPACTED}
    summary = (await summaries(house, session))[0]
    assert losses[0].expected_tokens > summary.tokens_after
