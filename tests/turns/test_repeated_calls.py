"""A call that repeats an earlier one of its turn isn't run, and the second repeat ends the turn (T7)."""

from __future__ import annotations

import pytest

from service.core.baseline import ToolMode
from service.core.completion_events import ModelCall
from service.core.labels import DataClass
from service.core.records import Limit, OnToolLimit, Outcome, ResultStatus, ToolChoice
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.repeating import FlakyPort, played, statuses, t, through

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T7")]

OK, FAILED, REPEATED, NOT_RUN = (ResultStatus.OK, ResultStatus.FAILED, ResultStatus.REPEATED, ResultStatus.NOT_RUN)
OVER = (
    "The call was not run: one of these calls was made for the third time with the same arguments, and its result "
    "would be the same (limit repeated_call, setting repeat_detection)."
)


@pytest.mark.rules("T12")
@pytest.mark.parametrize("repeats", [0, 1, 2])
async def test_one_repeat_is_answered_and_the_second_ends_the_turn(repeats: int) -> None:
    view, results, port = await played(*[ask_for(t(number=number)) for number in range(1 + repeats)])

    assert len(port.calls) == 1
    assert statuses(results) == [OK, REPEATED, NOT_RUN][: 1 + repeats]
    if repeats < 2:
        assert (view.outcome, view.limit) == (Outcome.ANSWERED, None)
    else:
        assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.REPEATED_CALL)
        assert (results[-1].content, results[-1].limit) == (OVER, Limit.REPEATED_CALL)


@pytest.mark.cases(26)
@pytest.mark.rules("T12")
async def test_a_model_that_makes_one_call_for_ever_in_other_spellings_reaches_the_port_once() -> None:
    spellings = ['{"a": 1, "b": 2}', '{"b":2,"a":1}', ' {"a" :1,\n"b": 2}', '{"\\u0062": 2, "a": 1}']
    plays = [ask_for(t(spellings[number % 4], number)) for number in range(100)]
    port = FlakyPort()
    house = House(ScriptedLlama(*plays), port)
    session = await house.session()

    view = await house.run(session)

    assert (view.outcome, view.limit, len(port.calls)) == (Outcome.TURN_LIMIT, Limit.REPEATED_CALL, 1)
    assert len(house.llama.requests) == 3
    assert (await house.run(session)).limit is Limit.REPEATED_CALL
    assert len(port.calls) == 2


@pytest.mark.parametrize(
    ("other", "again"),
    [
        ('{"b": 2, "a": 1}', False),
        ('{"a":1,"b":2}', False),
        ('\n{ "a" : 1 , "b" : 2 }\t', False),
        ('{"a": 1.0, "b": 2}', True),
        ('{"a": 1e0, "b": 2}', True),
        ('{"a": 1, "b": 2.5}', True),
        ('{"a": 1}', True),
    ],
)
async def test_keys_and_spaces_do_not_count_and_numbers_do_by_their_text(other: str, again: bool) -> None:
    _, results, port = await played(ask_for(t('{"a": 1, "b": 2}')), ask_for(t(other)))

    assert statuses(results) == [OK, OK if again else REPEATED]
    assert len(port.calls) == 1 + again


@pytest.mark.rules("X4")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (t('{"a": 1}'), through('{"a":1}')),
        (through('{"a": 1}'), t('{"a":1}')),
        (through('{"a": 1, "b": 2}'), through('{"b": 2, "a": 1}')),
        (through('{"a": 1}'), through('"{\\"a\\": 1}"')),
        (t("{}"), call("call_tool", '{"name": "t"}')),
    ],
    ids=["direct, through", "through, direct", "through twice", "as text", "left out"],
)
async def test_it_is_the_same_call_through_call_tool(first: ModelCall, second: ModelCall) -> None:
    _, results, port = await played(ask_for(first), ask_for(second), mode=ToolMode.DISCOVER)

    assert statuses(results) == [OK, REPEATED]
    assert [shown.name for shown in results] == ["t", "t"]
    assert len(port.calls) == 1


@pytest.mark.rules("X4")
async def test_another_tool_through_call_tool_is_another_call() -> None:
    other = call("call_tool", '{"name": "u", "arguments": {}}')

    _, results, _ = await played(ask_for(through("{}")), ask_for(other), mode=ToolMode.DISCOVER)

    assert statuses(results) == [OK, OK]


