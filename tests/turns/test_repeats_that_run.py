"""Which calls may be made again in a turn, and how often (T7)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.baseline import Limits
from service.core.completion_events import ModelCall
from service.core.records import Limit, Outcome, ResultStatus
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.repeating import FlakyPort, played, statuses, t
from tests.turns.turn_facts import last_turn, restarted, results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T7")]

OK, FAILED, REPEATED, NOT_RUN = (ResultStatus.OK, ResultStatus.FAILED, ResultStatus.REPEATED, ResultStatus.NOT_RUN)


@pytest.mark.parametrize(
    ("failures", "asked", "expected"),
    [
        (1, 2, [FAILED, OK]),
        (1, 3, [FAILED, OK, REPEATED]),
        (9, 2, [FAILED, FAILED]),
        (9, 3, [FAILED, FAILED, REPEATED]),
        (9, 4, [FAILED, FAILED, REPEATED, NOT_RUN]),
    ],
)
async def test_a_call_that_failed_may_run_once_more_and_only_once(
    failures: int, asked: int, expected: list[ResultStatus]
) -> None:
    steps = [ask_for(t(number=number)) for number in range(asked)]

    view, results, port = await played(*steps, port=FlakyPort(failures))

    assert statuses(results) == expected
    assert len(port.calls) == 2
    assert view.limit is (Limit.REPEATED_CALL if asked == 4 else None)


async def test_the_twin_of_a_call_that_fails_quotes_the_failure_and_the_call_may_still_run_once_more() -> None:
    _, results, port = await played(ask_for(t(number=1), t(number=2)), ask_for(t()), port=FlakyPort(1))

    assert statuses(results) == [FAILED, REPEATED, OK]
    assert "Its result (failed) was: The tool failed: no luck" in results[1].content
    assert len(port.calls) == 2


@pytest.mark.rules("S4")
async def test_a_call_that_a_restart_interrupted_may_run_once_more_and_only_once() -> None:
    port = FlakyPort()
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(t(number=1), t(number=2))), port)
    session = await house.session()
    await house.start(session)
    await port.arrived.wait()

    second = await restarted(house, ScriptedLlama(ask_for(t()), ask_for(t()), say("never asked")))
    view = await last_turn(second, session)

    results = await results_of(second, session)
    assert statuses(results) == [ResultStatus.INTERRUPTED, REPEATED, OK, NOT_RUN]
    assert (view.limit, len(port.calls)) == (Limit.REPEATED_CALL, 2)


@pytest.mark.rules("S4", "T12")
@pytest.mark.parametrize("failures", [0, 9])
async def test_a_restart_forgets_no_repeat_and_no_second_run(failures: int) -> None:
    half = say("Hm", before_end=asyncio.Event())
    port = FlakyPort(failures)
    before = [ask_for(t(number=number)) for number in range(3 if failures else 2)]
    house = House(ScriptedLlama(*before, half), port)
    session = await house.session()
    await house.start(session)
    await half.streaming.wait()
    runs = len(port.calls)

    second = await restarted(house, ScriptedLlama(ask_for(t(' {"a" : 1}')), ask_for(t()), say("never asked")))
    view = await last_turn(second, session)

    assert (await results_of(second, session))[-2].status is OK if not failures else FAILED
    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.REPEATED_CALL)
    assert [request.arguments for request in port.calls[runs:]] == [{"a": 1}]


async def test_a_repeatable_tool_polls_freely_up_to_the_limit_on_batches() -> None:
    port = FlakyPort(repeatable=True)
    house = House(ScriptedLlama(ask_for(t(number=1), t(number=2)), endless=True), port)

    view = await house.run(await house.session())

    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.TOOL_ITERATIONS)
    assert len(port.calls) == 16


@pytest.mark.rules("T10")
@pytest.mark.parametrize("bad", [t("{"), t('{"a": "x"}'), t(""), call("nothing")])
async def test_calls_that_could_not_run_are_no_repeats(bad: ModelCall) -> None:
    view, results, port = await played(*[ask_for(bad)] * 5, ask_for(t()))

    assert view.outcome is Outcome.ANSWERED
    assert len(set(statuses(results[:5]))) == 1
    assert (results[5].status, len(port.calls)) == (OK, 1)


async def test_with_detection_off_every_call_runs() -> None:
    steps = [ask_for(t(number=1), t(number=2), t(number=3))] * 3

    view, results, port = await played(*steps, limits=Limits(repeat_detection=False))

    assert (view.outcome, set(statuses(results)), len(port.calls)) == (Outcome.ANSWERED, {OK}, 9)


async def test_a_turn_may_switch_detection_on_for_itself() -> None:
    port = FlakyPort()
    house = House(ScriptedLlama(ask_for(t()), endless=True), port, limits=Limits(repeat_detection=False))

    view = await house.run(await house.session(), limits={"repeat_detection": True})

    assert (view.limit, len(port.calls)) == (Limit.REPEATED_CALL, 1)


async def test_the_next_turn_may_make_the_same_call_again() -> None:
    port = FlakyPort()
    house = House(ScriptedLlama(ask_for(t()), say("One."), ask_for(t()), say("Two.")), port)
    session = await house.session()

    await house.run(session)
    await house.run(session)

    assert statuses(await results_of(house, session)) == [OK, OK]
