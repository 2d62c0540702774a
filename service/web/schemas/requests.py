"""What clients send. Strict: `"5"` is not 5, and a field that is not known is refused (H2).

`null` means the same as leaving a field out.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from service.core.baseline import Compaction, Thinking, ToolMode
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice
from service.turns.requests import SessionAsked, ToolsAsked, TurnAsked
from service.web.schemas.text_bounds import LongText, ShortText
from service.web.validation import NOT_AVAILABLE

METADATA_KEYS_MAX = 16
TITLE_CHARACTERS_MAX = 200
STOPS_MAX = 16

# Enumerations come as strings, which strict models would refuse.
_FromString = Field(strict=False)


class StrictModel(BaseModel):
    """What all requests have in common."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _not_yet(*planned: str) -> BeforeValidator:
    """Refuse values whose meaning comes with a later version, instead of taking them for something else."""

    def check(value: object) -> object:
        if value in planned:
            raise PydanticCustomError("not_available", "{value} " + NOT_AVAILABLE, {"value": str(value)})
        return value

    return BeforeValidator(check)


def _string_or_strings(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    strings = cast(list[object], value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) for item in strings):
        raise PydanticCustomError("stop", "should be a string or a list of strings")
    return strings


def _finite(value: JsonObject) -> JsonObject:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise PydanticCustomError("not_finite", "has a number that is too large") from error
    return value


def _whole(value: object) -> object:
    # In JSON 5.0 is the same number as 5, and some languages write it so.
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Behind the bounds in each annotation, so that they stay bounds of the integer itself.
Whole = BeforeValidator(_whole)


class SamplingRequest(StrictModel):
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


class LimitsRequest(StrictModel):
    """Bounds of a turn; a request may lower what the settings allow."""

    tool_iterations: Annotated[int, Field(ge=0), Whole] | None = None
    repeat_detection: bool | None = None
    denied_repeats: Annotated[int, Field(ge=1), Whole] | None = None
    thinking_tokens: Annotated[int, Field(ge=0), Whole] | None = None
    tool_result_cap: Annotated[int, Field(ge=256, description="Bytes of UTF-8."), Whole] | None = None
    turn_time_s: Annotated[int, Field(ge=0, description="Seconds; 0 means no bound."), Whole] | None = None
    max_tokens: Annotated[int, Field(ge=1), Whole] | None = None


class ToolsRequest(StrictModel):
    """Which tools a session has: without `names`, or with null, all; with an empty list none."""

    mode: Annotated[Literal["direct", "auto"], _not_yet("discover")] | None = None
    names: list[str] | None = None

    def to_asked(self) -> ToolsAsked:
        """Give it in the words of the core."""
        return ToolsAsked(
            names=None if self.names is None else tuple(self.names),
            mode=ToolMode.DIRECT if self.mode == "direct" else None,
        )


Title = Annotated[str, Field(max_length=TITLE_CHARACTERS_MAX)]
Metadata = Annotated[
    dict[ShortText, ShortText],
    Field(max_length=METADATA_KEYS_MAX, description="Keys and values have at most 512 bytes of UTF-8 each."),
]


class SessionRequest(StrictModel):
    """A new session; what is left out comes from the agent's profile, then from the settings."""

    agent: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    system: Annotated[LongText, Field(description="The system prompt, at most 1 MiB of UTF-8.")] | None = None
    tools: ToolsRequest | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    title: Title | None = None
    metadata: Metadata | None = None
    sampling: SamplingRequest | None = None
    limits: LimitsRequest | None = None
    thinking: Annotated[Thinking, _FromString] | None = None
    compaction: Annotated[Compaction, _FromString] | None = None

    def to_asked(self) -> SessionAsked:
        """Give it in the words of the core."""
        return SessionAsked(
            agent=self.agent,
            system=self.system,
            tools=None if self.tools is None else self.tools.to_asked(),
            model=self.model,
            title=self.title or "",
            metadata=dict(self.metadata or {}),
            sampling=_given(self.sampling),
            limits=_given(self.limits),
            thinking=self.thinking,
            compaction=self.compaction,
        )


class SessionPatch(StrictModel):
    """What may change in a session; metadata is replaced as a whole."""

    title: Title | None = None
    metadata: Metadata | None = None


class TurnRequest(StrictModel):
    """A user's message and how its turn is run."""

    content: Annotated[LongText, Field(min_length=1, description="The message, at most 1 MiB of UTF-8.")]
    on_busy: (
        Annotated[
            Literal["reject"],
            _not_yet("queue", "interrupt"),
            Field(description="What to do while another turn runs: refuse this one."),
        ]
        | None
    ) = None
    tool_choice: Annotated[ToolChoice, _FromString] | None = None
    on_tool_limit: Annotated[OnToolLimit, _FromString] | None = None
    limits: LimitsRequest | None = None
    response_format: Annotated[dict[str, Any], AfterValidator(_finite)] | None = None

    def to_asked(self) -> TurnAsked:
        """Give it in the words of the core."""
        return TurnAsked(
            content=self.content,
            tool_choice=self.tool_choice or ToolChoice.AUTO,
            on_tool_limit=self.on_tool_limit or OnToolLimit.STOP,
            limits=_given(self.limits),
            response_format=self.response_format,
        )


def _given(model: StrictModel | None) -> JsonObject | None:
    return None if model is None else model.model_dump(exclude_none=True)
