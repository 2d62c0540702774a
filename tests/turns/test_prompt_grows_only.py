"""Over generated conversations each prompt extends the one before, and is well-formed (P2, P4)."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.baseline import Limits
from service.core.completion_events import ModelCall
from service.core.errors import ContextFull, ErrorKind, ModelFailure, UpstreamHttp
from service.core.ids import LOCAL_OWNER
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest
from service.core.views import TurnState
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama
from tests.fakes.strict_prompt import check_prompt
from tests.fakes.tool_port import TablePort, result, spec

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
call_ids = st.sampled_from([None, "", "a", "b", "c00000001", "longer-id"])
arguments = st.sampled_from(
    ["{}", '{"city": "Paris"}', '{ "city" : "Rome" }', "", "{", "[]", '{"city": 1}', '{"x": 1}']
)
calls = st.builds(
    ModelCall,
    id=call_ids,
    name=st.sampled_from(["weather", "broken", "denied", "wild", "nothing"]),
    arguments=arguments,
)
failures = st.sampled_from(
    [
        ModelFailure(ErrorKind.STREAM_CLOSED, "broke"),
        ModelFailure(ErrorKind.STALLED, "silent"),
        ModelFailure(ErrorKind.PROTOCOL, "odd"),
        ModelFailure(ErrorKind.CONNECT, "away"),
        UpstreamHttp(500, "failed"),
        ModelFailure(ErrorKind.UPSTREAM_ERROR, "Context size has been exceeded."),
        ContextFull("too long", prompt_tokens=9, context_tokens=8),
        *[None] * 14,
    ]
)
plays = st.builds(
    Play,
    content=texts,
    reasoning=texts,
    calls=st.lists(calls, max_size=3).map(tuple),
    finish_reason=st.sampled_from([None, None, "stop", "length", "content_filter", "odd"]),
    failure=failures,
)
turns = st.fixed_dictionaries(
    {
        "content": texts.filter(bool),
        "tool_choice": st.sampled_from(ToolChoice),
        "on_tool_limit": st.sampled_from(OnToolLimit),
        "limits": st.fixed_dictionaries({"tool_iterations": st.integers(0, 2)}),
    }
)
conversations = st.lists(st.tuples(turns, st.booleans()), min_size=1, max_size=4)


def answer(request: ToolRequest) -> ToolAnswer:
    if request.tool == "broken":
        return ToolAnswer(status=AnswerStatus.FAILED, text="no luck")
    if request.tool == "denied":
        return ToolAnswer(status=AnswerStatus.DENIED, text="no")
    return result("some text", untrusted=request.tool == "wild")


async def play_out(system: str, script: list[Play], conversation: list[tuple[JsonObject, bool]]) -> ScriptedLlama:
    names = ("weather", "broken", "denied", "wild")
    port = TablePort(*(spec(name) for name in names), tools=dict.fromkeys(names, answer))
    llama = ScriptedLlama(*script, Play(content="The end."), endless=True)
    house = House(llama, port, limits=Limits(tool_iterations=2))
    session = await house.session(system=system)
    for asked, cancel in conversation:
        turn = await house.start(session, **asked)
        if cancel:
            await asyncio.sleep(0)
            await house.sessions.cancel(session, turn, LOCAL_OWNER)
        view = await house.finish(session, turn)
        assert view.state is TurnState.FINISHED
        assert view.error is None or view.error.kind is not ErrorKind.INTERNAL
    return llama


def as_bytes(messages: tuple[JsonObject, ...]) -> list[bytes]:
    return [json.dumps(message, ensure_ascii=False).encode() for message in messages]


@pytest.mark.rules("P1", "P2", "P3", "P4")
@settings(max_examples=300, deadline=None, print_blob=True)
@given(texts, st.lists(plays, max_size=8), conversations)
def test_each_prompt_extends_the_one_before_and_is_well_formed(
    system: str, script: list[Play], conversation: list[tuple[JsonObject, bool]]
) -> None:
    llama = asyncio.run(play_out(system, script, conversation))

    for request in llama.requests:
        check_prompt(request.messages)
        assert (request.tools, request.thinking) == (llama.requests[0].tools, llama.requests[0].thinking)
    for earlier, later in zip(llama.requests, llama.requests[1:], strict=False):
        before, after = as_bytes(earlier.messages), as_bytes(later.messages)
        assert after[: len(before)] == before
