"""A batch with a call that needs a person's word waits as a whole, and goes on when all are decided (A1 to A3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Outcome,
    ResultStatus,
    ToolCallStarted,
    ToolResult,
)
from service.core.session_status import SessionState
from service.core.views import TurnState
from tests.fakes.hand_clock import HandClock
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.approving import DENIED, EXPIRED, asking_port, decide, decision, pending_of, until_end
from tests.turns.turn_facts import results_of

pytestmark = pytest.mark.anyio

PAY = call("pay", '{"city": "Rome"}', id="p")
LOOK = call("look", '{"city": "Bonn"}', id="l")


@pytest.mark.rules("A1")
async def test_nothing_of_a_batch_runs_while_one_call_of_it_waits() -> None:
    port = asking_port()
    llama = ScriptedLlama(ask_for(LOOK, PAY), say("Paid."))
    house = House(llama, port)
    session = await house.session()

    view = await house.run(session)

    (asked,) = view.pending
    assert (view.state, view.outcome, port.calls) == (TurnState.AWAITING_APPROVAL, None, [])
    assert (asked.session, asked.turn, asked.call, asked.name) == (session, view.id, 2, "pay")
    assert (asked.title, asked.arguments, asked.expires_at) == ("Pay a bill", '{"city": "Rome"}', None)
    assert asked.reason == "This tool always asks for an approval."
    assert (await house.sessions.view(session, LOCAL_OWNER)).status.state is SessionState.AWAITING_APPROVAL
    assert house.turns.gate.in_use == 0
    assert not [record for record in await house.records(session) if isinstance(record, ToolCallStarted | ToolResult)]


@pytest.mark.rules("A1", "A2")
@pytest.mark.cases(8)
async def test_an_approved_batch_runs_as_a_whole_and_is_not_asked_about_again() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(LOOK, PAY), say("Paid.")), port)
    session = await house.session()
    view = await house.run(session)

    decided = await decide(house, view, decision(view.pending[0], reason="fine with me"))
    after = await house.finish(session, view.id)

    records = await house.records(session)
    assert decided.goes_on
    assert (after.outcome, after.content, after.pending) == (Outcome.ANSWERED, "Paid.", ())
    assert sorted(request.tool for request in port.calls) == ["look", "pay"]
    assert [record.status for record in await results_of(house, session)] == [ResultStatus.OK] * 2
    assert len([record for record in records if isinstance(record, ApprovalRequested)]) == 1
    (kept,) = [record for record in records if isinstance(record, ApprovalDecided)]
    assert (kept.call, kept.approved, kept.by, kept.reason) == (2, True, "ann", "fine with me")
    told = next(request.approval for request in port.calls if request.tool == "pay")
    assert told is not None
    assert (told.by, told.reason, told.digest) == ("ann", "fine with me", view.pending[0].digest)
    assert next(request.approval for request in port.calls if request.tool == "look") is None


@pytest.mark.rules("A1")
async def test_the_batch_waits_until_the_last_call_is_decided() -> None:
    port = asking_port()
    other = call("pay", '{"city": "Oslo"}', id="q")
    house = House(ScriptedLlama(ask_for(PAY, other), say("Done.")), port)
    session = await house.session()
    view = await house.run(session)
    first, second = view.pending

    one = await decide(house, view, decision(first))
    between = await house.sessions.turn(session, view.id, LOCAL_OWNER)
    two = await decide(house, view, decision(second, approved=False))
    after = await house.finish(session, view.id)

    assert (one.goes_on, two.goes_on) == (False, True)
    assert (between.state, between.pending) == (TurnState.AWAITING_APPROVAL, (second,))
    assert [request.arguments for request in port.calls] == [{"city": "Rome"}]
    assert [shown.status for shown in await results_of(house, session)] == [ResultStatus.OK, ResultStatus.DENIED]
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("A3")
@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (None, DENIED),
        ("too dear", '{"approved":false,"error":"denied by human approver","reason":"too dear"}'),
        ("zu teuer: 5 €", '{"approved":false,"error":"denied by human approver","reason":"zu teuer: 5 €"}'),
    ],
)
async def test_a_denied_call_is_told_to_the_model_in_fixed_words(reason: str | None, text: str) -> None:
    port = asking_port()
    llama = ScriptedLlama(ask_for(PAY), say("Then not."))
    house = House(llama, port)
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0], approved=False, reason=reason))
    after = await house.finish(session, view.id)

    (shown,) = await results_of(house, session)
    assert (shown.status, shown.content, port.calls) == (ResultStatus.DENIED, text, [])
    assert llama.requests[1].messages[-1]["content"] == text
    assert after.content == "Then not."


@pytest.mark.rules("A4")
async def test_a_denial_holds_for_the_turn_under_another_call_id_and_spelling() -> None:
    port = asking_port()
    again = call("pay", '{ "city" : "Rome" }', id="other")
    house = House(ScriptedLlama(ask_for(PAY), ask_for(again), say("Then not.")), port)
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0], approved=False))
    after = await house.finish(session, view.id)

    assert after.outcome is Outcome.ANSWERED
    assert [(shown.status, shown.content) for shown in await results_of(house, session)] == [
        (ResultStatus.DENIED, DENIED)
    ] * 2
    assert len([record for record in await house.records(session) if isinstance(record, ApprovalRequested)]) == 1


@pytest.mark.rules("A4")
async def test_the_next_turn_asks_again_about_what_was_denied() -> None:
    house = House(ScriptedLlama(ask_for(PAY), say("No."), ask_for(PAY), say("Yes.")), asking_port())
    session = await house.session()
    view = await house.run(session)
    await decide(house, view, decision(view.pending[0], approved=False))
    await house.finish(session, view.id)

    later = await house.run(session, "Once more")

    assert later.state is TurnState.AWAITING_APPROVAL


@pytest.mark.rules("A4", "T12")
async def test_asking_again_for_what_people_denied_ends_the_turn_at_the_limit() -> None:
    house = House(ScriptedLlama(ask_for(PAY), ask_for(PAY), ask_for(PAY)), asking_port())
    session = await house.session()
    view = await house.run(session)
    await decide(house, view, decision(view.pending[0], approved=False))

    after = await house.finish(session, view.id)

    assert (after.outcome, after.limit) == (Outcome.TURN_LIMIT, "denied_repeatedly")


@pytest.mark.rules("A2", "P2")
async def test_changed_arguments_are_what_runs_and_the_prompt_keeps_the_models_call() -> None:
    port = asking_port()
    llama = ScriptedLlama(ask_for(PAY), say("Paid."))
    house = House(llama, port)
    session = await house.session()
    view = await house.run(session)
    changed = '{"city": "Kiel"}'

    await decide(house, view, decision(view.pending[0], arguments=changed))
    await house.finish(session, view.id)

    (shown,) = await results_of(house, session)
    records = await house.records(session)
    started = next(record for record in records if isinstance(record, ToolCallStarted))
    said, told = llama.requests[1].messages[-2:]
    assert port.calls[0].arguments == {"city": "Kiel"}
    assert shown.content == f"Ran with arguments changed by the approver: {changed}\npay says ok"
    assert started.arguments == changed
    assert said["tool_calls"][0]["function"]["arguments"] == '{"city": "Rome"}'
    assert told["content"] == shown.content


@pytest.mark.rules("A2")
@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"digest": "sha256:0"}, ProblemCode.DIGEST_MISMATCH),
        ({"call": 7}, ProblemCode.NOT_PENDING),
        ({"call": 1}, ProblemCode.NOT_PENDING),
        ({"arguments": '{"town": 1}'}, ProblemCode.VALIDATION),
        ({"arguments": "{"}, ProblemCode.VALIDATION),
        ({"arguments": "{}", "approved": False}, ProblemCode.VALIDATION),
    ],
)
async def test_decisions_that_can_not_be_taken_leave_nothing(other: dict[str, object], code: ProblemCode) -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(LOOK, PAY, call("pay", '{"city": "Oslo"}', id="q"))), port)
    session = await house.session()
    view = await house.run(session)
    before = await house.records(session)
    first, second = view.pending

    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(second), replace(decision(first), **other))  # pyright: ignore[reportArgumentType]

    assert refused.value.code is code
    assert await house.records(session) == before
    assert port.calls == []


@pytest.mark.rules("A2")
async def test_one_call_decided_twice_in_one_request_is_refused() -> None:
    house = House(ScriptedLlama(ask_for(PAY)), asking_port())
    session = await house.session()
    view = await house.run(session)

    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0]), decision(view.pending[0], approved=False))

    assert refused.value.code is ProblemCode.VALIDATION


@pytest.mark.rules("A2")
async def test_of_two_people_who_decide_at_the_same_moment_one_wins() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY), say("Done.")), port)
    session = await house.session()
    view = await house.run(session)
    (asked,) = view.pending

    ends = await asyncio.gather(
        decide(house, view, decision(asked), by="ann"),
        decide(house, view, decision(asked, approved=False), by="bob"),
        return_exceptions=True,
    )
    after = await house.finish(session, view.id)

    refused = [end for end in ends if isinstance(end, RequestRefused)]
    decided = [record for record in await house.records(session) if isinstance(record, ApprovalDecided)]
    assert [end.code for end in refused] == [ProblemCode.NOT_PENDING]
    assert [record.by for record in decided] == ["ann"]
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("A2")
async def test_the_same_decision_again_changes_nothing_while_it_waits_while_it_runs_and_after_the_end() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY, call("pay", '{"city": "Oslo"}', id="q")), say("Done.")), port)
    session = await house.session()
    view = await house.run(session)
    first, second = view.pending

    one = await decide(house, view, decision(first))
    while_others_wait = await decide(house, view, decision(first))
    two = await decide(house, view, decision(second))
    while_it_runs = await decide(house, view, decision(second))
    await house.finish(session, view.id)
    after_the_end = await decide(house, view, decision(first), decision(second))

    assert (one, two) == (while_others_wait, while_it_runs)
    assert (one.goes_on, two.goes_on, after_the_end.goes_on) == (False, True, True)
    assert after_the_end.after_pos == one.after_pos
    assert len([record for record in await house.records(session) if isinstance(record, ApprovalDecided)]) == 2
    assert len(port.calls) == 2


@pytest.mark.rules("A2")
async def test_another_decision_of_a_turn_that_has_ended_is_refused() -> None:
    house = House(ScriptedLlama(ask_for(PAY), say("Done.")), asking_port())
    session = await house.session()
    view = await house.run(session)
    await decide(house, view, decision(view.pending[0]))
    await house.finish(session, view.id)

    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0], approved=False))

    assert refused.value.code is ProblemCode.NOT_PENDING


@pytest.mark.rules("A6", "A3")
async def test_an_approval_that_nobody_gives_expires_and_the_turn_goes_on() -> None:
    clock = HandClock()
    port = asking_port()
    house = House(ScriptedLlama(ask_for(LOOK, PAY), say("Nobody was there.")), port, clock=clock, approval_wait_s=60)
    session = await house.session()
    view = await house.run(session)
    assert view.pending[0].expires_at == view.pending[0].asked_at.replace(minute=1)
    await clock.asleep.wait()

    clock.pass_s(60)
    after = await until_end(house, view)

    assert [(shown.status, shown.content) for shown in await results_of(house, session)] == [
        (ResultStatus.OK, "look says ok"),
        (ResultStatus.DENIED, EXPIRED),
    ]
    assert (after.outcome, after.content) == (Outcome.ANSWERED, "Nobody was there.")
    assert await pending_of(house) == []
