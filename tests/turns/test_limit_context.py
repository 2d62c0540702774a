"""A context that fills up ends a turn in words, and the session can be used on (T4, T9, C0)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from service.core.baseline import Compaction
from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.errors import ContextFull, ErrorKind, ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.json_types import JsonObject
from service.core.records import Limit, Outcome, ToolResult
from service.core.tool_port import ToolAnswer, ToolRequest
from service.ports import Take
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.turn_facts import end_of, results_of

pytestmark = pytest.mark.anyio

SIZE = 4096


@pytest.mark.rules("T4", "T12")
@pytest.mark.parametrize("used", [SIZE - 1, SIZE, SIZE + 1])
async def test_a_full_context_without_an_answer_is_told_from_an_answer_cut_at_max_tokens(used: int) -> None:
    thought = Play(reasoning="hm", finish_reason="length", prompt_tokens=4000, completion_tokens=used - 4000)
    house = House(ScriptedLlama(thought, say("Shorter now."), context_tokens=SIZE))
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session, "Again")

    end = await end_of(house, session)
    assert end.outcome is after.outcome is Outcome.ANSWERED
    if used < SIZE:
        assert (view.outcome, view.limit, view.error) == (Outcome.TURN_LIMIT, Limit.MAX_TOKENS, None)
        return
    assert view.error is not None
    assert (view.outcome, view.limit, view.error.kind) == (Outcome.SESSION_FULL, None, ErrorKind.CONTEXT_FULL)
    assert f"the context was full before there was an answer ({used} of {SIZE} tokens" in view.error.message
    assert "--ctx-size" in view.error.message
    assert view.usage.completions == 1


@pytest.mark.rules("T4")
@pytest.mark.parametrize("used", [SIZE - 1, SIZE, SIZE + 1])
async def test_what_was_said_until_the_context_was_full_is_a_cut_answer(used: int) -> None:
    half = say("It was a", finish_reason="length", prompt_tokens=4000, completion_tokens=used - 4000)
    house = House(ScriptedLlama(half, context_tokens=SIZE))

    view = await house.run(await house.session())

    assert (view.outcome, view.truncated, view.content, view.error) == (Outcome.ANSWERED, True, "It was a", None)


@pytest.mark.rules("T4", "T11")
@pytest.mark.parametrize("used", [SIZE - 1, SIZE])
async def test_an_empty_answer_in_a_full_context_is_not_asked_for_again(used: int) -> None:
    empty = Play(prompt_tokens=4000, completion_tokens=used - 4000)
    house = House(ScriptedLlama(empty, say("Here."), context_tokens=SIZE))

    view = await house.run(await house.session())

    assert (view.outcome, len(house.llama.requests)) == (
        (Outcome.ANSWERED, 2) if used < SIZE else (Outcome.SESSION_FULL, 1)
    )


class SmallLlama(ScriptedLlama):
    """Counts three bytes as a token, and refuses a prompt that doesn't fit, as a server does."""

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        prompt_tokens = size_of(request.messages)
        if prompt_tokens >= self.server.context_tokens:
            self.requests.append(request)
            raise ContextFull("too long", prompt_tokens=prompt_tokens, context_tokens=self.server.context_tokens)
        async for item in super().stream(request):
            if isinstance(item, Completion):
                yield replace(item, usage=replace(item.usage, prompt_tokens=prompt_tokens))
            else:
                yield item

    async def count_tokens(self, request: CompletionRequest) -> int:
        return size_of(request.messages)


def size_of(messages: Sequence[JsonObject]) -> int:
    return sum(len(message["content"].encode()) // 3 + 20 for message in messages)


def big_port() -> TablePort:
    return TablePort(spec("dump"), tools={"dump": lambda request: result("line of the dump\n" * 3600)})


@pytest.mark.cases(27)
@pytest.mark.rules("T9", "T12")
async def test_a_result_of_sixty_kilobytes_fits_a_context_of_two_thousand_tokens_and_the_session_goes_on() -> None:
    llama = SmallLlama(ask_for(call("dump")), say("It is long."), say("And it goes on."), context_tokens=2048)
    house = House(llama, big_port())
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session, "And now?")

    (shown,) = await results_of(house, session)
    assert (view.outcome, after.outcome) == (Outcome.ANSWERED, Outcome.ANSWERED)
    assert (shown.cap, shown.truncated, shown.original_bytes) == (1536, True, 61_200)
    assert len(shown.content.encode()) <= 1536
    (kept,) = [entry for entry in await house.entries(session) if isinstance(entry.record, ToolResult)]
    assert await house.sessions.full_text(session, LOCAL_OWNER, kept.seq) == "line of the dump\n" * 3600


@pytest.mark.cases(27)
@pytest.mark.rules("T9", "T12", "C0")
async def test_a_model_that_fetches_long_results_for_ever_ends_each_turn_with_an_outcome() -> None:
    class Greedy(SmallLlama):
        def _next(self) -> Play:
            return ask_for(call("dump", f'{{"city": "{len(self.requests)}"}}'))

    house = House(Greedy(context_tokens=2048), big_port())
    session = await house.session(compaction=Compaction.OFF)

    outcomes: list[Outcome | None] = []
    refused: RequestRefused | None = None
    while refused is None and len(outcomes) < 20:
        try:
            outcomes.append((await house.run(session)).outcome)
        except RequestRefused as error:
            refused = error

    assert outcomes
    assert set(outcomes) <= {Outcome.TURN_LIMIT, Outcome.SESSION_FULL}
    assert refused is not None
    assert refused.code is ProblemCode.SESSION_FULL
    caps = [shown.cap for shown in await results_of(house, session)]
    assert caps[0] == 1536
    assert all(later <= earlier for earlier, later in pairwise(caps))


@pytest.mark.rules("C0", "P7")
async def test_results_that_no_completion_has_counted_yet_count_for_the_next_message() -> None:
    class HalfSlow(TablePort):
        async def call(self, request: ToolRequest) -> ToolAnswer:
            if request.tool == "slow":
                self.arrived.set()
                await asyncio.Event().wait()
            return result("x" * 1500)

    port = HalfSlow(spec("dump"), spec("slow"))
    batch = replace(ask_for(call("dump", id="a"), call("slow", id="b")), prompt_tokens=3000)
    house = House(ScriptedLlama(batch, context_tokens=SIZE), port)
    session = await house.session()
    turn = await house.start(session)
    await port.arrived.wait()
    await house.sessions.cancel(session, turn, LOCAL_OWNER)
    house.llama.counted_tokens = SIZE

    with pytest.raises(RequestRefused) as caught:
        await house.start(session, "x" * 500)

    assert caught.value.code is ProblemCode.SESSION_FULL
