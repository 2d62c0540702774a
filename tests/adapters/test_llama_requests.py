"""What is sent for a completion and for counting its tokens (L1, P7)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import respx

from service.adapters.llama.request import completion_body
from service.core.baseline import Thinking
from service.core.completion_request import CompletionRequest
from service.core.errors import ModelFailure
from service.core.records import ToolChoice
from tests.adapters.llama_routes import mocked
from tests.adapters.scripted_llama import llama_at, scripted
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.anyio

MESSAGES = ({"role": "system", "content": "Be kind."}, {"role": "user", "content": "Grüße 😀"})
ASK = CompletionRequest(messages=MESSAGES, max_tokens=16)
TOOLS: tuple[dict[str, Any], ...] = ({"type": "function", "function": {"name": "weather", "parameters": {}}},)
TOOL = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
PLAIN = recorded("plain")


async def sent(request: CompletionRequest) -> Any:
    """Ask for a completion and give the body that was sent."""
    async with scripted([PLAIN.raw]) as server, llama_at(server.url) as llama:
        assert [item async for item in llama.stream(request)]
    assert server.requests[0].headers["content-type"] == "application/json"
    return server.requests[0].json


ALWAYS: dict[str, Any] = {
    "messages": list(MESSAGES),
    "max_tokens": 16,
    "stream": True,
    "stream_options": {"include_usage": True},
    "cache_prompt": True,
    "return_progress": True,
    "sse_ping_interval": 10,
    "reasoning_control": True,
    "parallel_tool_calls": False,
}


@pytest.mark.rules("L1")
async def test_a_request_has_these_fields_and_no_others() -> None:
    assert await sent(ASK) == ALWAYS


@pytest.mark.rules("L1", "L6")
@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({"model": "qwen"}, {"model": "qwen"}),
        ({"sampling": {"temperature": 0.2, "stop": ["X"]}}, {"temperature": 0.2, "stop": ["X"]}),
        ({"sampling": {"stream": False, "max_tokens": 9, "messages": []}}, {}),
        ({"tools": (TOOL,)}, {"tools": [TOOL], "tool_choice": "auto"}),
        (
            {"tools": (TOOL,), "tool_choice": ToolChoice.REQUIRED, "parallel_tool_calls": True},
            {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": True},
        ),
        ({"tool_choice": ToolChoice.NONE}, {}),
        ({"thinking_budget_tokens": 512}, {"thinking_budget_tokens": 512}),
        (
            {"thinking": Thinking.OFF, "thinking_budget_tokens": 512},
            {"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "none"},
        ),
        ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
        ({"logprobs": True}, {"logprobs": True, "top_logprobs": 20}),
    ],
    ids=[
        "model",
        "sampling",
        "not overridden",
        "tools",
        "required",
        "no tools",
        "budget",
        "thinking off",
        "format",
        "probabilities",
    ],
)
async def test_what_a_request_asks_for_is_added(members: dict[str, Any], fields: dict[str, Any]) -> None:
    request = CompletionRequest(messages=MESSAGES, max_tokens=16, **members)

    assert await sent(request) == {**ALWAYS, **fields}


@pytest.mark.rules("L1")
async def test_half_a_surrogate_pair_is_sent_as_a_replacement_character() -> None:
    request = CompletionRequest(messages=({"role": "user", "content": "a\ud83d"},), max_tokens=16)

    assert (await sent(request))["messages"][0]["content"] == "a\ufffd"


@pytest.mark.rules("P7")
async def test_tokens_are_counted_by_the_server_from_the_same_body(router: respx.MockRouter) -> None:
    counting = router.post("/v1/chat/completions/input_tokens").respond(200, content=recorded("input_tokens").body)
    async with mocked(router) as llama:
        assert await llama.count_tokens(ASK) == 308

    assert json.loads(counting.calls.last.request.content) == ALWAYS


@pytest.mark.rules("P7")
@pytest.mark.parametrize("body", [{}, {"input_tokens": "308"}, {"input_tokens": -1}])
async def test_a_count_that_is_none_is_a_failure(router: respx.MockRouter, body: dict[str, Any]) -> None:
    router.post("/v1/chat/completions/input_tokens").respond(200, json=body)
    async with mocked(router) as llama:
        with pytest.raises(ModelFailure, match="without telling input_tokens"):
            await llama.count_tokens(ASK)


@pytest.mark.rules("P5")
@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({}, {}),
        ({"tools": TOOLS, "sampling": {"seed": 1}, "model": "m"}, {"tools": list(TOOLS), "model": "m"}),
        (
            {"thinking": Thinking.OFF},
            {"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "none"},
        ),
    ],
)
async def test_a_prompt_is_rendered_from_all_that_the_template_reads(
    router: respx.MockRouter, members: dict[str, Any], fields: dict[str, Any]
) -> None:
    rendering = router.post("/apply-template").respond(200, json={"prompt": "<user>Hi"})
    async with mocked(router) as llama:
        assert await llama.render(CompletionRequest(messages=MESSAGES, max_tokens=16, **members)) == "<user>Hi"

    body = {"messages": list(MESSAGES), "parallel_tool_calls": False, **fields}
    assert json.loads(rendering.calls.last.request.content) == body


@pytest.mark.rules("P5")
async def test_a_rendering_that_is_none_is_a_failure(router: respx.MockRouter) -> None:
    router.post("/apply-template").respond(200, json={"prompt": 7})
    async with mocked(router) as llama:
        with pytest.raises(ModelFailure, match="without telling it"):
            await llama.render(ASK)


@pytest.mark.rules("L1")
def test_a_slot_is_named_only_when_one_is_asked_for() -> None:
    request = CompletionRequest(messages=(), max_tokens=1)
    assert "id_slot" not in json.loads(completion_body(request))
    assert json.loads(completion_body(replace(request, id_slot=0)))["id_slot"] == 0
