"""A client that lost the answer to its decision sends it again to the turn at the top, whoever waits then (A2, G2)."""

from __future__ import annotations

import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.views import TurnState
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port, decide, decision, until_end
from tests.turns.handing_over import AGENTS, hand_over

pytestmark = [pytest.mark.anyio, pytest.mark.rules("A2", "G2")]

PAY = call("pay", '{"city": "Rome"}', id="p")


async def test_a_decision_for_a_child_of_a_child_is_taken_again_when_all_of_them_have_ended() -> None:
    house = House(
        ScriptedLlama(ask_for(hand_over()), ask_for(hand_over("desk")), ask_for(PAY), *map(say, "abc")),
        asking_port(),
        agents=AGENTS,
    )
    view = await house.run(await house.session())
    decided = await decide(house, view, decision(view.pending[0]))
    await until_end(house, view)

    again = await decide(house, view, decision(view.pending[0]))
    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0], approved=False))

    assert again == decided
    assert refused.value.code is ProblemCode.NOT_PENDING


async def test_a_decision_for_a_child_that_has_ended_is_taken_again_while_the_next_child_waits() -> None:
    port = asking_port()
    again = hand_over(message="And which cup?", id="h2")
    house = House(
        ScriptedLlama(
            ask_for(hand_over()), ask_for(PAY), say("Paid."), ask_for(again), ask_for(PAY), say("b"), say("c")
        ),
        port,
        agents=AGENTS,
    )
    session = await house.session()
    view = await house.run(session)
    first = decision(view.pending[0])
    await decide(house, view, first)
    waiting = await house.sessions.wait(session, view.id, LOCAL_OWNER)

    repeated = await decide(house, view, first)
    with pytest.raises(RequestRefused) as refused:
        await decide(house, view, decision(view.pending[0], approved=False))

    # The call of the next child has the same number, and waits on.
    second = waiting.pending[0]
    assert (waiting.state, second.call, second.session == view.pending[0].session) == (
        TurnState.AWAITING_APPROVAL,
        first.call,
        False,
    )
    assert repeated.goes_on
    assert refused.value.code is ProblemCode.DIGEST_MISMATCH
    assert len(port.calls) == 1
    await decide(house, view, decision(second))
    assert (await until_end(house, view)).content == "c"
