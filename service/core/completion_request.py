"""What is asked of the model in one step, before an adapter gives it llama-server's form."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.core.baseline import Thinking
from service.core.json_types import JsonObject
from service.core.records import ToolChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """One completion: `messages` and `tools` in the form of P1; `max_tokens` counts thinking as well.

    `tools` is empty for a session without tools, and then no tool field is sent at all (P3).
    `id_slot` is the slot that the server must take, None for any (L1). `thinking_budget_tokens` is None where the
    session does not think (L6). `logprobs` asks for the probability of each token of the answer.
    """

    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    parallel_tool_calls: bool = False
    max_tokens: int
    model: str | None = None
    sampling: JsonObject = field(default_factory=dict[str, object])
    thinking: Thinking = Thinking.ON
    thinking_budget_tokens: int | None = None
    response_format: JsonObject | None = None
    grammar: str | None = None
    id_slot: int | None = None
    logprobs: bool = False
