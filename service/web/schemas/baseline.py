"""What clients are shown of a session's baseline."""

from __future__ import annotations

from typing import Self

from service.core.baseline import Baseline, Compaction, Thinking, ToolMode
from service.core.json_types import JsonObject
from service.web.schemas.answer import Answer


class ToolsOfSession(Answer):
    """A session's tools; `tokens` are those of the specs that stand in the prompt."""

    mode: ToolMode
    names: list[str]
    count: int
    tokens: int


class LimitsAnswer(Answer):
    """The bounds of a session's turns."""

    tool_iterations: int
    repeat_detection: bool
    denied_repeats: int
    thinking_tokens: int
    tool_result_cap: int
    turn_time_s: int
    max_tokens: int


class TemplateAnswer(Answer):
    """What the model's chat template can do, as found when the session was made."""

    hash: str
    tools: bool
    parallel: bool
    call_id: str
    system_role: bool
    alternates: bool
    object_arguments: bool
    thinking_off: str
    keeps_turns: bool
    keeps_steps: bool


class BaselineAnswer(Answer):
    """What is fixed for a session's whole life."""

    system: str
    tools: ToolsOfSession
    model: str | None
    sampling: JsonObject
    limits: LimitsAnswer
    thinking: Thinking
    compaction: Compaction
    template: TemplateAnswer | None

    @classmethod
    def of(cls, baseline: Baseline) -> Self:
        """Show a baseline."""
        tools = baseline.tools
        return cls(
            system=baseline.system,
            tools=ToolsOfSession(mode=tools.mode, names=list(tools.names), count=len(tools.names), tokens=tools.tokens),
            model=baseline.model,
            sampling=baseline.sampling,
            limits=LimitsAnswer.model_validate(baseline.limits),
            thinking=baseline.thinking,
            compaction=baseline.compaction,
            template=None if baseline.template is None else TemplateAnswer.model_validate(baseline.template),
        )
