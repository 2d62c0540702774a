"""Whatever a model writes as arguments, the call ends in a bounded result, and the turn goes on (case 16)."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.cases.bad_arguments import NO_OBJECTS, WRONG_OBJECTS
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, WholeService, side_by_side

pytestmark = [pytest.mark.anyio, pytest.mark.cases(16), pytest.mark.rules("T10", "P4")]

# Where the quoted text is all control characters, each is told by a name of six characters.
LONGEST_RESULT = 2500
ROOMY = 4_000_000
LARGE = 10_000


class BadCall(NamedTuple):
    """What became of it: the result's status and text, and the arguments that the next prompt shows."""

    status: str
    text: str
    shown: str


async def bad_call(service: WholeService, llama: StrictLlama, call: Call, **session: object) -> BadCall:
    """Have the model make a call, and go on with the session."""
    beginning = f"Number {len(llama.scripts)}"
    llama.play(beginning, ask_for(call), say("I see."), say("Yes."))
    path = await service.session(**session)
    turn = await service.turn(path, beginning)
    assert (turn["outcome"], turn["content"], turn["steps"]) == ("answered", "I see.", 2)
    assert (await service.turn(path))["content"] == "Yes."
    [result] = await service.records(path, "tool_result")
    shown = next(message for message in llama.asked_in(beginning)[-1].messages if message.get("tool_calls"))
    return BadCall(result["status"], result["content"], shown["tool_calls"][0]["function"]["arguments"])


async def test_the_result_says_so_and_the_prompt_shows_an_object(start: Start, subtests: pytest.Subtests) -> None:
    llama, port = StrictLlama(context_tokens=ROOMY), FakePort()
    service = await start(llama, port)
    kinds = NO_OBJECTS | WRONG_OBJECTS
    runs = {name: bad_call(service, llama, Call(name="clock", arguments=raw)) for name, raw in kinds.items()}
    for name, run in (await side_by_side(runs)).items():
        with subtests.test(name):
            found = run.result()

            assert found.status == "bad_arguments"
            assert found.shown == ("{}" if name in NO_OBJECTS else kinds[name])
            assert len(found.text) <= LONGEST_RESULT
    assert port.calls == []


def through_call_tool(raw: str) -> dict[str, str]:
    """Put arguments into a `call_tool` in the ways in which a model does."""
    return {
        "as they are": f'{{"name":"clock","arguments":{raw}}}',
        "as a text": json.dumps({"name": "clock", "arguments": raw}),
        "in place of its own": raw,
    }


async def test_through_call_tool_nothing_else_comes_through(start: Start, subtests: pytest.Subtests) -> None:
    llama, port = StrictLlama(context_tokens=ROOMY), FakePort()
    service = await start(llama, port)
    calls = {
        f"{name}, {how}": Call(name="call_tool", arguments=arguments)
        for name, raw in (NO_OBJECTS | WRONG_OBJECTS).items()
        for how, arguments in through_call_tool(raw).items()
        # A good call has an object in a text as well; and what is large need be sent in one way only.
        if (name, how) != ("an object in a text", "as they are") and (len(raw) < LARGE or how == "as a text")
    }
    runs = {name: bad_call(service, llama, call, tools={"mode": "discover"}) for name, call in calls.items()}
    for name, run in (await side_by_side(runs)).items():
        with subtests.test(name):
            found = run.result()

            assert found.status == "bad_arguments"
            assert found.shown in ("{}", calls[name].arguments)
            assert len(found.text) <= LONGEST_RESULT
    assert port.calls == []
