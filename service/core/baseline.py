"""What is fixed for a session's whole life: the head of every prompt and the bounds of every turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from service.core.json_types import JsonObject


class ToolMode(StrEnum):
    """How a session's tools reach the prompt (X3)."""

    DIRECT = "direct"
    DISCOVER = "discover"


class Thinking(StrEnum):
    """Whether the session's template is asked to think; part of the prompt's head, so fixed (L6)."""

    ON = "on"
    OFF = "off"


class Compaction(StrEnum):
    """Whether a session may summarise its oldest part (C1)."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a turn; the defaults are the settings' defaults (DESIGN section 3)."""

    tool_iterations: int = 8
    repeat_detection: bool = True
    denied_repeats: int = 2
    thinking_tokens: int = 8192
    tool_result_cap: int = 16_384
    turn_time_s: int = 0
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateProfile:
    """What the model's chat template can and can't do, learned by asking the server (L10).

    `call_id` is `any` or `nine` (letters or digits); `thinking_off` tells where the rendering changes when
    thinking is switched off: `none` (it can't), `tail` or `head`.
    """

    hash: str
    tools: bool
    parallel: bool
    call_id: str = "any"
    system_role: bool = True
    alternates: bool = False
    object_arguments: bool = True
    thinking_off: str = "none"
    keeps_turns: bool = True
    keeps_steps: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection:
    """A session's tools: `names` are the port's, `tokens` those of the specs that stand in the prompt.

    `hash` names the stored list of specs, the service's own among them; None without tools.
    """

    mode: ToolMode = ToolMode.DIRECT
    hash: str | None = None
    names: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The fixed part of a session. `system` is the whole text that the model gets, notes of ours included."""

    system: str = ""
    tools: ToolSelection = ToolSelection()
    model: str | None = None
    sampling: JsonObject = field(default_factory=dict[str, object])
    limits: Limits = Limits()
    thinking: Thinking = Thinking.ON
    compaction: Compaction = Compaction.ON
    template: TemplateProfile | None = None
