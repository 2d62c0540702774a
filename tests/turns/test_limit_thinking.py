"""The cap on thought: below, at and above each of its three marks, under a budget of a hundred tokens (L6, T12)."""

from __future__ import annotations

import pytest

from service.core.baseline import Limits
from service.core.errors import ErrorKind
from service.core.ids import LOCAL_OWNER
from service.core.records import Outcome, StepUsage
from service.core.signals import Retrying, ThinkingCapped
from service.turns.events import SignalEvent
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("L6", "T12")]

LIMITS = Limits(thinking_tokens=100)


def thought(tokens: int, content: str = "So.") -> Play:
    return Play(reasoning=" ".join(["hm"] * tokens), content=content)


@pytest.mark.parametrize(("tokens", "capped"), [(95, False), (96, True), (97, True)])
async def test_a_thought_that_comes_to_its_budget_is_told_and_kept_in_the_record(tokens: int, capped: bool) -> None:
    house = House(ScriptedLlama(thought(tokens)), limits=LIMITS)
    session = await house.session()
    turn = await house.start(session)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None

    async with following:
        signals = [e.signal async for batch in following for e in batch if isinstance(e, SignalEvent)]
    view = await house.finish(session, turn)

    (usage,) = [record for record in await house.records(session) if isinstance(record, StepUsage)]
    assert [s.reasoning_tokens for s in signals if isinstance(s, ThinkingCapped)] == ([96] if capped else [])
    assert usage.thinking_capped is capped
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "So.")


@pytest.mark.parametrize(("tokens", "ended"), [(163, []), (164, ["chatcmpl-1"]), (165, ["chatcmpl-1"])])
async def test_a_thought_far_over_its_budget_is_ended_at_the_server(tokens: int, ended: list[str]) -> None:
    house = House(ScriptedLlama(thought(tokens)), limits=LIMITS)

    view = await house.run(await house.session())

    assert house.llama.ended_thoughts == ended
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "So.")


@pytest.mark.parametrize(("tokens", "broken_off"), [(227, False), (228, True), (229, True)])
async def test_a_thought_that_still_goes_on_is_broken_off_and_asked_for_again(tokens: int, broken_off: bool) -> None:
    house = House(ScriptedLlama(thought(tokens), thought(3, "Short.")), limits=LIMITS)
    session = await house.session()
    turn = await house.start(session)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None

    async with following:
        signals = [e.signal async for batch in following for e in batch if isinstance(e, SignalEvent)]
    view = await house.finish(session, turn)

    retried = [signal.reason for signal in signals if isinstance(signal, Retrying)]
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Short." if broken_off else "So.")
    assert retried == ([ErrorKind.THINKING_CAP] if broken_off else [])


# The second attempt has a budget of 16, and is broken off at 144.
@pytest.mark.parametrize(("tokens", "outcome"), [(143, Outcome.ANSWERED), (144, Outcome.FAILED), (145, Outcome.FAILED)])
async def test_a_second_thought_without_an_end_fails_the_turn_and_names_the_limit(
    tokens: int, outcome: Outcome
) -> None:
    house = House(ScriptedLlama(thought(500), thought(tokens), say("Next.")), limits=LIMITS)
    session = await house.session()

    view = await house.run(session)
    if outcome is Outcome.ANSWERED:
        assert (view.outcome, view.content) == (outcome, "So.")
        return
    after = await house.run(session)

    assert view.error is not None
    assert (view.outcome, view.error.kind, view.limit) == (outcome, ErrorKind.THINKING_CAP, None)
    assert "limit thinking_tokens" in view.error.message
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.parametrize(("spent", "left"), [(83, 17), (84, 16), (85, 16), (200, 16)])
async def test_what_a_step_has_thought_is_gone_for_the_next_ones_of_its_turn(spent: int, left: int) -> None:
    first = Play(reasoning=" ".join(["hm"] * spent), calls=ask_for(call("t")).calls)
    house = House(ScriptedLlama(first, say("Done."), say("Next.")), TablePort(spec("t")), limits=LIMITS)
    session = await house.session()

    await house.run(session)
    await house.run(session)

    assert [request.thinking_budget_tokens for request in house.llama.requests] == [100, left, 100]
