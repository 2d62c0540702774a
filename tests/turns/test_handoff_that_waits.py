"""A child that waits for people, or was interrupted by a restart, has its parent wait with it (G2, A6, S4, T12)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.baseline import Limits
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import (
    ChildLink,
    HandoffReturned,
    HandoffStarted,
    Limit,
    Outcome,
    ResultStatus,
    Resumed,
    SessionCreated,
)
from service.core.session_status import SessionState
from service.core.views import TurnState
from tests.fakes.clock import SteppingClock
from tests.fakes.hand_clock import HandClock
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port, decide, decision, pending_of, until_end
from tests.turns.handing_over import AGENTS, child_session, children_of, hand_over
from tests.turns.turn_facts import LaterIds, results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("G2")]

PAY = call("pay", '{"city": "Rome"}', id="p")


def house_over(house: House, llama: ScriptedLlama, clock: SteppingClock | None = None) -> House:
    """A second start of the service over the same log."""
    return House(llama, house.port, log=house.log, ids=LaterIds(), agents=AGENTS, clock=clock)


async def restarted(house: House, llama: ScriptedLlama, clock: SteppingClock | None = None) -> House:
    """Stop the service where it is, and start a second one over its log."""
    await house.sessions.shut_down(0)
    second = house_over(house, llama, clock)
    await second.sessions.resume_unfinished()
    return second


async def stopped_with_a_child() -> tuple[House, SessionId, TurnId, ChildLink]:
    """A service that was stopped while a child's answer was streaming, its session and turn, and the child."""
    held = say("never", before_end=asyncio.Event())
    house = House(ScriptedLlama(ask_for(hand_over()), held), agents=AGENTS)
    session = await house.session()
    turn = await house.start(session)
    await held.streaming.wait()
    await house.sessions.shut_down(0)
    (link,) = await children_of(house, session)
    return house, session, turn, link


@pytest.mark.rules("A1", "A6")
async def test_while_the_child_waits_its_parent_does_and_shows_what_for() -> None:
    house = House(ScriptedLlama(ask_for(hand_over()), ask_for(PAY)), asking_port(), agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    child = await child_session(house, session)
    (asked,) = view.pending
    shown = await house.sessions.view(session, LOCAL_OWNER)
    assert (view.state, asked.session, asked.name) == (TurnState.AWAITING_APPROVAL, child, "pay")
    assert shown.status.state is SessionState.AWAITING_APPROVAL
    assert list(await pending_of(house)) == [asked]


@pytest.mark.rules("A2")
@pytest.mark.parametrize("through_parent", [True, False])
async def test_a_decision_reaches_the_child_by_its_own_address_and_by_its_parents(through_parent: bool) -> None:
    port = asking_port()
    house = House(
        ScriptedLlama(ask_for(hand_over()), ask_for(PAY), say("Paid."), say("All done.")), port, agents=AGENTS
    )
    session = await house.session()
    view = await house.run(session)
    (asked,) = view.pending
    below = await house.sessions.turn(asked.session, asked.turn, LOCAL_OWNER)

    decided = await decide(house, view if through_parent else below, decision(asked))
    after = await until_end(house, view)

    assert decided.goes_on
    assert (after.outcome, after.content, len(port.calls)) == (Outcome.ANSWERED, "All done.", 1)


async def test_a_child_of_a_child_that_waits_is_shown_at_the_top() -> None:
    house = House(
        ScriptedLlama(ask_for(hand_over()), ask_for(hand_over("desk")), ask_for(PAY), *map(say, "abc")),
        asking_port(),
        agents=AGENTS,
    )
    session = await house.session()
    view = await house.run(session)

    await decide(house, view, decision(view.pending[0]))
    after = await until_end(house, view)

    assert after.content == "c"


@pytest.mark.rules("T13")
async def test_a_cancel_of_the_parent_takes_what_its_child_waits_for_off_the_list() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(hand_over()), ask_for(PAY)), port, agents=AGENTS)
    session = await house.session()
    view = await house.run(session)
    (asked,) = view.pending

    ended, _ = await house.sessions.cancel(session, view.id, LOCAL_OWNER)

    below = await house.sessions.turn(asked.session, asked.turn, LOCAL_OWNER)
    assert (ended.outcome, below.outcome, port.calls) == (Outcome.CANCELLED, Outcome.CANCELLED, [])
    assert await pending_of(house) == []
    returned = next(record for record in await house.records(session) if isinstance(record, HandoffReturned))
    assert returned.outcome is Outcome.CANCELLED


@pytest.mark.rules("A6", "S4")
@pytest.mark.cases(7)
async def test_restarts_while_the_child_waits_lose_nothing_and_count_against_neither() -> None:
    house = House(ScriptedLlama(ask_for(hand_over()), ask_for(PAY)), asking_port(), agents=AGENTS)
    session = await house.session()
    view = await house.run(session)
    for _ in range(5):
        house = await restarted(house, ScriptedLlama(say("Paid."), say("All done.")))

    await decide(house, view, decision(view.pending[0]))
    after = await until_end(house, view)

    assert (after.outcome, after.content) == (Outcome.ANSWERED, "All done.")
    for one in (session, view.pending[0].session):
        assert not [record for record in await house.records(one) if isinstance(record, Resumed)]


