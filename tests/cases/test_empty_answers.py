"""An answer without text and calls is none (case 18)."""

from __future__ import annotations

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, side_by_side

pytestmark = [pytest.mark.anyio, pytest.mark.cases(18), pytest.mark.rules("T11", "P4")]

EMPTY = {
    "nothing": Reply(),
    "an empty text": Reply(deltas=({"content": ""},)),
    "white space": say([" ", "\n", "\t"]),
    "white space beyond ASCII": say(["\u2028", "\u0085", "\u3000"]),
    "a thought only": say("", thought="I could say hello. "),
    "a thought and white space": say(["\n\n"], thought="Hm. "),
    "a thought in the content": say(["<think>", "I could say hello.", "</think>"]),
    "a thought in the content without an end": say(["<think>", "I could"]),
    "an empty thought in the content": say("<think>\n\n</think>\n\n"),
    "calls that aren't there": Reply(finish="tool_calls"),
    "an unknown reason": Reply(finish="eos"),
}


BEFORE = {"at once": (), "behind a tool": (ask_for(Call(name="clock")),)}
KINDS = {f"{name}, {when}": (before, empty) for name, empty in EMPTY.items() for when, before in BEFORE.items()}


async def test_once_empty_is_asked_again(start: Start, subtests: pytest.Subtests) -> None:
    llama = StrictLlama()
    service = await start(llama, FakePort())

    async def ask(kind: str) -> JsonObject:
        before, empty = KINDS[kind]
        llama.play(kind, *before, empty, say("Hello."))
        return await service.turn(await service.session(), kind)

    for kind, run in (await side_by_side({kind: ask(kind) for kind in KINDS})).items():
        with subtests.test(kind):
            turn, asked = run.result(), llama.asked_in(kind)

            assert (turn["outcome"], turn["content"]) == ("answered", "Hello.")
            assert len(asked) == len(KINDS[kind][0]) + 2
            assert asked[-2].member("messages") == asked[-1].member("messages")
            assert asked[-1].body["temperature"] >= 0.7


async def test_always_empty_is_a_typed_failure_and_leaves_no_empty_message(
    start: Start, subtests: pytest.Subtests
) -> None:
    llama = StrictLlama()
    service = await start(llama, FakePort())

    async def ask(kind: str) -> tuple[JsonObject, JsonObject]:
        before, empty = KINDS[kind]
        llama.play(kind, *before, empty, empty, say("Hello."))
        session = await service.session()
        return await service.turn(session, kind), await service.turn(session)

    for kind, run in (await side_by_side({kind: ask(kind) for kind in KINDS})).items():
        with subtests.test(kind):
            turn, next_turn = run.result()
            said = [m for m in llama.asked_in(kind)[-1].messages if m["role"] == "assistant" and "tool_calls" not in m]

            assert (turn["outcome"], turn["error"]["kind"]) == ("failed", "empty_answer")
            assert (next_turn["outcome"], next_turn["content"]) == ("answered", "Hello.")
            assert [message["content"] for message in said] == ["(I could not answer: something failed on my side.)"]
