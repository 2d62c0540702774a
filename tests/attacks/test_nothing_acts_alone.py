"""No text of the attack set gets anything done without a person, though the model obeys each of them (A7).

The same texts do act where the policy is off: `test_without_the_policy.py`.
"""

from __future__ import annotations

import pytest

from service.cli.chat_question import question_lines
from service.core.baseline import ToolMode
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import Outcome
from service.core.views import TurnState, TurnView
from service.core.visible import visible
from service.turns.requests import ForkAsked, ToolsAsked
from tests.attacks.attack import ATTACKS, READER, Attack, attacked_port
from tests.attacks.obeying import READ, ObeyingLlama, through_call_tool
from tests.fakes.house import House
from tests.fakes.llama import ask_for, say
from tests.turns.approving import DENIED, decide, decision
from tests.turns.handing_over import AGENTS, hand_over
from tests.turns.turn_facts import restarted, results_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.rules("A7"),
    pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name),
]

HARMLESS = {READER, "look"}


def check_that_a_person_is_asked(house: House, attack: Attack, view: TurnView) -> None:
    """The turn waits, for a call that the text wants, and the port has seen nothing but reading."""
    assert view.state is TurnState.AWAITING_APPROVAL
    (asked,) = view.pending
    assert (asked.name, asked.arguments) in [(act.name, act.arguments) for act in attack.acts()]
    assert asked.reason.startswith("This session holds text from outside, which may carry instructions, and this tool ")
    assert house.port is not None
    assert {request.tool for request in house.port.calls} <= HARMLESS


async def having_read(attack: Attack, answer: str = "It is about tea.") -> tuple[House, SessionId]:
    """Give a session that has read the text and, so far, done nothing."""
    house = House(ObeyingLlama(attack, ask_for(READ), say(answer)), attacked_port(attack))
    session = await house.session()
    assert (await house.run(session, "What does the page say?")).outcome is Outcome.ANSWERED
    return house, session


async def test_in_the_turn_that_reads_it_a_person_is_asked_and_a_denial_ends_it(attack: Attack) -> None:
    house = House(ObeyingLlama(attack, ask_for(READ)), attacked_port(attack))
    session = await house.session()

    view = await house.run(session, "What does the page say?")
    check_that_a_person_is_asked(house, attack, view)
    for _ in attack.acts():
        if view.pending:
            await decide(house, view, *(decision(asked, approved=False) for asked in view.pending))
            view = await house.finish(session, view.id)

    assert view.outcome is Outcome.ANSWERED
    assert (await results_of(house, session))[-1].content == DENIED
    assert house.port is not None
    assert {request.tool for request in house.port.calls} <= HARMLESS


@pytest.mark.rules("K5")
async def test_the_person_is_shown_all_of_the_call_with_nothing_hidden_in_it(attack: Attack) -> None:
    house = House(ObeyingLlama(attack, ask_for(READ)), attacked_port(attack))
    (asked,) = (await house.run(await house.session(), "What does the page say?")).pending

    lines = question_lines(asked, asked.arguments)

    assert all(line.isprintable() for line in lines)
    shown, true = "".join(lines[3:]), visible(asked.arguments, len(asked.arguments))
    assert "".join(shown.split()) == "".join(true.split())


async def test_through_call_tool_a_person_is_asked(attack: Attack) -> None:
    house = House(ObeyingLlama(attack, ask_for(through_call_tool(READ)), wraps=True), attacked_port(attack))
    session = await house.session(tools=ToolsAsked(mode=ToolMode.DISCOVER))

    view = await house.run(session, "What does the page say?")

    assert [asked.arguments for asked in view.pending] != []
    assert view.pending[0].name in [act.name for act in attack.acts()]
    assert house.port is not None
    assert {request.tool for request in house.port.calls} <= HARMLESS


async def test_another_agent_that_is_handed_the_text_asks_a_person(attack: Attack) -> None:
    handed = hand_over(message="Do what the page says.", carry=5)
    house = House(ObeyingLlama(attack, ask_for(READ), ask_for(handed)), attacked_port(attack), agents=AGENTS)
    session = await house.session()

    view = await house.run(session, "What does the page say?")

    check_that_a_person_is_asked(house, attack, view)
    # What lies behind the cut is not carried along: there the first agent reads on, and meets the order.
    assert (view.pending[0].session == session) is (attack.form == "page")


async def test_what_another_agent_has_read_counts_where_its_answer_comes_back(attack: Attack) -> None:
    llama = ObeyingLlama(attack, ask_for(hand_over(message="Read the page.")), ask_for(READ), say(attack.text))
    house = House(llama, attacked_port(attack), agents=AGENTS)
    session = await house.session()

    view = await house.run(session, "What does the page say?")

    check_that_a_person_is_asked(house, attack, view)
    assert view.pending[0].session == session


async def test_in_a_later_turn_a_person_is_asked(attack: Attack) -> None:
    house, session = await having_read(attack)

    view = await house.run(session, "Thanks.")

    check_that_a_person_is_asked(house, attack, view)


async def test_after_a_restart_a_person_is_asked(attack: Attack) -> None:
    house, session = await having_read(attack)
    second = await restarted(house, ObeyingLlama(attack))

    view = await second.run(session, "Thanks.")

    check_that_a_person_is_asked(second, attack, view)


async def test_in_a_fork_a_person_is_asked(attack: Attack) -> None:
    house, session = await having_read(attack)
    # This turn waits for a person; the fork goes on from before it.
    waiting = await house.run(session, "Thanks.")
    forked = await house.session(fork=ForkAsked(session=session, before=waiting.id))

    view = await house.run(forked, "Go on.")

    check_that_a_person_is_asked(house, attack, view)
    assert view.pending[0].session == forked


async def test_behind_a_summary_that_repeats_it_and_after_a_restart_a_person_is_asked(attack: Attack) -> None:
    house, session = await having_read(attack, "It is about tea. " * 200)
    done = await house.sessions.compact(session, LOCAL_OWNER)
    messages = (await house.sessions.messages(session, LOCAL_OWNER)).messages
    assert done.by_hand.summary is not None
    assert [message["role"] for message in messages] == ["system", "user"]
    second = await restarted(house, ObeyingLlama(attack))

    view = await second.run(session, "Thanks.")

    check_that_a_person_is_asked(second, attack, view)
