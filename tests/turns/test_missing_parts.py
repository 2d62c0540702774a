"""A start tells of each part that is missing once, and once when it is there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from service.core.errors import ToolPortFailure
from service.turns.missing_parts import LINES_OF_ONE_PART, LONGEST_PAUSE_S, missing_parts
from service.turns.readiness import Check
from tests.fakes.clock import SteppingClock
from tests.fakes.house import House
from tests.fakes.llama import GONE, ScriptedLlama
from tests.fakes.tool_port import TablePort, spec

pytestmark = pytest.mark.anyio


class Looks:
    """Gives what each look found, the last one again and again."""

    def __init__(self, *looks: Sequence[Check]) -> None:
        self._looks = list(looks)

    async def check(self) -> Sequence[Check]:
        return self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]


def store(message: str) -> Check:
    return Check(name="store", ok=False, message=message)


def llama(message: str, *, ok: bool = False) -> Check:
    return Check(name="llama_server", ok=ok, message=message)


def port(message: str, *, ok: bool = False) -> Check:
    return Check(name="tool_port", ok=ok, message=message)


async def lines(looks: Looks, clock: SteppingClock | None = None) -> list[str]:
    return [line async for line in missing_parts(looks, clock or SteppingClock(), pause_s=2.0)]


async def test_nothing_is_told_where_nothing_is_missing() -> None:
    clock = SteppingClock()

    assert await lines(Looks([llama("2 slots", ok=True), port("3 tools", ok=True)]), clock) == []
    assert clock.slept == []


async def test_each_missing_part_is_told_once_and_once_more_when_it_is_there() -> None:
    looks = Looks(
        [llama("no answer"), port("no answer")],
        [llama("no answer"), port("no answer")],
        [llama("2 slots", ok=True), port("no answer")],
        [llama("2 slots", ok=True), port("3 tools", ok=True)],
    )

    assert await lines(looks) == [
        "llama-server isn't ready, and turns wait for it: no answer",
        "the tool port (TURNKEEPER_TOOL_PORT_URL) isn't ready, and new sessions with tools are refused: no answer",
        "llama-server is ready: 2 slots",
        "the tool port is ready: 3 tools",
    ]


async def test_a_store_that_does_not_work_is_told() -> None:
    looks = Looks([store("no disk")], [Check(name="store", ok=True, message="answers")])

    assert await lines(looks) == [
        "the store does not work, and requests are refused: no disk",
        "the store works: answers",
    ]


async def test_what_is_wrong_is_told_anew_when_it_is_something_else() -> None:
    looks = Looks([llama("no answer")], [llama("loads its model")], [llama("2 slots", ok=True)])

    assert [line.rpartition(": ")[2] for line in await lines(looks)] == ["no answer", "loads its model", "2 slots"]


async def test_a_text_that_differs_each_time_is_not_told_for_ever() -> None:
    looks = Looks(*([llama(f"waits for {second} s")] for second in range(99)), [llama("2 slots", ok=True)])

    assert len(await lines(looks)) == LINES_OF_ONE_PART + 1


async def test_the_looks_come_less_and_less_often() -> None:
    clock = SteppingClock()
    await lines(Looks(*([llama("no answer")] for _ in range(8)), [llama("2 slots", ok=True)]), clock)

    assert clock.slept == [2.0, 4.0, 8.0, 16.0, 32.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]


async def test_the_service_itself_is_asked_until_all_of_it_answers() -> None:
    model, tools = ScriptedLlama(), TablePort(spec("a"))
    model.away = GONE
    tools.away = ToolPortFailure("the tool port can't be reached")
    house = House(model, tools)
    told: list[str] = []
    async for line in missing_parts(house.turns.readiness, SteppingClock(), pause_s=1.0):
        told.append(line)
        if len(told) == 2:
            model.away = tools.away = None

    assert [line.partition(": ")[2] for line in told[:2]] == ["llama-server is away", "the tool port can't be reached"]
    assert [line.partition(": ")[0] for line in told[2:]] == ["llama-server is ready", "the tool port is ready"]
