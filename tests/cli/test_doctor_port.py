"""What `turnkeeper doctor` sees of a tool port: whether it lists its tools, how fast, the same twice, and how large."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from service.core.diagnosis.findings import Code, Part, Severity
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.http_fake import Exchange
from tests.cli.examined_parts import NOWHERE, Told, ToldLlama, ToldPort, codes, examine_with, said, tools
from tests.fakes.hand_clock import HandClock
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

SECRET = "whsec_" + "c2VjcmV0" * 6

EMPTY: JsonObject = {}
IN_PLACE_OF_TOOLS: list[tuple[Told, Code]] = [
    ((401, EMPTY), Code.TOOL_PORT_REFUSES_US),
    ((403, EMPTY), Code.TOOL_PORT_REFUSES_US),
    ((404, EMPTY), Code.TOOL_PORT_IS_SOMETHING_ELSE),
    ((200, b"<html>"), Code.TOOL_PORT_IS_SOMETHING_ELSE),
    ((200, {"items": []}), Code.TOOL_PORT_IS_SOMETHING_ELSE),
    ((200, {"tools": []}), Code.TOOL_PORT_EMPTY),
]


def of_the_port(found: set[Code]) -> set[Code]:
    return {code for code in found if code.part is Part.TOOL_PORT}


async def test_a_port_that_is_as_it_should_be_has_nothing_bad(tmp_path: Path) -> None:
    async with ToldLlama() as llama, FakePort(spec("weather"), spec("clock")) as port:
        found = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url)

    assert of_the_port(codes(found)) == {Code.TOOL_PORT_OK}
    assert said(Code.TOOL_PORT_OK, found).startswith(f"{port.url} offers 2 tools; the list took ")


async def test_without_a_port_that_is_what_is_said(tmp_path: Path) -> None:
    found = await examine_with(tmp_path, llama_url=NOWHERE)

    assert of_the_port(codes(found)) == {Code.TOOL_PORT_NOT_SET}


async def test_a_port_that_is_away_is_wrong(tmp_path: Path) -> None:
    found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=NOWHERE)

    assert of_the_port(codes(found)) == {Code.TOOL_PORT_AWAY}
    assert said(Code.TOOL_PORT_AWAY, found).startswith(f"The tool port at {NOWHERE} can't be reached: ")


@pytest.mark.parametrize(("told", "code"), IN_PLACE_OF_TOOLS)
async def test_what_a_port_answers_in_place_of_tools_is_told(tmp_path: Path, told: Told, code: Code) -> None:
    async with ToldPort(lambda: told) as port:
        found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=port.url, tool_port_token="sesame-sesame")

    assert of_the_port(codes(found)) == {code}
    assert "sesame" not in str(found)


async def test_a_port_that_hangs_is_told_from_one_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.bootstrap.tool_port_look.LIST_S", 0.2)
    async with ToldPort(lambda: None) as port:
        found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=port.url)

    assert of_the_port(codes(found)) == {Code.TOOL_PORT_SILENT}
    assert "did not answer within 0.2 s" in said(Code.TOOL_PORT_SILENT, found)


@pytest.mark.parametrize(("seconds", "is_slow"), [((1.5, 1.2), True), ((3.0, 0.5), False)])
async def test_a_list_is_slow_when_both_times_it_took_more_than_a_second(
    tmp_path: Path, seconds: tuple[float, float], is_slow: bool
) -> None:
    clock, took = HandClock(), iter(seconds)

    def answer() -> Told:
        clock.pass_s(next(took))
        return tools(spec("weather"))

    async with ToldPort(answer) as port:
        found = await examine_with(tmp_path, clock=clock, llama_url=NOWHERE, tool_port_url=port.url)

    assert (Code.TOOL_PORT_SLOW in codes(found)) is is_slow
    if is_slow:
        assert said(Code.TOOL_PORT_SLOW, found).startswith("The list of tools takes 1.2 s")


@pytest.mark.rules("P3")
@pytest.mark.parametrize(
    ("second", "what"),
    [
        ((spec("clock"), spec("weather")), "in another order"),
        ((spec("weather"), spec("tide")), "with other content"),
    ],
)
async def test_a_list_that_is_another_the_second_time_is_told(
    tmp_path: Path, second: tuple[JsonObject, ...], what: str
) -> None:
    lists = iter([(spec("weather"), spec("clock")), second])
    async with ToldPort(lambda: tools(*next(lists))) as port:
        found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=port.url)

    assert what in said(Code.TOOL_LIST_CHANGES, found)


async def test_a_port_that_fails_the_second_time_is_as_good_as_away(tmp_path: Path) -> None:
    times = count()
    async with ToldPort(lambda: tools(spec("weather")) if next(times) == 0 else (500, {})) as port:
        found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=port.url)

    assert of_the_port(codes(found)) == {Code.TOOL_PORT_IS_SOMETHING_ELSE}


@pytest.mark.rules("X3")
async def test_tools_that_can_not_be_offered_are_named_with_the_reason(tmp_path: Path) -> None:
    async with FakePort(spec("weather"), spec("find_tool")) as port:
        found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=port.url)

    assert "find_tool (this name is reserved" in said(Code.TOOLS_LEFT_OUT, found)
    assert said(Code.TOOL_PORT_OK, found).startswith(f"{port.url} offers 1 tool; ")


async def test_servers_behind_the_port_that_are_down_are_named_with_what_it_says(tmp_path: Path) -> None:
    servers = [{"name": "time", "state": "up"}, {"name": "issues", "state": "down", "said": "can't be reached"}]
    async with ToldPort(lambda: (200, {"tools": [spec("weather")], "servers": servers})) as port:
        found = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=port.url)

    assert "fail: issues (can't be reached)." in said(Code.TOOL_SERVERS_DOWN, found)


class RefusingLlama(ToldLlama):
    """Refuses each request with the tool `odd`."""

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.path.endswith("input_tokens") and b'"odd"' in exchange.body:
            await exchange.answer({"error": {"code": 400, "message": "Unrecognized schema", "type": "x"}}, 400)
        else:
            await super()._answer(exchange)


@pytest.mark.rules("X3")
async def test_tools_that_the_model_server_refuses_are_named_with_its_words(tmp_path: Path) -> None:
    async with RefusingLlama() as llama, FakePort(spec("weather"), spec("odd")) as port:
        found = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url)

    assert "odd (llama-server answered 400: Unrecognized schema)" in said(Code.TOOLS_REFUSED, found)
    assert said(Code.TOOL_PORT_OK, found).startswith(f"{port.url} offers 1 tool; ")


@pytest.mark.rules("X3")
async def test_tools_that_do_not_fit_the_context_are_told_before_the_first_message(tmp_path: Path) -> None:
    many = [spec(f"tool_{number}") for number in range(30)]
    async with ToldLlama(context_tokens=1500) as llama, FakePort(*many) as port:
        direct = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url)
        searched = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url, discover_above_tokens=150)
    async with ToldLlama(context_tokens=4096) as llama, FakePort(*many) as port:
        crowded = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url)

    assert Code.TOOLS_DO_NOT_FIT in codes(direct)
    assert Code.TOOLS_CROWD_CONTEXT in codes(crowded)
    assert Code.TOOLS_ARE_SEARCHED in codes(searched)
    assert Code.TOOLS_DO_NOT_FIT not in codes(searched)


@pytest.mark.parametrize(
    ("date", "secret", "code"),
    [
        ("Mon, 31 Dec 2029 23:58:00 GMT", None, Code.CLOCK_DIFFERS),
        ("Mon, 31 Dec 2029 23:58:00 GMT", SECRET, Code.CLOCK_DIFFERS),
        ("Mon, 31 Dec 2029 23:40:00 GMT", SECRET, Code.CLOCK_BREAKS_SIGNATURES),
        ("Tue, 01 Jan 2030 00:00:30 GMT", SECRET, None),
    ],
)
async def test_a_port_whose_clock_is_another_is_told(
    tmp_path: Path, date: str, secret: str | None, code: Code | None
) -> None:
    clock = HandClock()
    async with ToldPort(lambda: tools(), date=date) as port:
        found = await examine_with(
            tmp_path, clock=clock, llama_url=NOWHERE, tool_port_url=port.url, tool_port_secret=secret
        )

    told = codes(found) & {Code.CLOCK_DIFFERS, Code.CLOCK_BREAKS_SIGNATURES}
    assert told == ({code} if code is not None else set())
    assert all(code.severity is not Severity.OK for code in told)
