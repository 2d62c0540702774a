"""What was denied stays denied in its turn, and asking for it again and again ends the turn (A4, T12)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from service.core.baseline import Limits, ToolMode
from service.core.completion_events import ModelCall
from service.core.records import Limit, OnToolLimit, Outcome, ResultStatus, ToolChoice
from service.core.tool_port import AnswerStatus, ToolAnswer
from service.turns.requests import ToolsAsked
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.turn_facts import end_of, last_turn, restarted, results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("A4")]

WORDS = "The call was denied: not today"
OVER = (
    "The call was not run: what was denied was asked for again "
    "(limit denied_repeatedly, setting denied_repeats: {allowed})."
)


def denying_port() -> TablePort:
    denied = ToolAnswer(status=AnswerStatus.DENIED, text="not today")
    return TablePort(spec("pay"), spec("look"), tools={"pay": lambda request: denied})


def pay(city: str = "Rome", number: int = 0) -> ModelCall:
    return call("pay", f'{{"city": "{city}"}}', id=f"id{number}")


@pytest.mark.rules("T12")
@pytest.mark.parametrize("allowed", [1, 2, 3])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
async def test_steps_that_ask_again_for_what_was_denied_end_the_turn_at_the_limit(allowed: int, beyond: int) -> None:
    again = [ask_for(pay(number=number)) for number in range(allowed + beyond)]
    port = denying_port()
    script = ScriptedLlama(ask_for(pay()), *again, say("Then not."))
    house = House(script, port, limits=Limits(denied_repeats=allowed))
    session = await house.session()

    view = await house.run(session)

    results = await results_of(house, session)
    end = await end_of(house, session)
    assert len(port.calls) == 1
    assert {(shown.status, shown.content) for shown in results} == {(ResultStatus.DENIED, WORDS)}
    if beyond < 0:
        assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, None, "Then not.")
        assert len(results) == allowed
    else:
        assert (view.outcome, view.limit, end.limit) == (Outcome.TURN_LIMIT, *[Limit.DENIED_REPEATEDLY] * 2)
        assert len(results) == allowed + 1
        assert results[-1].limit is Limit.DENIED_REPEATEDLY


@pytest.mark.rules("T12")
async def test_nothing_of_the_batch_that_goes_too_far_runs_and_the_rest_is_told_limit_and_setting() -> None:
    last = ask_for(call("look", id="a"), pay(number=1), call("look", '{"city": "x"}', id="b"))
    port = denying_port()
    house = House(ScriptedLlama(ask_for(pay()), ask_for(pay()), last), port)
    session = await house.session()

    await house.run(session)

    statuses = [(shown.status, shown.content) for shown in await results_of(house, session)][2:]
    not_run = (ResultStatus.NOT_RUN, OVER.format(allowed=2))
    assert statuses == [not_run, (ResultStatus.DENIED, WORDS), not_run]
    assert [request.tool for request in port.calls] == ["pay"]


async def test_several_denials_in_one_step_count_once() -> None:
    first = ask_for(pay("Rome", 1), pay("Bonn", 2))
    again = ask_for(pay("Bonn", 3), pay("Rome", 4), pay("Rome", 5))
    port = denying_port()
    house = House(ScriptedLlama(first, again, say("Then not.")), port)
    session = await house.session()

    view = await house.run(session)

    assert (view.outcome, len(port.calls)) == (Outcome.ANSWERED, 2)
    assert {shown.status for shown in await results_of(house, session)} == {ResultStatus.DENIED}


async def test_a_step_without_a_denied_call_in_between_does_not_reset_the_count() -> None:
    steps = [pay(), pay(), call("look"), pay()]
    house = House(ScriptedLlama(*map(ask_for, steps)), denying_port())

    view = await house.run(await house.session())

    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.DENIED_REPEATEDLY)


@pytest.mark.parametrize(
    "again",
    [
        call("pay", ' {"city":"Rome"}\n', id="other"),
        call("call_tool", '{"name": "pay", "arguments": {"city": "Rome"}}', id="other"),
        call("call_tool", '{"arguments": "{\\"city\\": \\"Rome\\"}", "name": "pay"}', id="other"),
    ],
    ids=["white space", "call_tool", "call_tool with text"],
)
async def test_the_same_action_is_denied_in_whatever_form_and_under_whatever_id_it_comes(again: ModelCall) -> None:
    port = denying_port()
    house = House(ScriptedLlama(ask_for(pay()), ask_for(again), say("Then not.")), port)
    session = await house.session(tools=ToolsAsked(mode=ToolMode.DISCOVER))

    await house.run(session)

    first, second = await results_of(house, session)
    assert (second.status, second.content, second.name) == (ResultStatus.DENIED, first.content, "pay")
    assert len(port.calls) == 1


async def test_other_arguments_are_another_action_and_another_turn_may_ask_again() -> None:
    port = denying_port()
    house = House(ScriptedLlama(ask_for(pay()), ask_for(pay("Bonn")), say("No."), ask_for(pay()), say("No.")), port)
    session = await house.session()

    await house.run(session)
    view = await house.run(session)

    assert [request.arguments["city"] for request in port.calls] == ["Rome", "Bonn", "Rome"]
    assert view.outcome is Outcome.ANSWERED


@pytest.mark.parametrize("listed", [{"repeatable": True}, {}])
async def test_denials_stick_though_repeats_are_free(listed: dict[str, object]) -> None:
    port = denying_port()
    port.listed[0] = {**port.listed[0], **listed}
    house = House(ScriptedLlama(ask_for(pay()), endless=True), port, limits=Limits(repeat_detection=bool(listed)))

    view = await house.run(await house.session())

    assert (view.limit, len(port.calls)) == (Limit.DENIED_REPEATEDLY, 1)


@pytest.mark.rules("T5")
async def test_a_turn_that_concludes_is_asked_for_an_answer_after_the_limit() -> None:
    llama = ScriptedLlama(ask_for(pay()), ask_for(pay()), ask_for(pay()), say("I may not."))
    house = House(llama, denying_port())
    session = await house.session()

    view = await house.run(session, on_tool_limit=OnToolLimit.CONCLUDE)

    assert [request.tool_choice for request in llama.requests] == [ToolChoice.AUTO] * 3 + [ToolChoice.NONE]
    assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, Limit.DENIED_REPEATEDLY, "I may not.")


@pytest.mark.rules("S4", "T12")
async def test_a_restart_forgets_neither_a_denial_nor_how_often_it_was_asked_for_again() -> None:
    half = replace(say("Hm"), before_end=asyncio.Event())
    port = denying_port()
    house = House(ScriptedLlama(ask_for(pay()), ask_for(pay()), half), port)
    session = await house.session()
    await house.start(session)
    await half.streaming.wait()

    second = await restarted(house, ScriptedLlama(ask_for(pay()), say("never asked")))
    view = await last_turn(second, session)

    assert (view.outcome, view.limit, len(port.calls)) == (Outcome.TURN_LIMIT, Limit.DENIED_REPEATEDLY, 1)
