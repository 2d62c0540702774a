"""Spans of each kind: what is said of them while they go on, and how they end.

What is raised in a span is how it ended, if nothing else was said: a failure of the model's by its kind, a cancel as
such. Reasons stay out: they may hold what was said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Self

from opentelemetry.trace import Span, Status, StatusCode

from service.adapters.traces import names
from service.adapters.traces.messages import answer_of, answer_text, cut
from service.core.completion_events import Completion, CompletionUsage
from service.core.errors import ModelFailure
from service.core.reading.records import ReadingOutcome
from service.core.records import Outcome, ResultStatus
from service.core.tool_port import AnswerStatus
from service.core.trace_context import TraceContext
from service.core.usage import UsageTotals
from service.ports.meter import ReadingCost, TurnCost
from service.ports.tracer import ChatAsked, ToolCalled

StartChat = Callable[[Span, ChatAsked], "Chat"]
StartTool = Callable[[Span, ToolCalled], "Tool"]
StartWait = Callable[[Span], "Piece"]

_NO_ERROR = frozenset({ResultStatus.OK, ResultStatus.REPEATED, AnswerStatus.RESULT, AnswerStatus.PENDING_APPROVAL})


class Piece:
    """A span, from entering to leaving it."""

    def __init__(self, span: Span) -> None:
        self.span = span

    @property
    def context(self) -> TraceContext:
        """Say where it stands."""
        at = self.span.get_span_context()
        return TraceContext(
            trace_id=f"{at.trace_id:032x}", span_id=f"{at.span_id:016x}", sampled=at.trace_flags.sampled
        )

    @property
    def trace_id(self) -> str:
        """Say in which trace it is."""
        return self.context.trace_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._broken(error)
        self.span.end()

    def _broken(self, error: BaseException) -> None:
        self._failed(_kind_of(error))

    def _failed(self, kind: str) -> None:
        self.span.set_attribute(names.ERROR_TYPE, kind)
        self.span.set_status(Status(StatusCode.ERROR))

    def _used(self, usage: UsageTotals | CompletionUsage) -> None:
        self.span.set_attributes(
            {
                names.INPUT_TOKENS: usage.prompt_tokens,
                names.CACHE_READ_TOKENS: usage.cached_tokens,
                names.OUTPUT_TOKENS: usage.completion_tokens,
                names.REASONING_TOKENS: usage.reasoning_tokens,
            }
        )


class Chat(Piece):
    """A request to the model."""

    def __init__(self, span: Span, *, content: bool) -> None:
        super().__init__(span)
        self._content = content
        self._begun = monotonic()

    def text_came(self) -> None:
        """Take note of the moment at which the first text came."""
        self.span.set_attribute(names.TIME_TO_FIRST_CHUNK, monotonic() - self._begun)

    def ended(self, completion: Completion) -> None:
        """Take note of what came."""
        self._used(completion.usage)
        self.span.set_attribute(names.FINISH_REASONS, (completion.finish_reason,))
        if completion.estimated:
            self.span.set_attribute(names.ESTIMATED, True)
        if self._content:
            self.span.set_attribute(names.OUTPUT_MESSAGES, answer_of(completion))


class Tool(Piece):
    """A call of a tool."""

    def __init__(self, span: Span, *, content: bool) -> None:
        super().__init__(span)
        self._content = content

    def ended(self, status: str, text: str) -> None:
        """Take note of how it ended, and with which text for the model."""
        self.span.set_attribute(names.STATUS, status)
        if self._content:
            self.span.set_attribute(names.TOOL_RESULT, cut(text))
        if status not in _NO_ERROR:
            self.span.set_attribute(names.ERROR_TYPE, status)
            if status == ResultStatus.FAILED:
                self.span.set_status(Status(StatusCode.ERROR))


class Turn(Piece):
    """A turn, as far as this process runs it."""

    def __init__(self, span: Span, chat: StartChat, tool: StartTool, wait: StartWait, *, content: bool) -> None:
        super().__init__(span)
        self._chat = chat
        self._tool = tool
        self._wait = wait
        self._content = content
        self._has_ended = False

    def chat(self, asked: ChatAsked) -> Chat:
        """Begin a request to the model."""
        return self._chat(self.span, asked)

    def tool(self, called: ToolCalled) -> Tool:
        """Begin a call."""
        return self._tool(self.span, called)

    def waits(self) -> Piece:
        """Begin a wait for people."""
        return self._wait(self.span)

    def ended(self, cost: TurnCost, content: str) -> None:
        """Take note of the turn's end, and of its answer."""
        self._has_ended = True
        self._used(cost.usage)
        self.span.set_attributes({names.OUTCOME: cost.outcome, names.STEPS: cost.steps, names.PAUSED_S: cost.paused_s})
        if cost.limit is not None:
            self.span.set_attribute(names.LIMIT, cost.limit)
        if cost.outcome is Outcome.FAILED:
            self._failed("_OTHER" if cost.error is None else cost.error)
        if self._content and content:
            self.span.set_attribute(names.OUTPUT_MESSAGES, answer_text(content))

    def _broken(self, error: BaseException) -> None:
        if not self._has_ended:
            _let_go(self.span, error, self._failed)


class Reading(Piece):
    """A reading, as far as this process goes on with it."""

    def __init__(self, span: Span, chat: StartChat) -> None:
        super().__init__(span)
        self._chat = chat
        self._has_ended = False

    def chat(self, asked: ChatAsked) -> Chat:
        """Begin a request to the model."""
        return self._chat(self.span, asked)

    def ended(self, cost: ReadingCost) -> None:
        """Take note of the reading's end."""
        self._has_ended = True
        self._used(cost.usage)
        self.span.set_attributes({names.OUTCOME: cost.outcome, names.CHUNKS_SEEN: cost.chunks_seen})
        if cost.outcome is ReadingOutcome.FAILED:
            self._failed("_OTHER" if cost.error is None else cost.error)

    def _broken(self, error: BaseException) -> None:
        if not self._has_ended:
            _let_go(self.span, error, self._failed)


def _let_go(span: Span, error: BaseException, failed: Callable[[str], None]) -> None:
    if isinstance(error, asyncio.CancelledError):
        span.set_attribute(names.OUTCOME, names.INTERRUPTED)
    else:
        failed(_kind_of(error))


def _kind_of(error: BaseException) -> str:
    if isinstance(error, ModelFailure):
        return error.kind
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
