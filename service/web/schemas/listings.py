"""What clients are shown beside sessions and turns: records, messages, tools, agents, health."""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict, Field

from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import Thinking, ToolMode
from service.core.callers import Caller, Scope
from service.core.json_types import JsonObject
from service.core.labels import DataClass
from service.core.tool_port import ToolSpec
from service.core.views import PromptView
from service.turns.readiness import Check
from service.web.schemas.answer import Answer, Time


class SessionRecord(Answer):
    """A record of a session's log: what all have in common; the document tells the rest of each `type`."""

    model_config = ConfigDict(extra="allow")

    type: str
    session: str
    turn: str | None
    seq: int
    pos: int
    time: Time


class RecordPage(Answer):
    """A page of a log by `seq`; `next` is the `after` of the page that follows, null on the last.

    `hashes` are those of the items, one each, as 64 hex digits: SHA-256 of the hash before it (32 bytes, zeros before
    the first record) and the record without `pos`, as JSON with its keys sorted, no white space, and no escapes but
    those that JSON asks for.
    """

    items: list[SessionRecord]
    next: int | None
    hashes: list[str]


class PromptAnswer(Answer):
    """What the model would be sent now."""

    messages: list[JsonObject]
    tools: list[JsonObject]

    @classmethod
    def of(cls, view: PromptView) -> Self:
        """Show a prompt."""
        return cls(messages=list(view.messages), tools=list(view.tools))


class ToolAnswer(Answer):
    """A tool of the port."""

    name: str
    title: str | None
    description: str
    parameters: JsonObject
    needs_approval: bool
    acts_outside: bool
    repeatable: bool
    idempotent: bool
    timeout_ms: int
    data_class: DataClass = Field(serialization_alias="class")
    untrusted: bool

    @classmethod
    def of(cls, spec: ToolSpec) -> Self:
        """Show a spec."""
        return cls.model_validate(spec)


class LeftOutAnswer(Answer):
    """A tool of the port's list that can't be offered, and why."""

    name: str
    reason: str


class ToolList(Answer):
    """The port's tools."""

    items: list[ToolAnswer]
    left_out: list[LeftOutAnswer]


class AgentTools(Answer):
    """Which tools an agent's sessions have; names null means all."""

    mode: ToolMode | None
    names: list[str] | None


class AgentAnswer(Answer):
    """An agent profile; `default` serves sessions that name none."""

    name: str
    description: str
    default: bool
    system: str
    tools: AgentTools
    model: str | None
    sampling: JsonObject
    limits: JsonObject
    thinking: Thinking | None

    @classmethod
    def of(cls, profile: AgentProfile, default: str | None) -> Self:
        """Show a profile."""
        names = profile.tool_names
        return cls(
            name=profile.name,
            description=profile.description,
            default=profile.name == default,
            system=profile.system,
            tools=AgentTools(mode=profile.tool_mode, names=None if names is None else list(names)),
            model=profile.model,
            sampling=profile.sampling,
            limits=profile.limits,
            thinking=profile.thinking,
        )


class AgentList(Answer):
    """All agent profiles."""

    items: list[AgentAnswer]

    @classmethod
    def of(cls, agents: AgentProfiles) -> Self:
        """Show all profiles, in the order of their file."""
        return cls(items=[AgentAnswer.of(profile, agents.default) for profile in agents.profiles.values()])


class LiveAnswer(Answer):
    """The process answers."""

    status: str
    version: str


class CheckAnswer(Answer):
    """One thing that the service needs."""

    name: str
    ok: bool
    message: str

    @classmethod
    def of(cls, check: Check, caller: Caller | None) -> Self:
        """Show a check; its words name addresses and models, which are for those who run the service (K3)."""
        if caller is not None and Scope.ADMIN in caller.scopes:
            return cls(name=check.name, ok=check.ok, message=check.message)
        return cls(name=check.name, ok=check.ok, message="answers" if check.ok else "ask with a key of the scope admin")


class ReadyAnswer(Answer):
    """Whether all that the service needs answers."""

    ready: bool
    checks: list[CheckAnswer]


class IndexAnswer(Answer):
    """What there is, as method and path, and what it does."""

    name: str
    version: str
    addresses: dict[str, str]
