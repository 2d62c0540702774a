"""Runs readings: performs what the machine says comes next, and keeps each chunk once it is wholly resolved (R5)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from hashlib import sha256

from service.access.model_server import ModelServer
from service.core.completion_events import Completion, FinishReason
from service.core.errors import ErrorKind, ModelFailure
from service.core.reading.machine import (
    End,
    Heard,
    Plan,
    ReadChunks,
    Source,
    WriteAnswer,
    chunk_records,
    next_source,
    next_step,
    run_end,
)
from service.core.reading.probabilities import member_probability, text_probability
from service.core.reading.prompts import REPLIES_PER_CHUNK, ReadingPrompts
from service.core.reading.records import AnswerGiven, ReadingOutcome, ReadingUsage
from service.core.reading.reply import Gates, NotParsed, read_reply
from service.core.reading.signals import AskedAgain, ChunkStarted
from service.core.reading.state import Memory, key_of
from service.core.records.outcomes import TurnError
from service.core.usage import UsageTotals
from service.ports import Clock, ReadingLog
from service.readings.asking import FailedForGood, ReadingAsking
from service.readings.feed import Place
from service.readings.live_reading import LiveReading
from service.readings.pace import Pace
from service.readings.planner import ReadingPlanner


class ReadingRunner:
    """Takes readings from where their logs end to their `run_end`."""

    def __init__(
        self, planner: ReadingPlanner, asking: ReadingAsking, server: ModelServer, log: ReadingLog, clock: Clock
    ) -> None:
        self._planner = planner
        self._asking = asking
        self._server = server
        self._log = log
        self._clock = clock

    async def run(self, live: LiveReading) -> None:
        """Run to the end; whatever the model server does becomes records.

        Raises:
            StoreFailure: something could not be read or kept.
        """
        try:
            await self._run(live)
        except ModelFailure as failure:
            if isinstance(failure, FailedForGood) and failure.spent.completions:
                await live.append(_usage(live, None, failure.spent))
            error = TurnError(kind=failure.kind, message=failure.message, status=failure.status)
            await live.append(run_end(live.state, ReadingOutcome.FAILED, error))

    async def _run(self, live: LiveReading) -> None:
        pace = Pace(self._clock)
        while (step := next_step(live.state)) is not None:
            match step:
                case Plan():
                    await live.append(await self._planner.plan(live))
                case ReadChunks(sources=sources):
                    await self._read(live, sources, pace)
                case WriteAnswer(memory=memory):
                    await self._answer(live, memory)
                case End(outcome=outcome):
                    await live.append(run_end(live.state, outcome))

    async def _read(self, live: LiveReading, sources: tuple[Source, ...], pace: Pace) -> None:
        """Read all runs of a level to their ends, as many of them side by side as there are slots (R6)."""
        # Whatever goes on after a start is the first to ask the server, which tells how many slots there are.
        await self._planner.still_holds(live)
        lanes = asyncio.Semaphore(live.state.created.options.parallel or self._server.slots)

        async def read_run(source: Source | None) -> None:
            async with lanes:
                while source is not None:
                    await self._read_chunk(live, source, pace)
                    source = next_source(live.state, key_of(source.level, source.document))

        await _all_or_first_failure([read_run(source) for source in sources])

    async def _read_chunk(self, live: LiveReading, source: Source, pace: Pace) -> None:
        prompts = await self._planner.still_holds(live)
        place = Place(level=source.level, document=source.document, chunk=source.chunk)
        text = await self._text_of(live, source)
        live.feed.publish_signal(
            ChunkStarted(level=source.level, document=source.document, chunk=source.chunk, chunks=source.chunks),
            place,
        )
        try:
            heard, spent = await self._hear(live, place, prompts, source, text.decode())
            records = chunk_records(live.state, source, sha256(text).hexdigest(), heard)
            await live.append(*records, _usage(live, place, spent))
        finally:
            live.feed.end_reply(place)
        pace.chunk_read(spent)
        live.feed.publish_signal(pace.progress(live.state))

    async def _text_of(self, live: LiveReading, source: Source) -> bytes:
        if source.text is not None:
            return source.text.encode()
        body = await self._log.document_text(live.id, source.document, start=source.start, end=source.end)
        assert body is not None  # kept in the transaction that made the reading
        return body

    async def _hear(
        self, live: LiveReading, place: Place, prompts: ReadingPrompts, source: Source, text: str
    ) -> tuple[Heard, UsageTotals]:
        """Ask until a reply parses, three times at most (R4)."""
        memory = live.state.run(key_of(source.level, source.document)).memory
        spent, reply, attempt = UsageTotals(), NotParsed("it was never asked for"), 0
        while True:
            request = prompts.for_chunk(None if memory is None else memory.text, text, attempt=attempt)
            try:
                answer = await self._asking.ask(live, place, request)
            except FailedForGood as failure:
                raise FailedForGood(failure, spent + failure.spent) from failure
            spent, attempt = spent + answer.spent, attempt + 1
            completion = answer.completion
            reply = read_reply(completion.content, completion.finish_reason, with_draft=prompts.with_draft)
            if not isinstance(reply, NotParsed):
                break
            if attempt == REPLIES_PER_CHUNK:
                return Heard(reply=reply, attempts=attempt), spent
            live.feed.publish_signal(_asked_again(place, attempt, reply.reason), place)
        if not isinstance(reply, Gates):
            return Heard(reply=reply, attempts=attempt), spent
        try:
            return await self._weigh(live, reply, completion, attempt), spent
        except ModelFailure as failure:
            raise FailedForGood(failure, spent) from failure

    async def _weigh(self, live: LiveReading, gates: Gates, completion: Completion, attempts: int) -> Heard:
        tokens = None if gates.candidate is None else await self._asking.count(live, gates.candidate)
        return Heard(
            reply=gates,
            attempts=attempts,
            candidate_tokens=tokens,
            update_probability=member_probability(completion.tokens, "update"),
            exit_probability=member_probability(completion.tokens, "exit"),
            draft_probability=None if gates.draft is None else text_probability(completion.tokens, "answer"),
        )

    async def _answer(self, live: LiveReading, memory: Memory) -> None:
        prompts = await self._planner.still_holds(live)
        level = live.state.created.options.level
        place, spent = Place(level=level), UsageTotals()
        for attempt in range(REPLIES_PER_CHUNK):
            try:
                answer = await self._asking.ask(live, place, prompts.for_answer(memory.text, attempt=attempt))
            except FailedForGood as failure:
                raise FailedForGood(failure, spent + failure.spent) from failure
            spent += answer.spent
            content = answer.completion.content.strip()
            if content:
                truncated = answer.completion.finish_reason == FinishReason.LENGTH
                given = AnswerGiven(level=level, content=content, memory=memory.sha256, truncated=truncated)
                await live.append(given, _usage(live, place, spent))
                live.feed.end_reply(place)
                return
        silent = ModelFailure(ErrorKind.EMPTY_ANSWER, "the model gave no answer out of the memory")
        raise FailedForGood(silent, spent)


async def _all_or_first_failure(runs: Sequence[Coroutine[None, None, None]]) -> None:
    tasks = [asyncio.ensure_future(run) for run in runs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _asked_again(place: Place, attempt: int, reason: str) -> AskedAgain:
    return AskedAgain(
        level=place.level, document=place.document, chunk=place.chunk, attempt=attempt, reason=reason, delay_ms=0
    )


def _usage(live: LiveReading, place: Place | None, spent: UsageTotals) -> ReadingUsage:
    place = place or Place(level=live.state.created.options.level)
    return ReadingUsage(level=place.level, document=place.document, chunk=place.chunk, usage=spent)
