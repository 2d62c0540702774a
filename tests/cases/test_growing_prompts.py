"""Each request begins with the bytes of the one before: in a round of tools (case 21) and over many turns (case 22)."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cases.fake_port import FakePort
from tests.cases.growth import only_grows
from tests.cases.rendering import render
from tests.cases.replies import Call, Reply, ask_for, refuse, say
from tests.cases.strict_llama import Script, StrictLlama
from tests.cases.whole_service import Start, WholeService, service_over, side_by_side
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("P1", "P2", "P3", "P5")]

THOUGHTS = ("First the clock.\n", '\u2028Both \U0001f468\u200d\U0001f469\u200d\U0001f467, "then".', " Hm.\n\n", "Now. ")


def a_port() -> FakePort:
    listed = (spec("clock"), spec("fails"), spec("outside", untrusted=True))
    return FakePort(*listed, answers={"fails": lambda _: {"status": "failed", "message": "no"}})


def call(name: str, arguments: str = "{}", id: str = "x1") -> Call:
    return Call(name=name, arguments=arguments, id=id)


@pytest.mark.cases(21)
@pytest.mark.parametrize("mode", ["direct", "discover"])
async def test_within_a_round_of_tools_the_thoughts_are_sent_back(start: Start, mode: str) -> None:
    llama = StrictLlama(
        ask_for(call("clock", '{"city": "Rome"}'), thought=THOUGHTS[0]),
        ask_for(call("fails", id="a"), call("outside", id="a"), text="Both, ", thought=THOUGHTS[1]),
        ask_for(call("clock", "{"), call("nope", id=""), thought=THOUGHTS[2]),
        ask_for(call("call_tool", '{"name":"clock","arguments":{"city":"Oslo"}}'), text="And."),
        say("It is noon.", thought=THOUGHTS[3]),
    )
    service = await start(llama, a_port())
    session = await service.session(tools={"mode": mode})
    for _ in range(2):
        assert (await service.turn(session))["outcome"] == "answered"

    assert len(llama.asked) == 6
    assert only_grows(llama.asked)
    # The last request has the thoughts of the turn before; the one call without a thought has none.
    sent = [m.get("reasoning_content") for m in llama.asked[-1].messages if m["role"] == "assistant"]
    assert sent == [*THOUGHTS[:3], None, THOUGHTS[3]]
    # What the server has in its cache is found again, by what it counts itself.
    usages = await service.records(session, "usage")
    for before, after in pairwise(usages):
        assert after["cached_tokens"] >= before["prompt_tokens"]
    assert await service.records(session, "cache_loss") == []


def one_turn(number: int) -> tuple[Script, ...]:
    """What the model does in a turn: each kind of turn comes again and again."""
    city = f'{{"city": "Town {number}"}}'
    kinds: tuple[tuple[Reply, ...], ...] = (
        (say(f"Text {number}."),),
        (say("Text.", thought="A thought. "),),
        (ask_for(call("clock", city), thought="The clock. "), say("Noon.")),
        (ask_for(call("fails", city), call("outside", id="x2"), text="Both."), say("Well.", thought="So. ")),
        (say("", thought="Only thought. "), say("Text.")),
        (ask_for(call("nope")), ask_for(call("clock", "{")), say("Text.")),
        (ask_for(call("clock"), call("clock", id="x2")), say("Twice.")),
        (ask_for(call("clock"), text="Cut."), refuse(401, "Invalid API Key")),
        (ask_for(call("clock")), ask_for(call("clock")), ask_for(call("clock"))),
        (say("Cut off", finish="length"),),
    )
    return kinds[number % len(kinds)]


TURNS = 30


async def some_turns(service: WholeService, session: str, beginning: str, numbers: range) -> set[str]:
    turns = [await service.turn(session, f"Turn {number}" if number else beginning) for number in numbers]
    assert await service.records(session, "cache_loss") == []
    return {turn["outcome"] for turn in turns}


@pytest.mark.cases(22)
async def test_over_thirty_turns_and_a_restart_nothing_that_was_sent_changes(tmp_path: Path) -> None:
    script = [reply for number in range(TURNS) for reply in one_turn(number)]
    llama, sessions = StrictLlama(), dict[str, str]()
    for thinking in ("on", "off"):
        llama.play(thinking, *script)
    async with llama, a_port() as port:
        for half in (range(TURNS // 2), range(TURNS // 2, TURNS)):
            async with service_over(tmp_path, llama, port) as service:
                if not sessions:
                    for thinking in ("on", "off"):
                        sessions[thinking] = await service.session(system="Be short.", thinking=thinking)
                runs = {
                    beginning: some_turns(service, session, beginning, half) for beginning, session in sessions.items()
                }
                for run in (await side_by_side(runs)).values():
                    assert run.result() == {"answered", "failed", "turn_limit"}

    assert llama.refusals == []
    for beginning in sessions:
        conversation = llama.asked_in(beginning)
        rendered = [render(asked.body) for asked in conversation]
        assert len(conversation) == len(script)
        assert only_grows(conversation)
        assert all(later.startswith(earlier) for earlier, later in pairwise(rendered))
        # Nothing that counts or names a moment is in it.
        assert re.findall(r"ses_|trn_|20\d\d-\d\d|\d\d:\d\d", rendered[-1]) == []
