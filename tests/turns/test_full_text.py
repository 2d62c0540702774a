"""T9: the whole text of a tool's result, for whoever may read its session."""

from __future__ import annotations

import pytest

from service.codec import encode_record
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.core.records import Entry, Record, ResultStatus, Resumed, ToolResult
from service.core.session_status import SessionStatus
from service.ports import RecordDraft
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T9")]

TURN = TurnId("trn_1")
WHOLE = "\ufeffhead\r\n\U0001f9f5 middle\u2028tail"


def a_result(content: str, *, truncated: bool) -> ToolResult:
    return ToolResult(
        call=1, tool_call_id="c1", name="look", status=ResultStatus.OK, content=content, truncated=truncated
    )


async def append(house: House, session: SessionId, seq: int, record: Record, full: str | None = None) -> None:
    """Append a record past the turn's own rules, which are not what is looked at here."""
    entry = Entry(session=session, turn=TURN, seq=seq, time=house.clock.now(), record=record)
    draft = RecordDraft(
        turn=TURN, type=record.type, body=encode_record(entry), full=None if full is None else full.encode()
    )
    await house.log.append(session, seq - 1, [draft], SessionStatus(), house.clock.now())


async def refused(house: House, session: SessionId, seq: int, owner: OwnerId = LOCAL_OWNER) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        await house.sessions.full_text(session, owner, seq)
    assert caught.value.code is ProblemCode.NOT_FOUND
    return caught.value


@pytest.mark.parametrize("full", [WHOLE, ""])
async def test_of_a_cut_result_the_text_that_was_kept_is_given(full: str) -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, a_result("head tail", truncated=True), full)

    assert await house.sessions.full_text(session, LOCAL_OWNER, 2) == full


async def test_a_result_that_was_not_cut_is_its_own_full_text() -> None:
    house = House(ScriptedLlama(ask_for(call("clock")), say("It is noon.")), TablePort(spec("clock")))
    session = await house.session()
    await house.run(session)
    (entry,) = [entry for entry in await house.entries(session) if isinstance(entry.record, ToolResult)]
    assert isinstance(entry.record, ToolResult)

    assert await house.sessions.full_text(session, LOCAL_OWNER, entry.seq) == entry.record.content != ""


async def test_of_a_cut_result_without_a_kept_text_what_there_is_is_given() -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, a_result("as much as was read", truncated=True))

    assert await house.sessions.full_text(session, LOCAL_OWNER, 2) == "as much as was read"


async def test_only_the_record_that_is_named_counts() -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, a_result("second", truncated=False))
    await append(house, session, 3, a_result("third", truncated=True), "the whole third")

    assert await house.sessions.full_text(session, LOCAL_OWNER, 2) == "second"
    assert await house.sessions.full_text(session, LOCAL_OWNER, 3) == "the whole third"


async def test_a_record_that_is_no_result_has_no_full_text_and_is_told_so() -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, Resumed(attempt=1))

    told = [(await refused(house, session, seq)).detail for seq in (1, 2)]

    assert all("only a tool_result has a full text" in detail for detail in told)
    assert ["'session_created'" in told[0], "'resumed'" in told[1]] == [True, True]


@pytest.mark.parametrize("seq", [-1, 0, 3, 2**63 - 1])
async def test_a_record_that_is_not_there_is_not_found(seq: int) -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, a_result("second", truncated=False))

    assert (await refused(house, session, seq)).detail == f"There is no record {seq} in this session."


@pytest.mark.rules("K3")
async def test_a_full_text_is_not_there_for_anyone_but_the_owner() -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, a_result("head tail", truncated=True), WHOLE)

    stranger = await refused(house, session, 2, OwnerId("stranger"))
    nobody = await refused(house, SessionId("ses_none"), 2)

    assert stranger.detail.replace(session, "ses_none") == nobody.detail


@pytest.mark.rules("H9")
async def test_a_full_text_is_gone_with_its_session() -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    await append(house, session, 2, a_result("head tail", truncated=True), WHOLE)

    await house.sessions.delete(session, LOCAL_OWNER)

    await refused(house, session, 2)
    assert await house.log.full_text(session, 2) is None
