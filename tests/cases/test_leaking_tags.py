"""Thought that leaks into the content is told from the answer, wherever the stream is cut (case 20)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked, Script, StrictLlama
from tests.cases.whole_service import Start, side_by_side
from tests.web.serving import Frame

pytestmark = [pytest.mark.anyio, pytest.mark.cases(20), pytest.mark.rules("L5", "L6")]

BUDGET = 16
TAIL = "so be it"
ANSWER = "It is noon."
LEAK = f"{TAIL}</think>\n\n{ANSWER}"


def after_its_budget(reply: Callable[[Sequence[str]], Reply]) -> Script:
    """Think for as many tokens as the request allows, and then reply."""
    return lambda asked: reply(_thought(asked))


def _thought(asked: Asked) -> list[str]:
    return [f"t{number} " for number in range(asked.body["thinking_budget_tokens"])]


THOUGHT = "".join(f"t{number} " for number in range(BUDGET))


def shown(frames: list[Frame], event: str) -> str:
    return "".join(frame.data["text"] for frame in frames if frame.field("event") == event)


def leaks(*pieces: str) -> Script:
    return after_its_budget(lambda thought: say(pieces, thought=thought))


CUTS: dict[str, tuple[str, ...]] = {f"cut at {at}": (LEAK[:at], LEAK[at:]) for at in range(1, len(LEAK))}
LEAKS = CUTS | {
    "whole": (LEAK,),
    "one by one": tuple(LEAK),
    "three by three": tuple(LEAK[at : at + 3] for at in range(0, len(LEAK), 3)),
}


async def test_behind_a_budget_the_rest_of_the_thought_is_thought(start: Start, subtests: pytest.Subtests) -> None:
    llama = StrictLlama()
    service = await start(llama)

    async def think(kind: str) -> tuple[list[Frame], dict[str, str]]:
        llama.play(kind, leaks(*LEAKS[kind]))
        session = await service.session(limits={"thinking_tokens": BUDGET})
        return await service.frames(session, kind), (await service.messages(session))[-1]

    for kind, run in (await side_by_side({kind: think(kind) for kind in LEAKS})).items():
        with subtests.test(kind):
            frames, message = run.result()

            assert (shown(frames, "content"), shown(frames, "reasoning")) == (ANSWER, THOUGHT + TAIL)
            assert message == {"role": "assistant", "content": ANSWER, "reasoning_content": THOUGHT + TAIL}


OTHERS: dict[str, tuple[Script, str, str]] = {
    "a closing tag alone": (leaks("</think>", ANSWER), ANSWER, THOUGHT),
    "white space before the closing tag": (say(["\n ", "</thi", "nk>\n", ANSWER]), ANSWER, ""),
    "a whole thought in the content": (say(["<thi", "nk>Hm.</th", "ink>", ANSWER]), ANSWER, "Hm."),
    "a thought without an end": (leaks("and on ", "and on"), "and on and on", THOUGHT),
    "tags in the answer": (say(["Write <think>", "Hm.</think>"]), "Write <think>Hm.</think>", ""),
    "half a tag": (leaks(f"{TAIL}</think>", "</thin> air"), "</thin> air", THOUGHT + TAIL),
}


async def test_other_tags_are_obeyed_before_the_answer_and_are_text_in_it(
    start: Start, subtests: pytest.Subtests
) -> None:
    llama = StrictLlama()
    service = await start(llama)

    async def think(kind: str) -> list[Frame]:
        llama.play(kind, OTHERS[kind][0])
        return await service.frames(await service.session(limits={"thinking_tokens": BUDGET}), kind)

    for kind, run in (await side_by_side({kind: think(kind) for kind in OTHERS})).items():
        with subtests.test(kind):
            frames = run.result()

            assert (shown(frames, "content"), shown(frames, "reasoning")) == OTHERS[kind][1:]


async def test_a_call_behind_a_leak_runs_and_has_no_thought_in_its_message(start: Start) -> None:
    calls = after_its_budget(
        lambda thought: ask_for(Call(name="clock"), text=(TAIL, "</thi", "nk>\n\n"), thought=thought)
    )
    llama, port = StrictLlama(calls, say(ANSWER)), FakePort()
    service = await start(llama, port)
    session = await service.session(limits={"thinking_tokens": BUDGET})
    turn = await service.turn(session)
    said = next(message for message in llama.asked[-1].messages if message["role"] == "assistant")

    assert (turn["content"], len(port.calls)) == (ANSWER, 1)
    assert (said["content"], said["reasoning_content"]) == ("", THOUGHT + TAIL)
