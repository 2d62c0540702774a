"""A port may ask for an approval of its own call; the other calls of the batch end first (A1b)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.ids import LOCAL_OWNER
from service.core.records import ApprovalRequested, Outcome, ResultStatus, ToolCallStarted, ToolResult
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest
from service.core.views import TurnState
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.approving import DENIED, decide, decision, port_that_asks
from tests.turns.turn_facts import restarted, results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("A1b")]

TRANSFER = call("transfer", '{"city": "Rome"}', id="t")
LOOK = call("look", id="l")
PENDING = ToolAnswer(status=AnswerStatus.PENDING_APPROVAL, text="over 100 euros")


async def test_the_other_calls_end_first_and_then_the_turn_waits_for_the_one() -> None:
    port = port_that_asks("transfer")
    house = House(ScriptedLlama(ask_for(TRANSFER, LOOK), say("Sent.")), port)
    session = await house.session()

    view = await house.run(session)

    kinds = [type(record) for record in await house.records(session)]
    (asked,) = view.pending
    assert view.state is TurnState.AWAITING_APPROVAL
    assert (asked.call, asked.name, asked.reason) == (
        1,
        "transfer",
        "The tool port asks for an approval: over 100 euros",
    )
    assert kinds.index(ToolResult) < kinds.index(ApprovalRequested)
    assert [shown.name for shown in await results_of(house, session)] == ["look"]


async def test_an_approved_call_is_sent_again_with_the_approval_and_another_key() -> None:
    port = port_that_asks("transfer")
    house = House(ScriptedLlama(ask_for(TRANSFER), say("Sent.")), port)
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0], reason="as agreed"), by="ann")
    after = await house.finish(session, view.id)

    first, second = port.calls
    assert (first.idempotency_key, first.approval) == (f"{session}/1", None)
    assert second.idempotency_key == f"{session}/1/approved"
    assert second.approval is not None
    assert (second.approval.by, second.approval.reason) == ("ann", "as agreed")
    assert second.approval.digest == view.pending[0].digest
    assert [shown.content for shown in await results_of(house, session)] == ["done"]
    assert after.content == "Sent."
    assert len([record for record in await house.records(session) if isinstance(record, ToolCallStarted)]) == 2


async def test_a_denied_call_is_not_sent_again() -> None:
    port = port_that_asks("transfer")
    house = House(ScriptedLlama(ask_for(TRANSFER), say("Not sent.")), port)
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0], approved=False))
    await house.finish(session, view.id)

    assert [(shown.status, shown.content) for shown in await results_of(house, session)] == [
        (ResultStatus.DENIED, DENIED)
    ]
    assert len(port.calls) == 1


@pytest.mark.rules("A1")
@pytest.mark.parametrize("asks_always", [True, False])
async def test_a_port_that_asks_again_for_what_was_approved_has_failed(asks_always: bool) -> None:
    port = TablePort(spec("transfer", needs_approval=asks_always), tools={"transfer": lambda request: PENDING})
    house = House(ScriptedLlama(ask_for(TRANSFER), say("It did not work.")), port)
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0]))
    after = await house.finish(session, view.id)

    (shown,) = await results_of(house, session)
    assert (shown.status, after.outcome) == (ResultStatus.FAILED, Outcome.ANSWERED)
    assert shown.content == ("The tool failed: the tool port asked for an approval although the call was approved")
    assert len([record for record in await house.records(session) if isinstance(record, ApprovalRequested)]) == 1


async def test_several_calls_that_the_port_asks_about_are_asked_about_together() -> None:
    port = port_that_asks("transfer", reason="")
    other = call("transfer", '{"city": "Oslo"}', id="u")
    house = House(ScriptedLlama(ask_for(TRANSFER, LOOK, other), say("Both.")), port)
    session = await house.session()

    view = await house.run(session)

    assert [asked.call for asked in view.pending] == [1, 3]
    assert {asked.reason for asked in view.pending} == {"The tool port asks for an approval."}
    await decide(house, view, *(decision(asked) for asked in view.pending))
    assert (await house.finish(session, view.id)).content == "Both."


@pytest.mark.rules("S4")
async def test_a_restart_after_the_approval_sends_the_call_with_its_approval() -> None:
    port = port_that_asks("transfer")
    house = House(ScriptedLlama(ask_for(TRANSFER)), port)
    session = await house.session()
    view = await house.run(session)

    second = await restarted(house, ScriptedLlama(say("Sent.")))
    await decide(second, view, decision(view.pending[0]))
    after = await second.finish(session, view.id)

    assert [request.idempotency_key for request in port.calls] == [f"{session}/1", f"{session}/1/approved"]
    assert after.content == "Sent."


@pytest.mark.rules("S4")
@pytest.mark.parametrize("idempotent", [True, False])
async def test_an_approved_call_in_flight_at_a_kill_runs_again_only_if_it_is_idempotent(idempotent: bool) -> None:
    def transfer(request: ToolRequest) -> ToolAnswer:
        return PENDING if request.approval is None else ToolAnswer(status=AnswerStatus.RESULT, text="done")

    port = TablePort(spec("transfer", idempotent=idempotent), tools={"transfer": transfer})
    house = House(ScriptedLlama(ask_for(TRANSFER)), port)
    session = await house.session()
    view = await house.run(session)
    port.hold = asyncio.Event()
    port.arrived.clear()
    await decide(house, view, decision(view.pending[0]))
    await port.arrived.wait()

    second = await restarted(house, ScriptedLlama(say("Well.")))
    await second.finish(session, view.id)

    keys = [request.idempotency_key for request in port.calls]
    (shown,) = await results_of(second, session)
    approved = f"{session}/1/approved"
    assert keys == [f"{session}/1", approved, approved][: 3 if idempotent else 2]
    assert shown.status is (ResultStatus.OK if idempotent else ResultStatus.INTERRUPTED)


@pytest.mark.rules("T13")
async def test_a_cancel_while_the_port_waits_for_people_leaves_no_call_open() -> None:
    port = port_that_asks("transfer")
    house = House(ScriptedLlama(ask_for(TRANSFER, LOOK), say("Hello.")), port)
    session = await house.session()
    view = await house.run(session)

    await house.sessions.cancel(session, view.id, LOCAL_OWNER)
    after = await house.run(session, "Hello")

    assert [shown.status for shown in await results_of(house, session)] == [ResultStatus.CANCELLED, ResultStatus.OK]
    assert after.content == "Hello."


async def test_a_long_reason_of_the_port_is_shown_in_part() -> None:
    port = port_that_asks("transfer", reason="why " * 1000)
    house = House(ScriptedLlama(ask_for(TRANSFER)), port)
    session = await house.session()

    view = await house.run(session)

    assert len(view.pending[0].reason) < 600
    assert view.pending[0].reason.endswith("…")
