"""A result far longer than the context ends no session (case 27)."""

from __future__ import annotations

from itertools import count

import httpx
import pytest

from service.core.json_types import JsonObject
from service.core.summarising import INSTRUCTIONS
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked, Script, StrictLlama
from tests.cases.whole_service import AT_ONCE, Start, side_by_side

pytestmark = [pytest.mark.anyio, pytest.mark.cases(27), pytest.mark.rules("T9", "C0", "P7")]

SIZE = 60_000
SUMMARISE = INSTRUCTIONS.partition(".")[0]
TEXTS = {
    "prose": "The tide comes in. ",
    "numbers": "3.14159,",
    "JSON": '{"a":[1,2,{"b":"\\n"}]}',
    "Chinese": "\u6f6e\u6c34\u6765\u4e86",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "one letter with very many marks": "\u0301",
    "control characters": "\x1b\0",
}


def long(unit: str) -> str:
    return unit * (SIZE // len(unit.encode()))


def port() -> FakePort:
    return FakePort(open_spec("fetch"), answers={"fetch": lambda call: long(TEXTS[call.arguments["kind"]])})


def fetches(kind: str, batch: int, first: int = 0) -> Reply:
    numbers = range(first, first + batch)
    return ask_for(*(Call(name="fetch", arguments=f'{{"kind":"{kind}","n":{n}}}', id=f"id-{n}") for n in numbers))


@pytest.mark.parametrize("bytes_per_token", [4, 3])
async def test_the_turn_is_answered_and_so_is_the_next(
    start: Start, subtests: pytest.Subtests, bytes_per_token: int
) -> None:
    llama = StrictLlama(context_tokens=2048, bytes_per_token=bytes_per_token)
    service = await start(llama, port())

    kinds = {f"{kind}, {batch} at once": (kind, batch) for kind in TEXTS for batch in (1, 4)}

    async def ask(beginning: str) -> tuple[JsonObject, list[JsonObject], JsonObject]:
        llama.play(beginning, fetches(*kinds[beginning]), say("That is long."), say("Yes."))
        session = await service.session()
        turn = await service.turn(session, beginning)
        return turn, await service.records(session, "tool_result"), await service.turn(session, "Can you go on?")

    for name, run in (await side_by_side({name: ask(name) for name in kinds})).items():
        with subtests.test(name):
            turn, results, next_turn = run.result()
            kind, batch = kinds[name]

            assert (turn["outcome"], turn["content"]) == ("answered", "That is long.")
            assert (next_turn["outcome"], next_turn["content"]) == ("answered", "Yes.")
            assert [result["truncated"] for result in results] == [True] * batch
            assert [result["original_bytes"] for result in results] == [len(long(TEXTS[kind]).encode())] * batch


def greedy(kinds: dict[str, tuple[str, int]]) -> Script:
    """Fetch on and on, unless the user says to stop; the first message names what. A summary says little."""
    numbers = {beginning: count(step=batch) for beginning, (_, batch) in kinds.items()}

    def reply(asked: Asked) -> Reply:
        users = [message["content"] for message in asked.messages if message["role"] == "user"]
        if users[0].startswith(SUMMARISE):
            return say("Much was fetched.")
        if users[-1].endswith("Stop."):
            return say("Yes.")
        # Behind a summary as well, which quotes it.
        beginning = next(name for name in kinds if name in users[0])
        return fetches(*kinds[beginning], next(numbers[beginning]))

    return reply


@pytest.mark.parametrize("compaction", ["on", "off"])
@pytest.mark.parametrize("bytes_per_token", [4, 1])
async def test_a_context_that_is_full_all_the_same_is_an_outcome_and_the_next_message_is_told_its_size(
    start: Start, subtests: pytest.Subtests, bytes_per_token: int, compaction: str
) -> None:
    kinds = {f"{kind}, {batch} at once": (kind, batch) for kind in ("prose", "Chinese", "emoji") for batch in (1, 20)}
    llama = StrictLlama(greedy(kinds), context_tokens=2048, bytes_per_token=bytes_per_token)
    service = await start(llama, port())

    async def ask(beginning: str) -> tuple[JsonObject, httpx.Response, JsonObject | None, str]:
        session = await service.session(compaction=compaction)
        # Followed and not waited for in one go: six of them at once take their time.
        turn = await service.finish(await service.start(session, beginning))
        told = await service.served.http.post(f"{session}/turns", json={"content": "Stop."}, headers=AT_ONCE)
        last = await service.finish(told.headers["location"]) if told.status_code == 202 else None
        return turn, told, last, (await service.served.http.get(session)).json()["state"]

    for name, run in (await side_by_side({kind: ask(kind) for kind in kinds})).items():
        with subtests.test(name):
            turn, told, last, state = run.result()

            assert turn["outcome"] in ("session_full", "turn_limit")
            assert state == "idle"
            if last is not None:
                assert (last["outcome"], last["content"]) == ("answered", "Yes.")
            else:
                assert (told.status_code, told.json()["code"]) == (409, "session_full")
                assert told.json()["needed_tokens"] > told.json()["size_tokens"] == 2048