@pytest.mark.rules("T8")
async def test_within_one_batch_the_twin_is_answered_after_the_first_and_quotes_it() -> None:
    port = TablePort(spec("t"), spec("u"), tools={"t": lambda request: result("the first says this")})
    _, results, _ = await played(ask_for(t(number=1), call("u", id="u"), t(number=2)), port=port)

    assert statuses(results) == [OK, OK, REPEATED]
    assert results[2].content.endswith("Its result (ok) was: the first says this")
    assert "(call 1)" in results[2].content
    assert [request.tool for request in port.calls].count("t") == 1


async def test_three_of_a_kind_in_one_batch_stop_the_whole_of_it() -> None:
    view, results, port = await played(ask_for(t(number=1), t(number=2), call("u", id="u"), t(number=3)))

    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.REPEATED_CALL)
    assert [(shown.status, shown.content) for shown in results] == [(NOT_RUN, OVER)] * 4
    assert port.calls == []


async def test_a_twin_counts_as_a_repeat_for_later_batches() -> None:
    view, results, port = await played(ask_for(t(number=1), t(number=2)), ask_for(t()))

    assert (view.limit, statuses(results), len(port.calls)) == (Limit.REPEATED_CALL, [OK, REPEATED, NOT_RUN], 1)


@pytest.mark.rules("X6", "P6")
@pytest.mark.parametrize(("length", "more"), [(199, ""), (200, ""), (201, "…")])
async def test_a_repeat_quotes_two_hundred_characters_with_their_labels_and_fence(length: int, more: str) -> None:
    text = ("\U0001f30a" + "x" * 300)[:length]
    answer = result(text, data_class=DataClass.SECRET, untrusted=True)
    port = TablePort(spec("t"), tools={"t": lambda request: answer})

    _, (first, quoting), _ = await played(ask_for(t()), ask_for(t()), port=port)

    assert quoting.content == (
        "This call was made before in this turn with the same arguments (call 1), so it was not run again "
        f"(repeat_detection). Its result (ok) was: {text[:200]}{more}"
    )
    assert (quoting.data_class, quoting.untrusted, quoting.fence) == (DataClass.SECRET, True, first.fence)
    assert first.fence is not None


async def test_a_quote_does_not_end_within_a_character() -> None:
    port = TablePort(spec("t"), tools={"t": lambda request: result("x" * 199 + "\U0001f1eb\U0001f1f7")})

    _, (_, quoting), _ = await played(ask_for(t()), ask_for(t()), port=port)

    assert quoting.content.endswith("was: " + "x" * 199 + "…")


@pytest.mark.rules("X6")
async def test_a_repeat_of_a_public_trusted_result_is_public_and_trusted() -> None:
    _, (_, quoting), _ = await played(ask_for(t()), ask_for(t()))

    assert (quoting.data_class, quoting.untrusted, quoting.fence) == (DataClass.PUBLIC, False, None)


@pytest.mark.rules("T5", "P3")
async def test_a_turn_that_concludes_is_asked_for_an_answer_after_the_second_repeat() -> None:
    llama = ScriptedLlama(*[ask_for(t(number=number)) for number in range(3)], say("As I said."))
    house = House(llama, FlakyPort())
    session = await house.session()

    view = await house.run(session, on_tool_limit=OnToolLimit.CONCLUDE)

    assert [request.tool_choice for request in llama.requests] == [ToolChoice.AUTO] * 3 + [ToolChoice.NONE]
    assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, Limit.REPEATED_CALL, "As I said.")


@pytest.mark.rules("T5")
async def test_a_concluding_step_that_calls_all_the_same_ends_at_the_limit() -> None:
    house = House(ScriptedLlama(ask_for(t()), endless=True), port := FlakyPort())

    view = await house.run(await house.session(), on_tool_limit=OnToolLimit.CONCLUDE)

    assert (view.outcome, view.limit, view.content) == (Outcome.TURN_LIMIT, Limit.REPEATED_CALL, None)
    assert (len(house.llama.requests), len(port.calls)) == (4, 1)
