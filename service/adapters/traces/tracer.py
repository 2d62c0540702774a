"""The port `Tracer` over OpenTelemetry: where each span hangs, and what is known of it when it begins.

Parents are named and never taken from the task's context: a turn goes on in tasks of its own, long after its request.
"""

from __future__ import annotations

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from service.access.trace_callers import TraceCallers
from service.adapters.traces import names
from service.adapters.traces.messages import cut, prompt_of, system_of, tools_of
from service.adapters.traces.own_ids import OwnIds
from service.adapters.traces.spans import Chat, Piece, Reading, Tool, Turn
from service.core.ids import ReadingId, TurnId
from service.core.json_types import JsonObject
from service.core.trace_context import TraceContext
from service.ports.tracer import ChatAsked, ReadingBegun, ToolCalled, TurnBegun

Attributes = dict[str, AttributeValue]


class OpenTelemetryTracer:
    """Begins spans of turns and readings, below those of their callers where these are in a trace.

    `server` is where llama-server answers, host and port; `content` says that spans tell what was said.
    """

    def __init__(self, tracer: Tracer, ids: OwnIds, *, server: tuple[str, int], content: bool) -> None:
        self._tracer = tracer
        self._ids = ids
        self._server = server
        self._content = content
        self._callers = TraceCallers()

    def asked(self, work: TurnId | ReadingId, by: TraceContext) -> None:
        """Take note of where it was asked for from."""
        self._callers.note(work, by)

    def turn(self, begun: TurnBegun) -> Turn:
        """Begin a turn's span."""
        attributes: Attributes = {
            names.OPERATION: names.INVOKE_AGENT,
            names.PROVIDER: names.LLAMA_CPP,
            names.CONVERSATION_ID: begun.session,
            names.TURN_ID: begun.turn,
        }
        name = names.INVOKE_AGENT
        if begun.agent is not None:
            name, attributes[names.AGENT_NAME] = f"{name} {begun.agent}", begun.agent
        if begun.model is not None:
            attributes[names.REQUEST_MODEL] = begun.model
        if begun.resumed:
            attributes[names.RESUMED] = True
        conversation: Attributes = {names.CONVERSATION_ID: begun.session}
        span = self._begin(name, begun.turn, attributes)
        return Turn(
            span,
            lambda parent, asked: self._chat(parent, asked, conversation),
            self._tool,
            self._wait,
            content=self._content,
        )

    def reading(self, begun: ReadingBegun) -> Reading:
        """Begin a reading's span."""
        attributes: Attributes = {
            names.OPERATION: names.INVOKE_WORKFLOW,
            names.WORKFLOW_NAME: names.READING,
            names.READING_ID: begun.reading,
        }
        if begun.resumed:
            attributes[names.RESUMED] = True
        span = self._begin(f"{names.INVOKE_WORKFLOW} {names.READING}", begun.reading, attributes)
        return Reading(span, lambda parent, asked: self._chat(parent, asked, {}))

    def _begin(self, name: str, work: str, attributes: Attributes) -> Span:
        caller = self._callers.take(work)
        # Empty, and not what this task happens to be in: whatever instruments the process may have put a span there.
        context = Context() if caller is None else set_span_in_context(_remote(caller), Context())
        with self._ids.of(work):
            return self._tracer.start_span(name, context=context, attributes=attributes)

    def _below(self, parent: Span, name: str, kind: SpanKind, attributes: Attributes) -> Span:
        return self._tracer.start_span(name, context=set_span_in_context(parent), kind=kind, attributes=attributes)

    def _chat(self, parent: Span, asked: ChatAsked, conversation: Attributes) -> Chat:
        request = asked.request
        host, port = self._server
        attributes: Attributes = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: names.LLAMA_CPP,
            names.SERVER_ADDRESS: host,
            names.SERVER_PORT: port,
            names.STREAM: True,
            names.MAX_TOKENS: request.max_tokens,
            names.WORK: asked.work,
            names.GATE_WAIT_S: asked.gate_wait_s,
            names.OUTPUT_TYPE: "text" if request.response_format is None else "json",
            **conversation,
            **{names.PLACES[place]: number for place, number in asked.place},
            **_sampling(request.sampling),
        }
        name = names.CHAT
        if request.model is not None:
            name, attributes[names.REQUEST_MODEL] = f"{name} {request.model}", request.model
        span = self._below(parent, name, SpanKind.CLIENT, attributes)
        if self._content and span.is_recording():
            span.set_attributes(_prompt(asked))
        return Chat(span, content=self._content)

    def _tool(self, parent: Span, called: ToolCalled) -> Tool:
        attributes: Attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: called.name,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: called.tool_call_id,
            names.CALL: called.call,
        }
        if self._content:
            attributes[names.TOOL_ARGUMENTS] = cut(called.arguments)
        span = self._below(parent, f"{names.EXECUTE_TOOL} {called.name}", SpanKind.INTERNAL, attributes)
        return Tool(span, content=self._content)

    def _wait(self, parent: Span) -> Piece:
        return Piece(self._below(parent, names.AWAIT_APPROVAL, SpanKind.INTERNAL, {}))


def _remote(caller: TraceContext) -> Span:
    return NonRecordingSpan(
        SpanContext(
            trace_id=int(caller.trace_id, 16),
            span_id=int(caller.span_id, 16),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED if caller.sampled else TraceFlags.DEFAULT),
        )
    )


def _sampling(sampling: JsonObject) -> Attributes:
    known = ((names.SAMPLING.get(name), value) for name, value in sampling.items())
    return {name: value for name, value in known if name is not None and isinstance(value, int | float)}


def _prompt(asked: ChatAsked) -> Attributes:
    request = asked.request
    prompt, left_out = prompt_of(request.messages)
    attributes: Attributes = {names.INPUT_MESSAGES: prompt}
    if left_out:
        attributes[names.LEFT_OUT] = left_out
    system, tools = system_of(request.messages), tools_of(request.tools)
    if system is not None:
        attributes[names.SYSTEM_INSTRUCTIONS] = system
    if tools is not None:
        attributes[names.TOOL_DEFINITIONS] = tools
    return attributes