@pytest.mark.rules("S4")
async def test_a_kill_while_the_child_runs_goes_on_with_both_and_makes_no_second_child() -> None:
    asked = say("Green", before_end=asyncio.Event())
    house = House(ScriptedLlama(ask_for(hand_over()), asked), agents=AGENTS)
    session = await house.session()
    turn = await house.start(session)
    await asked.streaming.wait()

    second = await restarted(house, ScriptedLlama(say("Green."), say("Done.")))
    view = await second.finish(session, turn)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Done.")
    assert len(await children_of(second, session)) == 1
    assert len(await second.log.sessions(owner=LOCAL_OWNER, limit=10)) == 2


@pytest.mark.rules("S4")
async def test_a_child_that_was_named_but_not_made_before_a_kill_is_made_at_the_start() -> None:
    house, session, turn, link = await stopped_with_a_child()
    child = link.session
    # As a kill between the two writes leaves it.
    await house.log.delete_session(child)

    second = house_over(house, ScriptedLlama(say("Green."), say("Done.")))
    await second.sessions.resume_unfinished()
    view = await second.finish(session, turn)

    created = (await second.records(child))[0]
    assert isinstance(created, SessionCreated)
    assert (view.content, await child_session(second, session)) == ("Done.", child)


@pytest.mark.rules("S4")
async def test_a_child_that_ended_while_its_parent_was_away_is_not_run_again() -> None:
    house, session, turn, link = await stopped_with_a_child()
    child = link.session
    between = house_over(house, ScriptedLlama(say("Green.")))
    row = await between.log.session(child)
    assert row is not None
    await between.turns.sessions._live.resume(row)  # pyright: ignore[reportPrivateUsage]
    await between.finish(child, link.turn)

    llama = ScriptedLlama(say("Done."))
    second = house_over(house, llama)
    await second.sessions.resume_unfinished()
    view = await second.finish(session, turn)

    assert (view.content, len(llama.requests)) == ("Done.", 1)


@pytest.mark.rules("T13", "S4")
async def test_a_child_that_nothing_runs_is_ended_with_its_parent() -> None:
    house, _, turn, link = await stopped_with_a_child()

    second = house_over(house, ScriptedLlama())
    await second.turns.sessions._live.cancel_turn(link.session, link.turn)  # pyright: ignore[reportPrivateUsage]
    await second.turns.sessions._live.cancel_turn(link.session, link.turn)  # pyright: ignore[reportPrivateUsage]

    below = await second.sessions.turn(link.session, link.turn, LOCAL_OWNER)
    assert below.outcome is Outcome.CANCELLED
    assert turn != link.turn


@pytest.mark.rules("T12")
@pytest.mark.parametrize(("step_s", "limit"), [(4, None), (6, Limit.TURN_TIME)])
async def test_the_parents_time_stands_still_while_its_child_waits_for_people(step_s: int, limit: Limit | None) -> None:
    clock = HandClock()
    held = say("Paid.", before_end=asyncio.Event())
    house = House(
        ScriptedLlama(ask_for(hand_over()), ask_for(PAY), held, say("All done.")),
        asking_port(),
        agents=AGENTS,
        clock=clock,
        limits=Limits(turn_time_s=5),
    )
    session = await house.session()
    view = await house.run(session)
    await clock.asleep.wait()

    clock.pass_s(3600)
    await decide(house, view, decision(view.pending[0]))
    await held.streaming.wait()
    clock.pass_s(step_s)
    assert held.before_end is not None
    if limit is None:
        held.before_end.set()
    after = await until_end(house, view)

    returned = [record for record in await house.records(session) if isinstance(record, HandoffReturned)]
    assert after.limit is limit
    if limit is None:
        assert returned[0].waited_s == 3600


@pytest.mark.rules("H9")
async def test_deleting_a_parent_takes_its_child_and_what_that_waits_for_along() -> None:
    house = House(ScriptedLlama(ask_for(hand_over()), ask_for(PAY)), asking_port(), agents=AGENTS)
    session = await house.session()
    view = await house.run(session)

    await house.sessions.delete(session, LOCAL_OWNER)

    with pytest.raises(RequestRefused) as refused:
        await house.sessions.view(view.pending[0].session, LOCAL_OWNER)
    assert refused.value.code is ProblemCode.NOT_FOUND
    assert await pending_of(house) == []


@pytest.mark.rules("T5", "A7")
async def test_a_child_of_a_session_with_untrusted_text_asks_before_it_acts_outside() -> None:
    port = asking_port()
    port.listed += [
        {"name": "read", "description": "Reads.", "parameters": {"type": "object"}, "untrusted": True},
        {"name": "mail", "description": "Mails.", "parameters": {"type": "object"}, "acts_outside": True},
    ]
    script: list[Play] = [ask_for(call("read", id="r")), ask_for(hand_over()), ask_for(call("mail", id="m"))]
    house = House(ScriptedLlama(*script), port, agents=AGENTS)
    session = await house.session()

    view = await house.run(session)

    assert [asked.name for asked in view.pending] == ["mail"]
    assert [request.tool for request in port.calls] == ["read"]


async def test_records_of_a_handoff_name_agent_and_child() -> None:
    house = House(ScriptedLlama(ask_for(hand_over()), say("Green."), say("Done.")), agents=AGENTS)
    session = await house.session()
    await house.run(session)

    started = next(record for record in await house.records(session) if isinstance(record, HandoffStarted))
    (row, _) = await house.log.sessions(owner=LOCAL_OWNER, limit=2)
    assert (started.call, started.agent, row.agent) == (1, "expert", "expert")
    assert started.child == ChildLink(session=row.id, turn=started.child.turn)
    assert [shown.status for shown in await results_of(house, session)] == [ResultStatus.OK]
