"""Asks the model once, and waits with it: for a permit, for a server that is away, for the end of a thought."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog

from service.core.completion_events import (
    Begun,
    Completion,
    CompletionDelta,
    PromptProgress,
    StillWaiting,
    WaitReason,
)
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure
from service.core.request_building import build_request, slot_of
from service.core.retry import Remedy, Shown, rule_for, trouble_of
from service.core.signals import Progress, Queued, ThinkingCapped, Waiting
from service.core.thinking_cap import CapMeasure, ThinkingCap
from service.core.turn import AskModel
from service.ports import Clock, Llama
from service.turns.gate import Gate, Holder
from service.turns.health_watch import HealthWatch
from service.turns.live_session import LiveSession
from service.turns.model_server import ModelServer
from service.turns.step_text import StepText

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A completion, and whether its thought came to its budget."""

    completion: Completion
    thinking_capped: bool


class Asking:
    """One request to the model, with all the waiting that comes before it."""

    def __init__(
        self,
        llama: Llama,
        server: ModelServer,
        gate: Gate,
        health: HealthWatch,
        clock: Clock,
        *,
        load_wait_ms: int,
        pin_slots: bool,
    ) -> None:
        self._llama = llama
        self._server = server
        self._gate = gate
        self._health = health
        self._clock = clock
        self._load_wait_ms = load_wait_ms
        self._pin_slots = pin_slots

    async def ask(self, live: LiveSession, ask: AskModel) -> Answer:
        """Get one completion; a server that is away is waited for without a permit (L7).

        Raises:
            ModelFailure: the attempt failed, or the server stayed away for `load_wait_ms`.
        """
        away_since: float | None = None
        while True:
            try:
                return await self._stream(live, ask)
            except ModelFailure as failure:
                if not _is_waited_for(failure):
                    raise
                if away_since is None:
                    away_since = self._clock.monotonic()
                await self._until_there(live, away_since, failure)

    async def _until_there(self, live: LiveSession, since: float, failure: ModelFailure) -> None:
        there = False
        while not there:
            waited_ms = round((self._clock.monotonic() - since) * 1000)
            if waited_ms >= self._load_wait_ms:
                seconds = f"{self._load_wait_ms / 1000:g} s (load_wait_ms)"
                said = f"llama-server was not there for {seconds}; at last: {failure.message}"
                raise ModelFailure(ErrorKind.LOAD_TIMEOUT, said, status=failure.status) from failure
            live.feed.publish_signal(live.state.turn, Waiting(reason=WaitReason.LOADING, waited_ms=waited_ms))
            there = await self._health.next_answer()
        # Another model or template may have come back.
        self._server.was_away()

    async def _stream(self, live: LiveSession, ask: AskModel) -> Answer:
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
        )
        if self._pin_slots and facts is not None:
            request = replace(request, id_slot=slot_of(live.id, facts.slots))
        turn, feed = live.state.turn, live.feed
        assert turn is not None  # a step belongs to a turn
        holder = Holder(session=live.id, turn=turn, step=ask.step)
        async with self._gate.permit(
            holder, lambda at: feed.publish_signal(turn, Queued(position=at)), alone=ask.alone
        ):
            feed.forget_signal(turn, Queued)
            text = StepText(turn=turn, step=ask.step, attempt=len(live.state.failures))
            feed.begin_step(text)
            return await self._read(live, request, text)

    async def _read(self, live: LiveSession, request: CompletionRequest, text: StepText) -> Answer:
        cap = _Cap(self._llama, live, request, text)
        async with aclosing(self._llama.stream(request)) as stream:
            async for item in stream:
                if isinstance(item, Completion):
                    return Answer(completion=item, thinking_capped=cap.told)
                for delta in item:
                    text.take(delta)
                    _tell(live, text, delta)
                live.feed.wake()
                await cap.watch(item)
        raise AssertionError("a stream ends with a completion or a failure")


class _Cap:
    """Keeps one attempt's thought within its budget, by what the server offers and by closing in the end (L6)."""

    def __init__(self, llama: Llama, live: LiveSession, request: CompletionRequest, text: StepText) -> None:
        self._llama = llama
        self._live = live
        self._text = text
        self._rule = ThinkingCap(request.thinking_budget_tokens)
        self._completion_id: str | None = None
        self._seen = 0
        self.told = False

    async def watch(self, deltas: Sequence[CompletionDelta]) -> None:
        """Look at the thought's length; called after each read.

        Raises:
            ModelFailure: it ran over by so much that it must be broken off (`thinking_cap`).
        """
        if self._completion_id is None:
            self._completion_id = next((d.completion_id for d in deltas if isinstance(d, Begun)), None)
        tokens = self._text.reasoning_tokens
        if tokens == self._seen:
            return
        self._seen = tokens
        if not self.told and self._rule.reached(tokens):
            self.told = True
            signal = ThinkingCapped(step=self._text.step, reasoning_tokens=tokens)
            self._live.feed.publish_signal(self._text.turn, signal)
        match self._rule.measure(tokens):
            case CapMeasure.END_THOUGHT:
                await self._end_thought()
            case CapMeasure.CLOSE:
                said = f"the model thought on past its budget, for {tokens} tokens (limit thinking_tokens)"
                raise ModelFailure(ErrorKind.THINKING_CAP, said)
            case None:  # pragma: no branch - no kind is left
                pass

    async def _end_thought(self) -> None:
        if self._completion_id is None:
            return
        try:
            ended = await self._llama.end_thought(self._completion_id)
        except ModelFailure as failure:
            # An older server: closing the stream is what is left.
            log.info("thinking.not_ended", session=self._live.id, reason=failure.message)
        else:
            log.info("thinking.ended", session=self._live.id, known=ended)


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


def _is_waited_for(failure: ModelFailure) -> bool:
    trouble = trouble_of(failure, head_seen=False, used_tokens=0, context_tokens=None)
    rule = rule_for(trouble, failure.kind, Shown.NOTHING, before=(), retry_attempts=0)
    return rule.remedy is Remedy.WAIT
