"""Shapes that an agents file and a request share, strict in both: `"5"` is not 5, unknown names are refused."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from service.core.baseline import ToolMode
from service.core.result_cap import LEAST_CAP

STOPS_MAX = 16


class StrictModel(BaseModel):
    """What all of them have in common."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _string_or_strings(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    strings = cast(list[object], value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) for item in strings):
        raise PydanticCustomError("stop", "should be a string or a list of strings")
    return strings


def _whole(value: object) -> object:
    # In JSON 5.0 is the same number as 5, and some languages write it so.
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Behind the bounds in each annotation, so that they stay bounds of the integer itself.
Whole = BeforeValidator(_whole)


class Sampling(StrictModel):
    """How the model draws its tokens."""

    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0, le=2**31 - 1, description="0 means no bound."), Whole] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    typical_p: Annotated[float, Field(gt=0, le=1)] | None = None
    repeat_penalty: Annotated[float, Field(gt=0, le=100)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    seed: Annotated[int, Field(ge=-1, le=2**32 - 1, description="-1 draws one."), Whole] | None = None
    stop: Annotated[
        Annotated[str, Field(min_length=1)]
        | Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=STOPS_MAX)]
        | None,
        BeforeValidator(_string_or_strings),
    ] = None


class LowerLimits(StrictModel):
    """Bounds of a turn; they may lower what the settings allow."""

    tool_iterations: Annotated[int, Field(ge=0), Whole] | None = None
    repeat_detection: bool | None = None
    denied_repeats: Annotated[int, Field(ge=1), Whole] | None = None
    tool_result_cap: Annotated[int, Field(ge=LEAST_CAP, description="Bytes of UTF-8."), Whole] | None = None
    turn_time_s: Annotated[int, Field(ge=0, description="Seconds; 0 means no bound."), Whole] | None = None
    thinking_tokens: Annotated[int, Field(ge=0), Whole] | None = None
    max_tokens: Annotated[int, Field(ge=1), Whole] | None = None


class ToolsWanted(StrictModel):
    """Which tools a session has: without `names`, or with null, all; with an empty list none."""

    mode: Literal["direct", "discover", "auto"] | None = None
    names: list[str] | None = None

    def tool_mode(self) -> ToolMode | None:
        """Give the mode that was asked for; None leaves it to the size of the specs (X3)."""
        return None if self.mode in (None, "auto") else ToolMode(self.mode)
