"""The tracer of a service that keeps no traces: it only passes on in whose name the tool port is called.

The port's own spans then hang below the caller's, as if this service were a wire between them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from service.access.trace_callers import TraceCallers
from service.core.completion_events import Completion
from service.core.ids import ReadingId, TurnId
from service.core.trace_context import TraceContext, own_context
from service.ports.meter import ReadingCost, TurnCost
from service.ports.tracer import ChatAsked, ReadingBegun, ToolCalled, TurnBegun


class _Nothing:
    """A span that is not kept."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class _NoChat(_Nothing):
    """A request to the model that nobody follows."""

    __slots__ = ()

    def text_came(self) -> None:
        pass

    def ended(self, completion: Completion) -> None:
        pass


NOT_TRACED = _NoChat()
"""The span of a request to the model that belongs to no trace."""


class _PassedOn(_Nothing):
    """A call of a tool in the name of whoever asked for the turn."""

    __slots__ = ("context",)

    def __init__(self, context: TraceContext) -> None:
        self.context = context

    def ended(self, status: str, text: str) -> None:
        pass


class UntracedTurn(_Nothing):
    """A turn that nobody follows; `by` is who asked for it, None where nobody did who is in a trace."""

    __slots__ = ("_context",)

    def __init__(self, turn: TurnId, by: TraceContext | None) -> None:
        self._context = by or own_context(turn)

    @property
    def trace_id(self) -> str:
        """Say in which trace the tool port is called for it: the caller's, or else the turn's own."""
        return self._context.trace_id

    def chat(self, asked: ChatAsked) -> _NoChat:
        """Begin a request to the model."""
        return NOT_TRACED

    def tool(self, called: ToolCalled) -> _PassedOn:
        """Begin a call, in the caller's name, or else in the turn's own."""
        return _PassedOn(self._context)

    def waits(self) -> AbstractContextManager[object]:
        """Begin a wait for people."""
        return self

    def ended(self, cost: TurnCost, content: str) -> None:
        """Take note of nothing."""


class _UntracedReading(_Nothing):
    """A reading that nobody follows."""

    __slots__ = ()

    def chat(self, asked: ChatAsked) -> _NoChat:
        return NOT_TRACED

    def ended(self, cost: ReadingCost) -> None:
        pass


class Untraced:
    """The `Tracer` of a service without traces."""

    def __init__(self) -> None:
        self._callers = TraceCallers()

    def asked(self, work: TurnId | ReadingId, by: TraceContext) -> None:
        """Take note of who asked for it."""
        self._callers.note(work, by)

    def turn(self, begun: TurnBegun) -> UntracedTurn:
        """Begin nothing."""
        return UntracedTurn(begun.turn, self._callers.take(begun.turn))

    def reading(self, begun: ReadingBegun) -> _UntracedReading:
        """Begin nothing."""
        self._callers.take(begun.reading)
        return _UntracedReading()
