"""A turn that waits for people outlives restarts, takes no time of its own, and can be cancelled (A6, T12, T13, H4)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.baseline import Limits
from service.core.errors import ErrorKind, ModelFailure, ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.records import ApprovalRequested, Limit, Outcome, ResultStatus, Resumed
from service.core.request_key import RequestKey
from service.core.views import TurnState
from service.turns.requests import OnBusy
from tests.fakes.hand_clock import HandClock
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.turns.approving import EXPIRED, asking_port, decide, decision, pending_of, until_end
from tests.turns.turn_facts import restarted, results_of

pytestmark = pytest.mark.anyio

PAY = call("pay", '{"city": "Rome"}', id="p")


@pytest.mark.rules("A6", "S4")
@pytest.mark.cases(7)
async def test_a_restart_between_question_and_decision_loses_neither_and_the_call_runs_once() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY)), port)
    session = await house.session()
    view = await house.run(session)

    second = await restarted(house, ScriptedLlama(say("Paid.")))
    waiting = await pending_of(second)
    await decide(second, view, decision(waiting[0]))
    after = await second.finish(session, view.id)

    assert list(view.pending) == list(waiting)
    assert (after.outcome, after.content, len(port.calls)) == (Outcome.ANSWERED, "Paid.", 1)


@pytest.mark.rules("A6", "S4")
async def test_restarts_while_a_turn_waits_are_not_counted_as_restarts_in_vain() -> None:
    house = House(ScriptedLlama(ask_for(PAY)), asking_port())
    session = await house.session()
    view = await house.run(session)

    for _ in range(5):
        house = await restarted(house, ScriptedLlama(say("Paid.")))
    await decide(house, view, decision(view.pending[0]))
    after = await house.finish(session, view.id)

    assert after.outcome is Outcome.ANSWERED
    assert not [record for record in await house.records(session) if isinstance(record, Resumed)]


@pytest.mark.rules("A2", "S4")
async def test_a_restart_between_two_decisions_keeps_the_first() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY, call("pay", '{"city": "Oslo"}', id="q"))), port)
    session = await house.session()
    view = await house.run(session)
    await decide(house, view, decision(view.pending[0], approved=False))

    second = await restarted(house, ScriptedLlama(say("One of two.")))
    await decide(second, view, decision(view.pending[1]))
    await second.finish(session, view.id)

    assert [shown.status for shown in await results_of(second, session)] == [ResultStatus.DENIED, ResultStatus.OK]
    assert [request.arguments for request in port.calls] == [{"city": "Oslo"}]


@pytest.mark.rules("A6")
async def test_an_approval_that_expired_while_the_service_was_down_is_closed_at_the_start() -> None:
    clock = HandClock()
    house = House(ScriptedLlama(ask_for(PAY)), asking_port(), clock=clock, approval_wait_s=60)
    session = await house.session()
    view = await house.run(session)

    second = await restarted(house, ScriptedLlama(say("Too late.")), clock=HandClock(passed_s=61))
    after = await until_end(second, view)

    assert after.content == "Too late."
    assert [shown.content for shown in await results_of(second, session)] == [EXPIRED]


@pytest.mark.rules("A6", "A2")
async def test_a_decision_that_comes_after_the_time_is_refused() -> None:
    clock = HandClock()
    house = House(ScriptedLlama(ask_for(PAY), say("Too late.")), asking_port(), clock=clock, approval_wait_s=60)
    session = await house.session()
    view = await house.run(session)
    await clock.asleep.wait()
    clock.pass_s(60)

    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0]))

    assert refused.value.code is ProblemCode.NOT_PENDING
    assert (await until_end(house, view)).content == "Too late."


@pytest.mark.rules("A6")
async def test_what_waits_is_listed_over_all_sessions_what_was_asked_first_before_the_others() -> None:
    house = House(ScriptedLlama(ask_for(PAY), ask_for(PAY), say("Done.")), asking_port())
    first, second = await house.session(), await house.session()
    later = await house.run(second)
    earlier = await house.run(first)

    both = await pending_of(house)
    await decide(house, later, decision(later.pending[0]))
    await house.finish(second, later.id)
    left = await pending_of(house)

    assert [asked.session for asked in both] == [second, first]
    assert list(left) == list(earlier.pending)


@pytest.mark.rules("H4")
async def test_a_session_that_waits_is_busy_and_a_queued_turn_comes_behind_the_decision() -> None:
    house = House(ScriptedLlama(ask_for(PAY), say("Paid."), say("Next.")), asking_port())
    session = await house.session()
    view = await house.run(session)

    with pytest.raises(RequestRefused) as refused:
        await house.start(session, "Another")
    queued = await house.start(session, "Behind it", on_busy=OnBusy.QUEUE)
    await decide(house, view, decision(view.pending[0]))
    after = await house.finish(session, queued)

    assert refused.value.code is ProblemCode.TURN_IN_PROGRESS
    assert after.content == "Next."
    assert (await house.sessions.turn(session, view.id, LOCAL_OWNER)).content == "Paid."


@pytest.mark.rules("H4", "T13")
async def test_an_interrupting_message_cancels_the_turn_that_waits() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY), say("Something else.")), port)
    session = await house.session()
    view = await house.run(session)

    other = await house.run(session, "Something else", on_busy=OnBusy.INTERRUPT)

    waited = await house.sessions.turn(session, view.id, LOCAL_OWNER)
    assert (waited.outcome, other.content, port.calls) == (Outcome.CANCELLED, "Something else.", [])
    assert await pending_of(house) == []


@pytest.mark.rules("T13")
@pytest.mark.cases(2)
async def test_a_cancel_closes_what_waits_and_it_leaves_the_list() -> None:
    port = asking_port()
    llama = ScriptedLlama(ask_for(PAY, call("look", id="l")), say("Hello again."))
    house = House(llama, port)
    session = await house.session()
    view = await house.run(session)

    ended, _ = await house.sessions.cancel(session, view.id, LOCAL_OWNER)
    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0]))
    after = await house.run(session, "Hello")

    assert (ended.outcome, ended.pending, port.calls) == (Outcome.CANCELLED, (), [])
    assert [(shown.status, shown.content) for shown in await results_of(house, session)] == [
        (ResultStatus.CANCELLED, "The call was cancelled before anyone had decided on it; it was not run."),
        (ResultStatus.NOT_RUN, "The call was not run: the turn ended before it was sent."),
    ]
    assert refused.value.code is ProblemCode.NOT_PENDING
    assert await pending_of(house) == []
    assert after.content == "Hello again."


@pytest.mark.rules("T12")
@pytest.mark.parametrize(("step_s", "limit"), [(4, None), (5, Limit.TURN_TIME)])
async def test_the_time_in_which_people_are_waited_for_is_not_the_turns(step_s: int, limit: Limit | None) -> None:
    clock = HandClock()
    thinking = say("Paid.", before_end=asyncio.Event())
    house = House(ScriptedLlama(ask_for(PAY), thinking), asking_port(), clock=clock, limits=Limits(turn_time_s=5))
    session = await house.session()
    view = await house.run(session)

    clock.pass_s(3600)
    await decide(house, view, decision(view.pending[0]))
    await thinking.streaming.wait()
    clock.pass_s(step_s)
    assert thinking.before_end is not None
    if limit is None:
        thinking.before_end.set()
    after = await until_end(house, view)

    assert after.limit is limit


@pytest.mark.rules("T12", "S4")
async def test_the_wait_is_taken_off_after_a_restart_as_well() -> None:
    clock = HandClock()
    house = House(ScriptedLlama(ask_for(PAY)), asking_port(), clock=clock, limits=Limits(turn_time_s=5))
    session = await house.session()
    view = await house.run(session)

    second = await restarted(house, ScriptedLlama(say("Paid.")), clock=HandClock(passed_s=3600))
    await decide(second, view, decision(view.pending[0]))
    after = await second.finish(session, view.id)

    assert (after.outcome, after.limit) == (Outcome.ANSWERED, None)


@pytest.mark.rules("A1")
@pytest.mark.cases(6)
async def test_a_model_that_fails_behind_an_approved_call_does_not_run_it_again() -> None:
    port = asking_port()
    broken = Play(at_once=ModelFailure(ErrorKind.STREAM_CLOSED, "gone"))
    llama = ScriptedLlama(ask_for(PAY), broken, broken, broken, say("It was paid before."))
    house = House(llama, port)
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0]))
    failed = await house.finish(session, view.id)
    after = await house.run(session, "And now?")

    assert (failed.outcome, after.content) == (Outcome.FAILED, "It was paid before.")
    assert len(port.calls) == 1
    assert "pay says ok" in [message["content"] for message in llama.requests[-1].messages]


@pytest.mark.rules("A6", "H8")
async def test_a_stopping_service_does_not_wait_for_people() -> None:
    house = House(ScriptedLlama(ask_for(PAY)), asking_port())
    session = await house.session()
    view = await house.run(session)

    await house.sessions.shut_down(3600)

    assert (await house.sessions.turn(session, view.id, LOCAL_OWNER)).state is TurnState.AWAITING_APPROVAL
    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0]))
    assert refused.value.code is ProblemCode.SHUTTING_DOWN


@pytest.mark.rules("H3", "A2")
async def test_a_key_used_again_with_other_decisions_is_refused_and_with_the_same_ones_changes_nothing() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY, call("pay", '{"city": "Oslo"}', id="q")), say("Done.")), port)
    session = await house.session()
    view = await house.run(session)
    first, second = view.pending

    def key(body: bytes) -> RequestKey:
        return RequestKey(owner=LOCAL_OWNER, method="POST", path="/decisions", key="k1", body=body)

    one = await house.sessions.decide(session, view.id, LOCAL_OWNER, [decision(first)], by="ann", key=key(b"1"))
    again = await house.sessions.decide(session, view.id, LOCAL_OWNER, [decision(first)], by="ann", key=key(b"1"))
    with pytest.raises(RequestRefused) as refused:
        await house.sessions.decide(session, view.id, LOCAL_OWNER, [decision(second)], by="ann", key=key(b"2"))

    assert one == again
    assert refused.value.code is ProblemCode.IDEMPOTENCY_MISMATCH
    assert len([record for record in await house.records(session) if isinstance(record, ApprovalRequested)]) == 1
