"""Asks the model once, and waits with it: for a permit, for a server that is away, for the end of a thought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog

from service.access.gate import Gate, Holder
from service.access.model_server import ModelServer
from service.access.presence import ServerPresence
from service.access.untraced import NOT_TRACED
from service.core.completion_events import (
    Begun,
    Completion,
    CompletionDelta,
    ContentText,
    PromptProgress,
    ReasoningText,
    StillWaiting,
)
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure
from service.core.request_building import build_request, slot_of
from service.core.signals import Progress, Queued, ThinkingCapped, Waiting
from service.core.thinking_cap import CapMeasure, ThinkingCap
from service.core.turn import AskModel
from service.ports import Clock, Llama, Meter
from service.ports.meter import Work
from service.ports.tracer import ChatAsked, ChatSpan
from service.turns.live_session import LiveSession
from service.turns.step_text import StepText

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A completion, and whether its thought came to its budget."""

    completion: Completion
    thinking_capped: bool


@dataclass(slots=True)
class Heard:
    """What has come of completions that nobody follows, in tokens: as much as is known when one of them breaks."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    content_tokens: int = 0

    def take(self, delta: CompletionDelta) -> None:
        """Count a delta; a piece counts as a token."""
        if isinstance(delta, PromptProgress):
            self.prompt_tokens, self.cached_tokens = delta.total, delta.cached
        self.reasoning_tokens += isinstance(delta, ReasoningText)
        self.content_tokens += isinstance(delta, ContentText)


class Asking:
    """One request to the model, with all the waiting that comes before it."""

    def __init__(
        self,
        llama: Llama,
        server: ModelServer,
        gate: Gate,
        presence: ServerPresence,
        meter: Meter,
        clock: Clock,
        *,
        pin_slots: bool,
    ) -> None:
        self._llama = llama
        self._meter = meter
        self._clock = clock
        self._server = server
        self._gate = gate
        self._presence = presence
        self._pin_slots = pin_slots

    async def ask(self, live: LiveSession, ask: AskModel, *, prompt_tokens: int | None = None) -> Answer:
        """Get one completion; a server that is away is waited for without a permit (L7).

        `prompt_tokens` is what the server has counted of the prompt, None where it need not.

        Raises:
            ModelFailure: the attempt failed, or the server stayed away for `load_wait_ms`.
        """
        return await self._presence.when_there(lambda: self._stream(live, ask, prompt_tokens), _tells(live))

    async def ask_aside(self, live: LiveSession, request: CompletionRequest, heard: Heard) -> Completion:
        """Get a completion that is no step of the session's turn; nobody follows its text, `heard` counts it (L9).

        Raises:
            ModelFailure: the attempt failed, or the server stayed away for `load_wait_ms`.
        """
        return await self._presence.when_there(lambda: self._stream_aside(live, request, heard), _tells(live))

    async def _stream_aside(self, live: LiveSession, request: CompletionRequest, heard: Heard) -> Completion:
        facts = await self._server.facts_or_none()
        if self._pin_slots and facts is not None:
            request = replace(request, id_slot=slot_of(live.id, facts.slots))
        turn, feed = live.state.turn, live.feed
        holder = Holder(owner=live.row.owner, session=live.id, turn=turn, step=live.state.step + 1)
        async with (
            self._gate.permit(
                holder, lambda at: feed.publish_signal(turn, Queued(position=at)), aside=True
            ) as waited_s,
            aclosing(self._llama.stream(request)) as stream,
        ):
            self._admitted(live, Work.SUMMARY, waited_s)
            feed.forget_signal(turn, Queued)
            asked = ChatAsked(work=Work.SUMMARY, request=request, gate_wait_s=waited_s)
            # A summary by hand belongs to no turn, and so to no trace.
            with NOT_TRACED if live.span is None else live.span.chat(asked) as span:
                async for item in stream:
                    if isinstance(item, Completion):
                        span.ended(item)
                        return item
                    _take_aside(live, heard, item)
        raise AssertionError("a stream ends with a completion or a failure")

    async def _stream(self, live: LiveSession, ask: AskModel, prompt_tokens: int | None) -> Answer:
        facts = await self._server.facts_or_none()
        context_tokens = facts.context_tokens if facts is not None else None
        request = build_request(
            live.baseline,
            live.messages,
            live.toolset,
            live.state,
            ask,
            context_tokens,
            counted=live.prompt_sizes.counted,
            prompt_tokens=prompt_tokens,
        )
        if self._pin_slots and facts is not None:
            request = replace(request, id_slot=slot_of(live.id, facts.slots))
        turn, feed = live.state.turn, live.feed
        assert turn is not None  # a step belongs to a turn
        holder = Holder(owner=live.row.owner, session=live.id, turn=turn, step=ask.step)
        async with self._gate.permit(
            holder, lambda at: feed.publish_signal(turn, Queued(position=at)), alone=ask.alone
        ) as waited_s:
            self._admitted(live, Work.TURN, waited_s)
            feed.forget_signal(turn, Queued)
            text = StepText(turn=turn, step=ask.step, attempt=len(live.state.failures))
            feed.begin_step(text)
            place = (("step", text.step), ("attempt", text.attempt))
            asked = ChatAsked(work=Work.TURN, request=request, gate_wait_s=waited_s, place=place)
            assert live.span is not None  # the turn runs
            with live.span.chat(asked) as span:
                return await self._read(live, request, text, span)

    def _admitted(self, live: LiveSession, work: Work, waited_s: float) -> None:
        live.times.gate_wait_s += waited_s
        self._meter.admitted(work, waited_s)

    async def _read(self, live: LiveSession, request: CompletionRequest, text: StepText, span: ChatSpan) -> Answer:
        cap = _Cap(self._llama, live, request, text)
        is_first = True
        content, thought, wake = text.content, text.reasoning.pieces, live.feed.wake

        def take(deltas: Sequence[CompletionDelta]) -> bool:
            nonlocal is_first
            for delta in deltas:
                if isinstance(delta, ContentText):
                    # What nearly each delta is, so without a call.
                    text.begun = True
                    content.pieces.append(delta.text)
                    content.length += len(delta.text)
                else:
                    text.take(delta)
                    _tell(live, text, delta)
            if is_first and (content.pieces or thought):
                is_first = False
                span.text_came()
                if live.times.awaits_text:
                    live.times.text_shown(live.state, self._clock.now())
            wake()
            return len(thought) == cap.seen or cap.watch(len(thought))

        async with aclosing(self._llama.stream(request, take)) as stream:
            async for item in stream:
                if isinstance(item, Completion):
                    span.ended(item)
                    return Answer(completion=item, thinking_capped=cap.told)
                if item:
                    take(item)
                await cap.do_what_is_due()
        raise AssertionError("a stream ends with a completion or a failure")


class _Cap:
    """Keeps one attempt's thought within its budget, by what the server offers and by closing in the end (L6)."""

    def __init__(self, llama: Llama, live: LiveSession, request: CompletionRequest, text: StepText) -> None:
        self._llama = llama
        self._live = live
        self._text = text
        self._rule = ThinkingCap(request.thinking_budget_tokens)
        self._is_due = False
        self.seen = 0
        self.told = False

    def watch(self, tokens: int) -> bool:
        """Look at the thought's length; called whenever it grew. False when something is due.

        Raises:
            ModelFailure: it ran over by so much that it must be broken off (`thinking_cap`).
        """
        self.seen = tokens
        if not self.told and self._rule.reached(tokens):
            self.told = True
            signal = ThinkingCapped(step=self._text.step, reasoning_tokens=tokens)
            self._live.feed.publish_signal(self._text.turn, signal)
        match self._rule.measure(tokens):
            case CapMeasure.END_THOUGHT:
                self._is_due = True
            case CapMeasure.CLOSE:
                said = f"the model thought on past its budget, for {tokens} tokens (limit thinking_tokens)"
                raise ModelFailure(ErrorKind.THINKING_CAP, said)
            case None:  # pragma: no branch - no kind is left
                pass
        return not self._is_due

    async def do_what_is_due(self) -> None:
        """Have the server end the thought, if it is time for that."""
        if self._is_due:
            self._is_due = False
            await self._end_thought()

    async def _end_thought(self) -> None:
        completion_id = self._text.completion_id
        if completion_id is None:
            return
        try:
            ended = await self._llama.end_thought(completion_id)
        except ModelFailure as failure:
            # An older server: closing the stream is what is left.
            log.info("thinking.not_ended", session=self._live.id, kind=failure.kind)
        else:
            log.info("thinking.ended", session=self._live.id, known=ended)


def _take_aside(live: LiveSession, heard: Heard, deltas: Sequence[CompletionDelta]) -> None:
    turn, feed = live.state.turn, live.feed
    for delta in deltas:
        heard.take(delta)
        if isinstance(delta, StillWaiting):
            feed.publish_signal(turn, Waiting(reason=delta.reason, waited_ms=delta.waited_ms))
        else:
            feed.forget_signal(turn, Waiting)


def _tells(live: LiveSession) -> Callable[[Waiting], None]:
    return lambda waiting: live.feed.publish_signal(live.state.turn, waiting)


def _tell(live: LiveSession, text: StepText, delta: CompletionDelta) -> None:
    if isinstance(delta, PromptProgress):
        progress = Progress(
            step=text.step,
            processed=delta.processed,
            cached=delta.cached,
            total=delta.total,
            time_ms=delta.time_ms,
        )
        live.feed.publish_signal(text.turn, progress)
    elif isinstance(delta, Begun):
        live.feed.forget_signal(text.turn, Waiting)
    elif isinstance(delta, StillWaiting):
        live.feed.publish_signal(text.turn, Waiting(reason=delta.reason, waited_ms=delta.waited_ms))
