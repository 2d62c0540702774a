"""Asks the model for one reply: behind the turns (L9), again where that may help (L7), waiting for a server (L7)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from service.access.gate import Gate, Holder, TellPosition
from service.access.model_server import ModelServer
from service.access.presence import ServerPresence
from service.core.completion_events import Completion, CompletionDelta, ContentText, PromptProgress, StillWaiting
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure
from service.core.reading.signals import AskedAgain
from service.core.retry import Remedy, Shown, counted_as, delay_s, rule_for, trouble_of
from service.core.signals import Queued, Waiting
from service.core.usage import UsageTotals
from service.ports import Clock, Ids, Llama, Meter
from service.ports.meter import Work
from service.ports.tracer import ChatAsked
from service.readings.feed import Place, ReplyText
from service.readings.live_reading import LiveReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A completion, and what it cost with the attempts that failed before it."""

    completion: Completion
    spent: UsageTotals


class FailedForGood(ModelFailure):
    """No attempt came to an end; `spent` is what they cost all the same."""

    def __init__(self, failure: ModelFailure, spent: UsageTotals) -> None:
        super().__init__(failure.kind, failure.message, status=failure.status)
        self.spent = spent


@dataclass(slots=True)
class _Attempt:
    """What is known of an attempt when it breaks; a piece counts as a token."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    pieces: int = 0
    begun: bool = False

    def take(self, delta: CompletionDelta) -> None:
        if isinstance(delta, PromptProgress):
            self.prompt_tokens, self.cached_tokens = delta.total, delta.cached
        self.pieces += isinstance(delta, ContentText)
        self.begun = self.begun or not isinstance(delta, StillWaiting)

    @property
    def cost(self) -> UsageTotals:
        if not self.begun:
            return UsageTotals()
        return UsageTotals(
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            completion_tokens=self.pieces,
            completions=1,
        )


class ReadingAsking:
    """One question at a time to the model, for any number of readings."""

    def __init__(
        self,
        llama: Llama,
        server: ModelServer,
        gate: Gate,
        presence: ServerPresence,
        clock: Clock,
        ids: Ids,
        meter: Meter,
        *,
        retry_attempts: int,
    ) -> None:
        self._llama = llama
        self._server = server
        self._gate = gate
        self._presence = presence
        self._clock = clock
        self._ids = ids
        self._meter = meter
        self._retry_attempts = retry_attempts

    async def ask(self, live: LiveReading, place: Place, request: CompletionRequest) -> Answer:
        """Get a completion.

        Raises:
            FailedForGood: no attempt came to a usable end, or the server stayed away for `load_wait_ms`.
        """
        spent, before, alone = UsageTotals(), list[ErrorKind](), False
        while True:
            attempt = _Attempt()
            try:
                completion = await self._attempt(live, place, request, attempt, alone=alone)
            except ModelFailure as failure:
                spent += attempt.cost
                alone = await self._failed(live, place, failure, attempt, before, spent)
            else:
                return Answer(completion=completion, spent=spent + _usage_of(completion))

    async def count(self, live: LiveReading, text: str) -> int:
        """Count a text's tokens, by the server.

        Raises:
            ModelFailure: it can't, or stayed away for `load_wait_ms`.
        """
        return await self._presence.when_there(lambda: self._llama.count_text(text), live.feed.publish_signal)

    async def count_prompt(self, live: LiveReading, request: CompletionRequest) -> int:
        """Count a prompt's tokens, by the server.

        Raises:
            ModelFailure: it can't, or stayed away for `load_wait_ms`.
        """
        return await self._presence.when_there(lambda: self._llama.count_tokens(request), live.feed.publish_signal)

    async def _attempt(
        self, live: LiveReading, place: Place, request: CompletionRequest, attempt: _Attempt, *, alone: bool
    ) -> Completion:
        def tell(waiting: Waiting) -> None:
            live.feed.publish_signal(waiting, place)

        async def stream() -> Completion:
            holder = Holder(owner=live.owner, reading=live.id, chunk=place.chunk)
            tell_position = _tells_position(live, place)
            async with (
                self._gate.permit(holder, tell_position, alone=alone, aside=True) as waited_s,
                aclosing(self._llama.stream(request)) as items,
            ):
                live.gate_wait_s += waited_s
                self._meter.admitted(Work.READING, waited_s)
                live.feed.forget_signal(Queued, place)
                reply = live.feed.begin_reply(place)
                assert live.span is not None  # something goes on with it
                with live.span.chat(_asked(request, place, waited_s)) as span:
                    async for item in items:
                        if isinstance(item, Completion):
                            span.ended(item)
                            return item
                        was_begun = attempt.pieces > 0
                        _take(live, reply, item, attempt)
                        if attempt.pieces and not was_begun:
                            span.text_came()
            raise AssertionError("a stream ends with a completion or a failure")

        return await self._presence.when_there(stream, tell)

    async def _failed(
        self,
        live: LiveReading,
        place: Place,
        failure: ModelFailure,
        attempt: _Attempt,
        before: list[ErrorKind],
        spent: UsageTotals,
    ) -> bool:
        """Wait until it may be tried again, and say whether it must then run alone."""
        used = attempt.prompt_tokens + attempt.pieces
        context_tokens = self._server.context_tokens
        trouble = trouble_of(failure, head_seen=attempt.begun, used_tokens=used, context_tokens=context_tokens)
        kind = counted_as(trouble, failure)
        shown = Shown.TEXT if attempt.pieces else Shown.NOTHING
        rule = rule_for(trouble, kind, shown, before=before, retry_attempts=self._retry_attempts)
        if rule.remedy not in (Remedy.AGAIN, Remedy.AGAIN_ALONE):
            raise FailedForGood(failure, spent) from failure
        before.append(kind)
        wait_s = delay_s(len(before), self._ids.fraction())
        again = AskedAgain(
            level=place.level,
            document=place.document,
            chunk=place.chunk,
            attempt=len(before),
            reason=kind,
            delay_ms=round(wait_s * 1000),
        )
        live.feed.publish_signal(again, place)
        await self._clock.sleep(wait_s)
        return rule.remedy is Remedy.AGAIN_ALONE


def _asked(request: CompletionRequest, place: Place, waited_s: float) -> ChatAsked:
    numbers = {"level": place.level, "document": place.document, "chunk": place.chunk}
    where = tuple((name, number) for name, number in numbers.items() if number is not None)
    return ChatAsked(work=Work.READING, request=request, gate_wait_s=waited_s, place=where)


def _tells_position(live: LiveReading, place: Place) -> TellPosition:
    def tell(position: int) -> None:
        live.feed.publish_signal(Queued(position=position), place)

    return tell


def _take(live: LiveReading, reply: ReplyText, deltas: Sequence[CompletionDelta], attempt: _Attempt) -> None:
    for delta in deltas:
        attempt.take(delta)
        if isinstance(delta, ContentText):
            reply.add(delta.text)
        elif isinstance(delta, StillWaiting):
            live.feed.publish_signal(Waiting(reason=delta.reason, waited_ms=delta.waited_ms), reply.place)
        else:
            live.feed.forget_signal(Waiting, reply.place)
    live.feed.wake()


def _usage_of(completion: Completion) -> UsageTotals:
    usage = completion.usage
    return UsageTotals(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        completions=1,
    )
