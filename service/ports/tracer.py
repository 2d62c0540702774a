"""Whoever follows work across processes: spans of turns, of what they ask the model, and of the tools that they call.

Without traces the spans do nothing but tell in whose name the tool port is called (section 8).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import msgspec

from service.core.completion_events import Completion
from service.core.completion_request import CompletionRequest
from service.core.ids import ReadingId, SessionId, TurnId
from service.core.trace_context import TraceContext
from service.ports.meter import ReadingCost, TurnCost, Work


# These are made for each turn, traced or not, at a fraction of what a dataclass takes.
class TurnBegun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A turn as a process takes it up; `resumed` says that a process before this one began it."""

    session: SessionId
    turn: TurnId
    agent: str | None
    model: str | None
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingBegun:
    """A reading as a process takes it up; `resumed` says that a process before this one began it."""

    reading: ReadingId
    model: str | None
    resumed: bool


class ChatAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A request to the model, at the moment when it has its permit.

    `place` says which one it is, in names and numbers: a turn's step and attempt, or a reading's level, document and
    chunk.
    """

    work: Work
    request: CompletionRequest
    gate_wait_s: float
    place: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """A call of the model's; `name` is that of the tool that it means, `arguments` are what that tool is given."""

    name: str
    tool_call_id: str
    call: int
    arguments: str


class _Span(Protocol):
    """A piece of work, from entering to leaving it; what is raised in it is how it ended, if nothing else was said."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        ...


class ChatSpan(_Span, Protocol):
    """A request to the model (`chat`)."""

    def text_came(self) -> None:
        """Take note of the moment at which the first text came."""
        ...

    def ended(self, completion: Completion) -> None:
        """Take note of what came."""
        ...


class ToolSpan(_Span, Protocol):
    """A call of a tool (`execute_tool`)."""

    @property
    def context(self) -> TraceContext:
        """Say in whose name the port is called, or the other agent asked."""
        ...

    def ended(self, status: str, text: str) -> None:
        """Take note of how it ended, and with which text for the model."""
        ...


class TurnSpan(_Span, Protocol):
    """A turn, as far as one process runs it (`invoke_agent`)."""

    @property
    def trace_id(self) -> str:
        """Say in which trace it is, whether or not anybody keeps it."""
        ...

    def chat(self, asked: ChatAsked) -> ChatSpan:
        """Begin a request to the model."""
        ...

    def tool(self, called: ToolCalled) -> ToolSpan:
        """Begin a call."""
        ...

    def waits(self) -> AbstractContextManager[object]:
        """Begin a wait for people."""
        ...

    def ended(self, cost: TurnCost, content: str) -> None:
        """Take note of the turn's end, and of its answer."""
        ...


class ReadingSpan(_Span, Protocol):
    """A reading, as far as one process goes on with it (`invoke_workflow`)."""

    def chat(self, asked: ChatAsked) -> ChatSpan:
        """Begin a request to the model."""
        ...

    def ended(self, cost: ReadingCost) -> None:
        """Take note of the reading's end."""
        ...


class Tracer(Protocol):
    """Begins spans. Nothing here waits or raises."""

    def asked(self, work: TurnId | ReadingId, by: TraceContext) -> None:
        """Take note, before it begins, of where a turn or a reading was asked for from."""
        ...

    def turn(self, begun: TurnBegun) -> TurnSpan:
        """Begin a turn's span."""
        ...

    def reading(self, begun: ReadingBegun) -> ReadingSpan:
        """Begin a reading's span."""
        ...
