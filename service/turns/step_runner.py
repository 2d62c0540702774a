"""Runs one step: builds the request, holds a permit of the gate, streams, appends what came (T2, T3, T4)."""

from __future__ import annotations

from contextlib import aclosing

from service.core.completion_events import Completion, PromptProgress
from service.core.errors import ModelFailure
from service.core.request_building import build_request
from service.core.signals import Progress, Queued
from service.core.turn import AskModel, with_its_end
from service.core.turn_records import PartialAnswer, of_completion, of_failure, usage_of
from service.ports import Llama
from service.turns.gate import Gate
from service.turns.live_session import LiveSession
from service.turns.model_server import ModelServer
from service.turns.step_text import StepText


class StepRunner:
    """Asks the model for one completion and puts its records into the log."""

    def __init__(self, llama: Llama, server: ModelServer, gate: Gate) -> None:
        self._llama = llama
        self._server = server
        self._gate = gate

    async def run(self, live: LiveSession, ask: AskModel) -> None:
        """Run the step; whatever the model does becomes records.

        Raises:
            StoreFailure: the records could not be kept.
        """
        try:
            completion = await self._complete(live, ask)
        except ModelFailure as failure:
            step = live.feed.step
            partial = step.left_behind() if step is not None else PartialAnswer()
            await live.append(*of_failure(live.state, failure, partial))
            return
        template = live.baseline.template
        try:
            records = of_completion(
                live.state,
                completion,
                asked=ask.tool_choice,
                context_tokens=self._server.context_tokens,
                nine_character_ids=template is not None and template.call_id == "nine",
            )
        except ModelFailure as failure:
            await live.append(usage_of(completion, step=ask.step, discarded=True))
            live.feed.end_step()
            await live.append(*of_failure(live.state, failure, PartialAnswer()))
            return
        await live.append(*with_its_end(live.state, records, live.toolset))

    async def _complete(self, live: LiveSession, ask: AskModel) -> Completion:
        facts = await self._server.facts_or_none()
        context_tokens = facts.context_tokens if facts is not None else None
        request = build_request(live.baseline, live.messages, live.toolset, live.state, ask, context_tokens)
        turn = live.state.turn
        assert turn is not None  # a step belongs to a turn
        feed = live.feed
        async with self._gate.permit(lambda position: feed.publish_signal(turn, Queued(position=position))):
            feed.forget_signal(Queued)
            text = StepText(turn=turn, step=ask.step, attempt=live.state.attempts)
            feed.begin_step(text)
            async with aclosing(self._llama.stream(request)) as stream:
                async for item in stream:
                    if isinstance(item, Completion):
                        return item
                    for delta in item:
                        text.take(delta)
                        if isinstance(delta, PromptProgress):
                            feed.publish_signal(turn, _progress(ask.step, delta))
                    feed.wake()
        raise AssertionError("a stream ends with a completion or a failure")


def _progress(step: int, delta: PromptProgress) -> Progress:
    return Progress(
        step=step,
        processed=delta.processed,
        cached=delta.cached,
        total=delta.total,
        time_ms=delta.time_ms,
    )
