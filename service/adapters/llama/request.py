"""A completion request in llama-server's form (L1)."""

from __future__ import annotations

import json

from service.core.baseline import Thinking
from service.core.completion_request import CompletionRequest
from service.core.json_types import JsonObject
from service.core.text import encodable

# The probabilities are those before the schema is applied, so the two values of a boolean may stand behind a dozen
# tokens that the schema forbids. The most that other servers of this API allow.
_ALTERNATIVES = 20


def completion_body(request: CompletionRequest) -> bytes:
    """Write the body of `/v1/chat/completions`; our own fields win over the sampling's."""
    body: JsonObject = {
        **request.sampling,
        "messages": request.messages,
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": True,
        "return_progress": True,
        "sse_ping_interval": 10,
        "reasoning_control": True,
        "parallel_tool_calls": request.parallel_tool_calls,
    }
    if request.model is not None:
        body["model"] = request.model
    if request.id_slot is not None:
        body["id_slot"] = request.id_slot
    if request.tools:
        body |= {"tools": request.tools, "tool_choice": request.tool_choice.value}
    if request.logprobs:
        body |= {"logprobs": True, "top_logprobs": _ALTERNATIVES}
    if request.response_format is not None:
        body["response_format"] = request.response_format
    if request.grammar is not None:
        body["grammar"] = request.grammar
    if request.thinking is Thinking.ON and request.thinking_budget_tokens is not None:
        body["thinking_budget_tokens"] = request.thinking_budget_tokens
    return encode(body | _switches(request))


def template_body(request: CompletionRequest) -> bytes:
    """Write the body of `/apply-template`: all that the template reads of a request (P5)."""
    body: JsonObject = {"messages": request.messages, "parallel_tool_calls": request.parallel_tool_calls}
    if request.model is not None:
        body["model"] = request.model
    if request.tools:
        body["tools"] = request.tools
    return encode(body | _switches(request))


def text_body(text: str) -> JsonObject:
    """Write the body of `/tokenize` for a text that stands within a prompt: no token at its ends."""
    return {"content": text, "add_special": False, "parse_special": True}


def _switches(request: CompletionRequest) -> JsonObject:
    if request.thinking is Thinking.ON:
        return {}
    return {"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "none"}


def encode(body: JsonObject) -> bytes:
    """Write JSON as UTF-8."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return encodable(text).encode()
