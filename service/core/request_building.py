"""What a step asks of the model: the prompt, the tools, and how much may come back (L1, P3, L6, T11, C0)."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

from service.core.baseline import Baseline, Thinking
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from service.core.records import ToolChoice
from service.core.result_cap import BYTES_PER_TOKEN
from service.core.toolset import Toolset
from service.core.turn import AskModel
from service.core.turn_state import TurnState

# llama-server misbehaves with a budget of 0 and with tiny ones.
LEAST_THINKING_BUDGET = 16
# An empty answer is asked for again warmer and with another seed (T11).
RETRY_TEMPERATURE = 0.7
# What a template writes around each message, and around all of them, is far below this.
_TEMPLATE_TOKENS = 64
_AROUND = 2


def build_request(
    baseline: Baseline,
    messages: tuple[JsonObject, ...],
    toolset: Toolset,
    state: TurnState,
    ask: AskModel,
    context_tokens: int | None,
    *,
    counted: int = 0,
    prompt_tokens: int | None = None,
) -> CompletionRequest:
    """Build the request of one step.

    `context_tokens` is the slot's size, None while it isn't known; `counted` says how many of the messages the
    state's `used_tokens` hold. `prompt_tokens` is what the server has counted of all of them, None where it need not.
    """
    thinks = baseline.thinking is Thinking.ON
    thinking_left = state.thinking_left
    left = None
    if context_tokens is not None:
        held = held_tokens(baseline, messages, state, counted) if prompt_tokens is None else prompt_tokens
        left = max(1, context_tokens - held)
        thinking_left = min(thinking_left, left // 2)
    budget = max(LEAST_THINKING_BUDGET, thinking_left) if thinks else None
    room = state.options.limits.max_tokens + (thinking_left if thinks else 0)
    request = CompletionRequest(
        messages=messages,
        tools=toolset.prompt_specs,
        tool_choice=ask.tool_choice,
        parallel_tool_calls=bool(baseline.template and baseline.template.parallel),
        max_tokens=room if left is None else min(room, left),
        model=baseline.model,
        sampling=baseline.sampling,
        thinking=baseline.thinking,
        thinking_budget_tokens=budget,
        response_format=state.options.response_format,
    )
    if ask.retry_of is ErrorKind.EMPTY_ANSWER:
        return _asked_warmer(request, ask)
    if ask.retry_of is ErrorKind.THINKING_CAP and thinks:
        return replace(request, thinking_budget_tokens=LEAST_THINKING_BUDGET)
    return request


def held_tokens(baseline: Baseline, messages: tuple[JsonObject, ...], state: TurnState, counted: int) -> int:
    """Estimate the tokens of the next prompt: what the server has counted, and the text that came since."""
    text = sum(len(message["content"].encode()) for message in messages[counted:])
    return state.used_tokens + (0 if counted else baseline.tools.tokens) + text // BYTES_PER_TOKEN


def most_tokens(baseline: Baseline, messages: tuple[JsonObject, ...], state: TurnState, counted: int) -> int:
    """Give what the next prompt can have at most: a token is at least one byte of text."""
    new = messages[counted:]
    # Tokens of specs are an estimate until a prompt with them was counted, and a system prompt counts as text.
    specs = 0 if counted else 4 * baseline.tools.tokens
    text = sum(len(message["content"].encode()) for message in new)
    return state.used_tokens + specs + text + _TEMPLATE_TOKENS * (len(new) + _AROUND)


def slot_of(session: SessionId, slots: int) -> int:
    """Give the slot that a session is pinned to: the same one for its whole life, spread evenly (L1)."""
    return crc32(session.encode()) % slots


def _asked_warmer(request: CompletionRequest, ask: AskModel) -> CompletionRequest:
    temperature = max(RETRY_TEMPERATURE, request.sampling.get("temperature", RETRY_TEMPERATURE))
    seed = request.sampling.get("seed", 0) + 1
    budget = request.thinking_budget_tokens
    if ask.after_thought_only and budget is not None:
        budget = LEAST_THINKING_BUDGET
    sampling = {**request.sampling, "temperature": temperature, "seed": seed}
    return replace(request, sampling=sampling, thinking_budget_tokens=budget)


def measured_prompt(baseline: Baseline, messages: tuple[JsonObject, ...], toolset: Toolset) -> CompletionRequest:
    """Build what the server is asked to count or to render: a prompt that nothing is generated for (C0, P5)."""
    return CompletionRequest(
        messages=messages,
        tools=toolset.prompt_specs,
        tool_choice=ToolChoice.AUTO,
        max_tokens=1,
        model=baseline.model,
        thinking=baseline.thinking,
    )
