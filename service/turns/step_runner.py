"""Runs one step: asks the model, keeps what came, or what is known of why nothing did (T2, T3, T4, L7)."""

from __future__ import annotations

from service.access.model_server import ModelServer
from service.core.completion_events import Completion
from service.core.errors import ContextFull, ErrorKind, ModelFailure
from service.core.records import Record
from service.core.retry import Remedy, Shown, Trouble, counted_as, delay_s, is_full, rule_for, trouble_of
from service.core.signals import Retrying
from service.core.turn import AskModel, with_its_end
from service.core.turn_records import PartialAnswer, of_attempt, of_completion, of_failure, usage_of
from service.ports import Clock, Ids, Meter
from service.turns.asking import Asking
from service.turns.cache_watch import CacheWatch
from service.turns.compaction import Compactor
from service.turns.live_session import LiveSession


class StepRunner:
    """Asks the model for one completion and puts its records into the log."""

    def __init__(
        self,
        asking: Asking,
        server: ModelServer,
        cache: CacheWatch,
        compactor: Compactor,
        meter: Meter,
        clock: Clock,
        ids: Ids,
        *,
        retry_attempts: int,
    ) -> None:
        self._asking = asking
        self._server = server
        self._cache = cache
        self._compactor = compactor
        self._meter = meter
        self._clock = clock
        self._ids = ids
        self._retry_attempts = retry_attempts

    async def run(self, live: LiveSession, ask: AskModel) -> None:
        """Run one attempt at the step, as soon as its prompt fits; whatever the model does becomes records.

        Raises:
            StoreFailure: the records could not be kept.
        """
        try:
            prompt_tokens = await self._compactor.make_room(live)
        except ContextFull as full:
            await live.append(*of_failure(live.state, full, PartialAnswer(), full=True))
            return
        try:
            answer = await self._asking.ask(live, ask, prompt_tokens=prompt_tokens)
        except ModelFailure as failure:
            step = live.feed.step
            await self._failed(live, ask, failure, step.left_behind() if step is not None else PartialAnswer())
            return
        await self._keep(live, ask, answer.completion, thinking_capped=answer.thinking_capped)

    async def _keep(self, live: LiveSession, ask: AskModel, completion: Completion, *, thinking_capped: bool) -> None:
        template = live.baseline.template
        lost = self._cache.look(live, completion)
        if self._server.context_tokens:
            used = completion.usage.prompt_tokens + completion.usage.completion_tokens
            self._meter.context_filled(used / self._server.context_tokens)
        try:
            records: tuple[Record, ...] = of_completion(
                live.state,
                completion,
                asked=ask.tool_choice,
                context_tokens=self._server.context_tokens,
                nine_character_ids=template is not None and template.call_id == "nine",
                thinking_capped=thinking_capped,
            )
        except ModelFailure as failure:
            await live.append(usage_of(completion, step=ask.step, thinking_capped=thinking_capped, discarded=True))
            await self._failed(live, ask, failure, PartialAnswer())
            return
        if lost is not None:
            # The answer is safe before anyone is asked why it took so long.
            await live.append(*records)
            records = (await self._cache.explain(live, ask.step, lost),)
        await live.append(*with_its_end(live.state, records, live.toolset))

    async def _failed(self, live: LiveSession, ask: AskModel, failure: ModelFailure, partial: PartialAnswer) -> None:
        state, context_tokens = live.state, self._server.context_tokens
        used = partial.prompt_tokens + partial.completion_tokens
        step = live.feed.step
        begun = step is not None and step.begun
        trouble = trouble_of(failure, head_seen=begun, used_tokens=used, context_tokens=context_tokens)
        kind = counted_as(trouble, failure)
        shown = Shown.TEXT if step is not None and step.shown else Shown.NOTHING
        rule = rule_for(trouble, kind, shown, before=state.failures, retry_attempts=self._retry_attempts)
        if is_full(trouble, failure):
            await self._is_full(live, ask, failure, partial)
            return
        if rule.remedy not in (Remedy.AGAIN, Remedy.AGAIN_ALONE):
            await live.append(*of_failure(state, failure, partial))
            return
        await live.append(*of_attempt(state, kind, partial))
        attempt = len(live.state.failures)
        # A model that was empty, or thought too long, is no server in trouble: it is asked again at once.
        at_once = trouble in (Trouble.EMPTY, Trouble.THINKING_CAP)
        wait_s = 0.0 if at_once else delay_s(attempt, self._ids.fraction())
        if rule.forget:
            retrying = Retrying(step=ask.step, attempt=attempt, reason=kind, delay_ms=round(wait_s * 1000))
            live.feed.publish_signal(live.state.turn, retrying)
        await self._clock.sleep(wait_s)

    async def _is_full(self, live: LiveSession, ask: AskModel, failure: ModelFailure, partial: PartialAnswer) -> None:
        """Compact and let the same step be asked again, or end the turn where nothing makes room (T4, C1)."""
        full = failure if isinstance(failure, ContextFull) else _as_full(failure)
        step = live.feed.step
        try:
            await self._compactor.make_room(live, full=full)
        except ContextFull:
            await live.append(*of_failure(live.state, failure, partial, full=True))
            return
        await live.append(*of_attempt(live.state, ErrorKind.CONTEXT_FULL, partial))
        if step is not None and step.shown:
            attempt = len(live.state.failures)
            retrying = Retrying(step=ask.step, attempt=attempt, reason=ErrorKind.CONTEXT_FULL, delay_ms=0)
            live.feed.publish_signal(live.state.turn, retrying)


def _as_full(failure: ModelFailure) -> ContextFull:
    # In mid-stream some servers only say it in words.
    return ContextFull(failure.message, prompt_tokens=None, context_tokens=None, status=failure.status)
