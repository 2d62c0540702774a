"""Finds out whether a reading fits the model's context, and where its chunks end (R1, R5, R10)."""

from __future__ import annotations

import asyncio

from service.access.model_server import ModelServer
from service.access.presence import ServerPresence
from service.core.errors import ContextFull, ErrorKind, ModelFailure
from service.core.reading import prompts
from service.core.reading.chunking import Cutting
from service.core.reading.options import ExitMode, ReadingOptions
from service.core.reading.prompts import ReadingPrompts
from service.core.reading.records import ReadingCreated, ReadingPlanned
from service.core.reading.sizes import Sizes, TooSmallContext, answer_tokens, sizes
from service.ports import Ids, Llama, ReadingLog, ServerFacts
from service.readings.asking import ReadingAsking
from service.readings.live_reading import LiveReading


class PlanChanged(ModelFailure):
    """What a reading was planned with is another now, so it can't go on (R5)."""

    def __init__(self, what: str) -> None:
        super().__init__(ErrorKind.PLAN_CHANGED, f"{what} has changed since this reading was begun; begin a new one")


def prompts_of(created: ReadingCreated, fence: str, *, system_role: bool) -> ReadingPrompts:
    """Give what all calls of a reading have in common."""
    options = created.options
    return ReadingPrompts(
        query=created.query,
        fence=fence,
        memory_budget=options.memory_budget,
        answer_tokens=answer_tokens(options.memory_budget),
        model=created.model,
        system_role=system_role,
        with_draft=options.exit is ExitMode.MEASURED,
    )


class ReadingPlanner:
    """Plans readings, one document at a time, since a whole text is in memory meanwhile."""

    def __init__(
        self,
        llama: Llama,
        server: ModelServer,
        presence: ServerPresence,
        asking: ReadingAsking,
        log: ReadingLog,
        ids: Ids,
    ) -> None:
        self._llama = llama
        self._server = server
        self._presence = presence
        self._asking = asking
        self._log = log
        self._ids = ids
        self._one_at_a_time = asyncio.Lock()

    async def check(self, created: ReadingCreated) -> None:
        """See at once whether a reading would fit; a server that can't be asked now is asked when it begins.

        Raises:
            TooSmallContext: it would not.
        """
        try:
            facts = await self._server.facts()
            request = prompts_of(created, self._ids.fence(), system_role=facts.template.system_role)
            frame_tokens = await self._llama.count_tokens(request.for_chunk(None, ""))
        except ContextFull as full:
            raise TooSmallContext(_question_too_long(full.message)) from full
        except ModelFailure:
            return
        sizes(created.options, context_tokens=facts.context_tokens, frame_tokens=frame_tokens)

    async def plan(self, live: LiveReading) -> ReadingPlanned:
        """Cut the documents by the server's counts.

        Raises:
            ModelFailure: the server can't count, or a call would not fit (`context_full`).
            StoreFailure: a text can't be read.
        """
        created = live.state.created
        facts = await self._presence.when_there(self._server.facts, live.feed.publish_signal)
        fence = self._ids.fence()
        request = prompts_of(created, fence, system_role=facts.template.system_role).for_chunk(None, "")
        fitting = await self._fit(live, facts, created.options, await self._asking.count_prompt(live, request))
        async with self._one_at_a_time:
            ends = [
                await self._cut(live, number, document.bytes, document.media_type, fitting.chunk_tokens)
                for number, document in enumerate(created.documents, start=1)
            ]
        return ReadingPlanned(
            model=facts.model,
            template=facts.template.hash,
            prompt=prompts.VERSION,
            context_tokens=facts.context_tokens,
            chunk_tokens=fitting.chunk_tokens,
            answer_tokens=fitting.answer_tokens,
            fence=fence,
            ends=tuple(ends),
        )

    async def still_holds(self, live: LiveReading) -> ReadingPrompts:
        """Give the prompts of a planned reading, if nothing that it was planned with has changed (R5).

        Raises:
            PlanChanged: something has.
            ModelFailure: the server stayed away.
        """
        planned = live.state.planned
        assert planned is not None  # whoever asks has read the plan
        facts = await self._presence.when_there(self._server.facts, live.feed.publish_signal)
        if planned.prompt != prompts.VERSION:
            raise PlanChanged("the prompt of readings")
        if planned.model != facts.model:
            raise PlanChanged("llama-server's model")
        if planned.template != facts.template.hash:
            raise PlanChanged("llama-server's chat template")
        if planned.context_tokens > facts.context_tokens:
            raise PlanChanged("llama-server's context, which is smaller now,")
        return prompts_of(live.state.created, planned.fence, system_role=facts.template.system_role)

    async def _fit(self, live: LiveReading, facts: ServerFacts, options: ReadingOptions, frame_tokens: int) -> Sizes:
        try:
            return sizes(options, context_tokens=facts.context_tokens, frame_tokens=frame_tokens)
        except TooSmallContext as small:
            raise ContextFull(small.reason, prompt_tokens=frame_tokens, context_tokens=facts.context_tokens) from small

    async def _cut(
        self, live: LiveReading, number: int, size: int, media_type: str, chunk_tokens: int
    ) -> tuple[int, ...]:
        body = await self._log.document_text(live.id, number, start=0, end=size)
        assert body is not None  # kept in the transaction that made the reading
        text = await asyncio.to_thread(body.decode)
        del body
        cutting = Cutting(text, budget=chunk_tokens, media_type=media_type)
        while (piece := cutting.question) is not None:
            cutting.answer(await self._asking.count(live, piece))
        return cutting.ends


def _question_too_long(message: str) -> str:
    return f"The question alone does not fit the context ({message}). Ask a shorter one."
