"""What a turn is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.baseline import Limits
from service.core.json_types import JsonObject


class ToolChoice(StrEnum):
    """Whether the model may, must or must not call tools."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


class OnToolLimit(StrEnum):
    """What follows the last allowed batch: stop, or ask once more for an answer without calls (T5)."""

    STOP = "stop"
    CONCLUDE = "conclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """What a turn was asked to do, with its limits already merged, so that a fold needs no settings."""

    tool_choice: ToolChoice = ToolChoice.AUTO
    on_tool_limit: OnToolLimit = OnToolLimit.STOP
    limits: Limits = Limits()
    response_format: JsonObject | None = None
