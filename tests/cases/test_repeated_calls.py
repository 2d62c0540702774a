"""A model that makes the same call again and again is stopped, however it writes it (case 26)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, cycle

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked, Script, StrictLlama
from tests.cases.whole_service import Start, side_by_side

pytestmark = [pytest.mark.anyio, pytest.mark.cases(26), pytest.mark.rules("T5", "T7", "A4", "X4")]

SPELLINGS = (
    '{"city":"Rome","days":3,"deep":{"a":[1,"\u00e9"],"b":null}}',
    '{"deep":{"b":null,"a":[1,"\u00e9"]},"days":3,"city":"Rome"}',
    '\n{ "city" : "Rome",\r\n\t"days": 3 , "deep": { "a":[ 1 , "\u00e9" ], "b":null } } ',
    '{"\\u0063ity":"\\u0052om\\u0065","days":3,"deep":{"a":[1,"\\u00e9"],"b":null}}',
)
TOOLS = ("clock", "other", "fails", "breaks", "denied")


def wrapped(arguments: str, name: str = "clock") -> tuple[Call, ...]:
    """Put a call into a `call_tool`, in the ways in which models do."""
    as_object = f'{{"name":"{name}","arguments":{arguments}}}'
    turned = f'{{ "arguments" : {arguments} , "name":"{name}" }}'
    as_text = json.dumps({"name": name, "arguments": arguments})
    return tuple(Call(name="call_tool", arguments=text) for text in (as_object, turned, as_text))


def each(*calls: Call) -> list[Reply]:
    return [ask_for(call) for call in calls]


def of(name: str, *texts: str) -> list[Reply]:
    return each(*(Call(name=name, arguments=text) for text in texts))


THROUGH = [call for text in SPELLINGS for call in wrapped(text)]
DRESSED = [
    ask_for(
        Call(name="clock", arguments=SPELLINGS[number % 4], id=f"id-{number}"), text=f"Try {number}.", thought="Hm."
    )
    for number in range(12)
]

FOR_EVER: dict[str, tuple[Sequence[Reply], str, int]] = {
    "the same text": (of("clock", SPELLINGS[0]), "repeated_call", 1),
    "no arguments": (of("clock", "{}"), "repeated_call", 1),
    "keys in another order": (of("clock", *SPELLINGS[:2]), "repeated_call", 1),
    "other white space": (of("clock", SPELLINGS[0], SPELLINGS[2]), "repeated_call", 1),
    "escapes": (of("clock", SPELLINGS[0], SPELLINGS[3]), "repeated_call", 1),
    "other words and ids around it": (DRESSED, "repeated_call", 1),
    "through call_tool": (each(*THROUGH), "repeated_call", 1),
    "by name and through call_tool": (
        each(Call(name="clock", arguments=SPELLINGS[0]), *THROUGH[3:5]),
        "repeated_call",
        1,
    ),
    "twice in each batch": ([ask_for(*(Call(name="clock", id=i) for i in "ab"))], "repeated_call", 1),
    "nine times in one batch": ([ask_for(*(Call(name="clock", id=i) for i in "abcdefghi"))], "repeated_call", 0),
    "two by turns": ([*of("clock", *SPELLINGS[:2]), *of("other", *SPELLINGS[:2])], "repeated_call", 2),
    "three by turns": (of("clock", '{"n":1}', '{"n":2}', '{"n":3}'), "repeated_call", 3),
    "numbers that are equal by value alone": (of("clock", '{"n":1}', '{"n":1.0}', '{"n":1e0}'), "repeated_call", 3),
    "one that fails": (of("fails", *SPELLINGS), "repeated_call", 2),
    "one that breaks off": (of("breaks", *SPELLINGS), "repeated_call", 2),
    "one that fails, through call_tool": (each(*wrapped(SPELLINGS[0], "fails")), "repeated_call", 2),
    "one that is denied": (of("denied", *SPELLINGS), "denied_repeatedly", 1),
    "another each time": (of("clock", *(f'{{"n":{n}}}' for n in range(50))), "tool_iterations", 8),
    "one that may be repeated": (of("poll", "{}"), "tool_iterations", 8),
    "bad arguments": (of("clock", "{"), "tool_iterations", 0),
    "an unknown tool": (of("nope", "{}"), "tool_iterations", 0),
    "call_tool within call_tool": (each(*wrapped("{}", "call_tool")), "tool_iterations", 0),
}


def a_port() -> FakePort:
    return FakePort(
        *map(open_spec, TOOLS),
        open_spec("poll", repeatable=True),
        answers={
            "fails": lambda _: {"status": "failed", "message": "no"},
            "breaks": lambda _: None,
            "denied": lambda _: {"status": "denied", "reason": "not allowed"},
        },
    )


def stubborn(replies: Iterator[Reply]) -> Script:
    """Go on with the same, unless calls are forbidden or the user says to stop."""

    def reply(asked: Asked) -> Reply:
        users = [message["content"] for message in asked.messages if message["role"] == "user"]
        return say("Done.") if users[-1] == "Stop." or asked.body["tool_choice"] == "none" else next(replies)

    return reply


@pytest.mark.parametrize("on_tool_limit", ["stop", "conclude"])
async def test_it_ends_at_its_limit_and_the_session_goes_on(
    start: Start, subtests: pytest.Subtests, on_tool_limit: str
) -> None:
    llama, port = StrictLlama(), a_port()
    service = await start(llama, port)
    numbers = count()

    async def ask(kind: str) -> tuple[JsonObject, int, JsonObject]:
        beginning = f"{kind} {next(numbers)}"
        llama.play(beginning, stubborn(cycle(FOR_EVER[kind][0])))
        session = await service.session(tools={"mode": "discover"})
        turn = await service.turn(session, beginning, on_tool_limit=on_tool_limit)
        ran = sum(call.key.startswith(f'"{session.removeprefix("/sessions/")}/') for call in port.calls)
        return turn, ran, await service.turn(session, "Stop.")

    for kind, run in (await side_by_side({kind: ask(kind) for kind in FOR_EVER})).items():
        with subtests.test(kind):
            turn, ran, next_turn = run.result()
            _, limit, runs = FOR_EVER[kind]

            assert (turn["limit"], ran) == (limit, runs)
            assert turn["outcome"] == ("answered" if on_tool_limit == "conclude" else "turn_limit")
            assert next_turn["outcome"] == "answered"
