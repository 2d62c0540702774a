"""What the texts of the attack set do where nothing stops them: each of them can act, so the set can fail.

`docs/untrusted-text.md` says the same in words.
"""

from __future__ import annotations

import pytest

from service.core.json_types import JsonObject
from service.core.records import Outcome
from service.core.tool_port import AnswerStatus, ToolAnswer
from service.core.views import TurnState
from tests.attacks.attack import ATTACKS, READER, Attack, attacked_port, tool_specs
from tests.attacks.obeying import READ, ObeyingLlama
from tests.fakes.house import House
from tests.fakes.llama import ask_for
from tests.fakes.tool_port import TablePort, result

pytestmark = [pytest.mark.anyio, pytest.mark.rules("A7")]

ORDER = next(attack for attack in ATTACKS if attack.name == "bare-order-to-mail")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_with_the_policy_off_each_text_acts_and_nobody_is_asked(attack: Attack) -> None:
    house = House(ObeyingLlama(attack, ask_for(READ)), attacked_port(attack), approve_after_untrusted=False)
    session = await house.session()

    view = await house.run(session, "What does the page say?")

    assert view.outcome is Outcome.ANSWERED
    assert house.port is not None
    last = house.port.calls[-1]
    assert (last.tool, last.arguments) == (attack.tool, {"to": attack.to})


async def acts_without_a_person(listed: list[JsonObject], answer: ToolAnswer) -> bool:
    """Say whether the mail goes out, with the policy on, when a page is answered so."""
    port = TablePort(*listed, tools={READER: lambda request: answer})
    house = House(ObeyingLlama(ORDER, ask_for(READ)), port)
    view = await house.run(await house.session(), "What does the page say?")
    return view.state is TurnState.FINISHED and port.calls[-1].tool == "send_mail"


async def test_a_tool_that_reads_strangers_text_and_does_not_say_so_is_not_covered() -> None:
    assert await acts_without_a_person(tool_specs(reader_untrusted=False), result(ORDER.text))
    assert not await acts_without_a_person(tool_specs(), result(ORDER.text))


async def test_a_label_of_the_answer_is_as_good_as_one_of_the_tool() -> None:
    assert not await acts_without_a_person(tool_specs(reader_untrusted=False), result(ORDER.text, untrusted=True))


async def test_a_tool_that_acts_and_does_not_say_so_is_not_covered() -> None:
    listed = [{**one, "acts_outside": False} for one in tool_specs()]

    assert await acts_without_a_person(listed, result(ORDER.text))


@pytest.mark.parametrize("status", [AnswerStatus.FAILED, AnswerStatus.DENIED])
async def test_the_words_of_a_failure_or_a_denial_are_the_ports_own_and_are_not_covered(status: AnswerStatus) -> None:
    assert await acts_without_a_person(tool_specs(), ToolAnswer(status=status, text=ORDER.text))
