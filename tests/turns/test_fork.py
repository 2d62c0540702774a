"""A fork goes on from before a turn, and its source doesn't notice (H10)."""

from __future__ import annotations

import pytest

from service.core import chain
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.core.records import SessionCreated, ToolResult
from service.turns.requests import ForkAsked, SessionAsked
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H10")]


async def fork(house: House, session: SessionId, before: TurnId, **other: object) -> SessionId:
    return await house.session(fork=ForkAsked(session=session, before=before), **other)


async def refusal(awaitable: object) -> ProblemCode:
    with pytest.raises(RequestRefused) as caught:
        await awaitable  # pyright: ignore[reportGeneralTypeIssues]
    return caught.value.code


async def test_a_turn_is_run_another_way_from_the_same_place() -> None:
    script = [say("Red."), say("Four."), say("Five.")]
    house = House(ScriptedLlama(*script))
    session = await house.session(system="Be brief.", sampling={"seed": 7})
    await house.run(session, "A colour?")
    second = await house.run(session, "Two and two?")

    forked = await fork(house, session, second.id, title="Another way")
    view = await house.run(forked, "Two and three?")

    assert view.content == "Five."
    requests = house.llama.requests
    assert requests[2].messages[:-1] == requests[1].messages[:-1]
    assert requests[2].messages[-1]["content"] == "Two and three?"
    assert requests[2].sampling == {"seed": 7}
    source = await house.sessions.view(session, LOCAL_OWNER)
    shown = await house.sessions.view(forked, LOCAL_OWNER)
    assert (shown.title, shown.baseline) == ("Another way", source.baseline)
    assert len(await house.sessions.turns(session, LOCAL_OWNER)) == 2
    assert len(await house.sessions.turns(forked, LOCAL_OWNER)) == 2


@pytest.mark.rules("S3")
async def test_a_fork_names_its_source_and_the_hash_of_all_that_it_took() -> None:
    house = House(ScriptedLlama(say("Red."), say("Four.")))
    session = await house.session()
    await house.run(session, "A colour?")
    second = await house.run(session, "Two and two?")
    forked = await fork(house, session, second.id)

    stored = await house.log.read(forked)
    source = await house.log.read(session)
    created = (await house.records(forked))[0]
    assert isinstance(created, SessionCreated)
    assert created.fork is not None
    assert (created.fork.session, created.fork.seq) == (session, second.first_seq - 1)
    assert created.fork.hash == source[created.fork.seq - 1].hash.hex()
    assert [record.seq for record in stored] == list(range(1, second.first_seq))
    last = chain.GENESIS
    for record in stored:
        last = chain.link(last, record.body)
        assert record.hash == last
    assert (await house.sessions.view(forked, LOCAL_OWNER)).fork == created.fork


async def test_before_the_first_turn_nothing_but_the_baseline_is_taken() -> None:
    house = House(ScriptedLlama(say("Red."), say("Blue.")))
    session = await house.session(system="Be brief.")
    first = await house.run(session, "A colour?")
    forked = await fork(house, session, first.id)
    assert len(await house.records(forked)) == 1
    await house.run(forked, "Another?")
    assert [message["content"] for message in house.llama.requests[1].messages] == ["Be brief.", "Another?"]


@pytest.mark.rules("T9")
async def test_a_cut_result_can_be_read_on_in_a_fork_too() -> None:
    text = "".join(f"line {number}\n" for number in range(3000))
    read = ask_for(call("read_result", '{"call": 1, "offset": 9000}', id="b"))
    script = [ask_for(call("long", id="a")), say("Long."), say("Next."), read, say("Read.")]
    port = TablePort(spec("long"), tools={"long": lambda _: result(text)})
    house = House(ScriptedLlama(*script), port)
    session = await house.session()
    await house.run(session, "Look it up.")
    second = await house.run(session, "And now?")
    forked = await fork(house, session, second.id)
    await house.sessions.delete(session, LOCAL_OWNER)

    await house.run(forked, "Read on.")

    results = [record for record in await house.records(forked) if isinstance(record, ToolResult)]
    assert results[-1].content.startswith(text[9000:9100])
    assert await house.sessions.full_text(forked, LOCAL_OWNER, 6) == text


async def test_a_fork_of_a_fork_and_of_a_session_that_runs_on_is_as_good() -> None:
    house = House(ScriptedLlama(say("1"), say("2"), say("3"), say("4")))
    session = await house.session()
    await house.run(session, "one")
    second = await house.run(session, "two")
    child = await fork(house, session, second.id)
    third = await house.run(child, "three")
    grandchild = await fork(house, child, third.id)
    await house.run(grandchild, "four")
    assert [message["content"] for message in house.llama.requests[3].messages] == ["one", "1", "four"]


async def test_what_is_not_there_or_not_yours_can_not_be_forked() -> None:
    house = House(ScriptedLlama(say("1")))
    session = await house.session()
    turn = await house.run(session, "one")
    assert await refusal(fork(house, session, TurnId("trn_x"))) is ProblemCode.NOT_FOUND
    assert await refusal(fork(house, SessionId("ses_x"), turn.id)) is ProblemCode.NOT_FOUND
    asked = SessionAsked(fork=ForkAsked(session=session, before=turn.id))
    assert await refusal(house.sessions.create(asked, OwnerId("stranger"))) is ProblemCode.NOT_FOUND
