"""What clients send. Strict: `"5"` is not 5, and a field that is not known is refused (H2).

`null` means the same as leaving a field out.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from service.config.shapes import LowerLimits, Sampling, StrictModel, ToolsWanted
from service.core.baseline import Compaction, Thinking
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice
from service.core.trace_context import TraceContext
from service.turns.requests import ForkAsked, OnBusy, SessionAsked, ToolsAsked, TurnAsked
from service.web.schemas.text_bounds import LongText, ShortText

METADATA_KEYS_MAX = 16
TITLE_CHARACTERS_MAX = 200

# Enumerations come as strings, which strict models would refuse.
_FromString = Field(strict=False)


def _finite(value: JsonObject) -> JsonObject:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise PydanticCustomError("not_finite", "has a number that is too large") from error
    return value


Title = Annotated[str, Field(max_length=TITLE_CHARACTERS_MAX)]
Metadata = Annotated[
    dict[ShortText, ShortText],
    Field(max_length=METADATA_KEYS_MAX, description="Keys and values have at most 512 bytes of UTF-8 each."),
]


class ForkWanted(StrictModel):
    """The place of a fork: before a turn of another session."""

    session: Annotated[str, Field(min_length=1, max_length=200)]
    before: Annotated[str, Field(min_length=1, max_length=200, description="The turn; what came before it is kept.")]


_FORK_ONLY_WITH = ("fork", "title", "metadata")


def _fork_has_its_baseline(schema: JsonObject) -> None:
    """Say in the schema that a fork takes all but these from its source."""
    others = [name for name in schema["properties"] if name not in _FORK_ONLY_WITH]
    schema["if"] = {"required": ["fork"], "properties": {"fork": {"type": "object"}}}
    schema["then"] = {"properties": {name: {"type": "null"} for name in others}}


class SessionRequest(StrictModel):
    """A new session; what is left out comes from the agent's profile, then from the settings."""

    model_config = ConfigDict(json_schema_extra=_fork_has_its_baseline)

    agent: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    system: Annotated[LongText, Field(description="The system prompt, at most 1 MiB of UTF-8.")] | None = None
    tools: ToolsWanted | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    title: Title | None = None
    metadata: Metadata | None = None
    sampling: Sampling | None = None
    limits: LowerLimits | None = None
    thinking: Annotated[Thinking, _FromString] | None = None
    compaction: Annotated[Compaction, _FromString] | None = None
    fork: (
        Annotated[
            ForkWanted, Field(description="Begin with another session's records; goes with title and metadata only.")
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _fork_comes_alone(self) -> Self:
        others = self.model_fields_set - {*_FORK_ONLY_WITH}
        if self.fork is not None and (given := sorted(name for name in others if getattr(self, name) is not None)):
            raise PydanticCustomError(
                "fork", "goes with title and metadata only, not with {given}", {"given": ", ".join(given)}
            )
        return self

    def to_asked(self) -> SessionAsked:
        """Give it in the words of the core."""
        return SessionAsked(
            agent=self.agent,
            system=self.system,
            tools=None if self.tools is None else _tools(self.tools),
            model=self.model,
            title=self.title or "",
            metadata=dict(self.metadata or {}),
            sampling=_given(self.sampling),
            limits=_given(self.limits),
            thinking=self.thinking,
            compaction=self.compaction,
            fork=None if self.fork is None else _fork(self.fork),
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
            OnBusy,
            _FromString,
            Field(description="While another turn runs: refuse this one, put it behind the others, or cancel that."),
        ]
        | None
    ) = None
    tool_choice: Annotated[ToolChoice, _FromString] | None = None
    on_tool_limit: Annotated[OnToolLimit, _FromString] | None = None
    limits: LowerLimits | None = None
    response_format: Annotated[dict[str, Any], AfterValidator(_finite)] | None = None

    def to_asked(self, trace: TraceContext | None) -> TurnAsked:
        """Give it in the words of the core; `trace` is the caller's place in a trace."""
        return TurnAsked(
            content=self.content,
            on_busy=self.on_busy or OnBusy.REJECT,
            tool_choice=self.tool_choice or ToolChoice.AUTO,
            on_tool_limit=self.on_tool_limit or OnToolLimit.STOP,
            limits=_given(self.limits),
            response_format=self.response_format,
            trace=trace,
        )


def _given(model: StrictModel | None) -> JsonObject | None:
    return None if model is None else model.model_dump(exclude_none=True)


def _fork(wanted: ForkWanted) -> ForkAsked:
    return ForkAsked(session=SessionId(wanted.session), before=TurnId(wanted.before))


def _tools(wanted: ToolsWanted) -> ToolsAsked:
    return ToolsAsked(
        names=None if wanted.names is None else tuple(wanted.names),
        mode=wanted.tool_mode(),
    )
