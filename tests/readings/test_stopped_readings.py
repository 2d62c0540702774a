"""Readings that are cancelled, killed or left by their server: no half chunk, none twice, and on they go (R5)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from copy import deepcopy

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import ErrorKind, ModelFailure
from service.core.ids import LOCAL_OWNER, ReadingId
from service.core.reading.machine import run_end
from service.core.reading.records import ReadingOutcome, ReadingRecord, ReadingUsage, RunEnd
from service.core.reading.state import fold
from service.core.reading.trail import ReadingTrail
from tests.fakes.clock import CountingIds
from tests.readings.moments import HeldLlama, HeldLog, Moments
from tests.readings.reader_llama import GONE, AskedChunk, ReaderLlama, Says
from tests.readings.reading_house import BOUND_S, ReadingHouse, document, retain, update

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R5")]

SAYS: dict[int, Sequence[Says]] = {
    2: [update("The key is under the mat.")],
    3: ["not at all", '{"update": 1}', update("The key is under the mat, or was.")],
    4: ["nothing", "nothing", "nothing"],
    5: [update(" ".join(["word"] * 90))],
    6: [('{"update": true, "memory": "on and on', "length")],
    7: [update("The key is with the neighbour.", exit=True)],
}
BOOK = document(*["something"] * 8)


def says(asked: AskedChunk) -> Says:
    found = re.search(r"Part (\d+)", asked.section)
    assert found is not None
    script = SAYS.get(int(found[1]))
    return retain() if script is None else script[asked.attempt]


def held(hold_at: int = 0) -> tuple[ReadingHouse, Moments]:
    moments = Moments(hold_at)
    llama, log = HeldLlama(says), HeldLog()
    llama.moments = log.moments = moments
    return ReadingHouse(llama, log=log, ids=ids()), moments


def ids() -> CountingIds:
    # A plan that was lost with its kill is made anew, with a fence of its own.
    return CountingIds(fences=["f" * 16] * 10)


async def begun_and_reached(house: ReadingHouse, moments: Moments) -> ReadingId:
    reading = await house.begin(BOOK)
    async with asyncio.timeout(BOUND_S):
        await moments.reached.wait()
    return reading


async def number_of_moments() -> int:
    house, moments = held()
    await house.read(BOOK)
    return len(moments.passed)


def verified(records: Sequence[ReadingRecord]) -> bool:
    """What `turnkeeper verify` says of them."""
    body = BOOK.text.encode()
    trail = ReadingTrail(lambda _number, start, end: body[start:end])
    return all(trail.fault_of(record) is None for record in records)


def half_chunks(records: Sequence[ReadingRecord]) -> bool:
    """Whether records of a chunk stand without the `usage` that closes them."""
    last = max((place for place, record in enumerate(records) if isinstance(record, ReadingUsage)), default=1)
    return any(hasattr(record, "chunk") for record in records[last + 1 :])


async def test_from_each_of_its_moments_a_killed_reading_goes_on_to_the_log_of_one_that_was_not_killed() -> None:
    whole_house, _ = held()
    whole = await whole_house.records((await whole_house.read(BOOK)).id)
    total = await number_of_moments()
    assert total >= 50

    for moment in range(1, total + 1):
        house, moments = held(moment)
        # The first question to the server comes before there is a reading: nothing is lost with it.
        beginning = asyncio.create_task(house.begin(BOOK))
        async with asyncio.timeout(BOUND_S):
            await moments.reached.wait()
        if not beginning.done():
            beginning.cancel()
            continue
        reading = beginning.result()
        assert isinstance(house.log, MemoryLog)
        disk = MemoryLog()
        disk.__dict__.update({name: deepcopy(kept) for name, kept in vars(house.log).items() if name != "moments"})
        seen = len([1 for record in await house.records(reading) if isinstance(record, ReadingUsage)])

        again = ReadingHouse(ReaderLlama(says), log=disk, ids=ids())
        await again.readings.resume_unfinished()
        view = await again.finish(reading)

        assert view.status.outcome is ReadingOutcome.ANSWERED
        assert await again.records(reading) == whole, moments.passed[-1]
        assert verified(whole)
        # What was read was not asked about again.
        first = again.llama.chunks[0] if again.llama.chunks else None
        assert first is None or f"Part {seen + 1} " in first.section
        moments.go_on.set()
        await house.readings.shut_down()


@pytest.mark.rules("R5", "R8")
async def test_a_cancel_at_each_of_its_moments_leaves_whole_chunks_and_one_end() -> None:
    whole_house, _ = held()
    whole = await whole_house.records((await whole_house.read(BOOK)).id)
    # Of those before the reading is there nobody can cancel it; behind its end there is nothing to cancel.
    for moment in range(2, await number_of_moments()):
        house, moments = held(moment)
        reading = await begun_and_reached(house, moments)
        cancelling = asyncio.create_task(house.readings.cancel(reading, LOCAL_OWNER))
        await asyncio.sleep(0)
        moments.go_on.set()
        async with asyncio.timeout(BOUND_S):
            view, _ = await cancelling

        records = await house.records(reading)
        *before, end = records
        assert before == list(whole[: len(before)])
        assert not half_chunks(before)
        assert verified(records)
        assert isinstance(end, RunEnd)
        assert end.outcome is view.status.outcome
        assert end.outcome in (ReadingOutcome.CANCELLED, ReadingOutcome.ANSWERED)
        assert end == run_end(fold(before), end.outcome)
        assert (await house.readings.cancel(reading, LOCAL_OWNER))[1] is True
        assert house.gate.in_use == 0


async def test_a_reading_that_a_stop_interrupts_goes_on_with_the_next_start() -> None:
    house, moments = held(30)
    reading = await begun_and_reached(house, moments)
    stopping = asyncio.create_task(house.readings.shut_down())
    moments.go_on.set()
    await stopping
    assert not any(isinstance(record, RunEnd) for record in await house.records(reading))

    again = ReadingHouse(ReaderLlama(says), log=house.log, ids=ids())
    await again.readings.resume_unfinished()

    assert (await again.finish(reading)).status.outcome is ReadingOutcome.ANSWERED


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"model": "another"}, "model"), ({"template_hash": "t2"}, "template"), ({"context_tokens": 2048}, "context")],
    ids=["model", "template", "context"],
)
async def test_what_was_planned_with_another_server_does_not_go_on(changed: dict[str, object], told: str) -> None:
    house, moments = held(30)
    reading = await begun_and_reached(house, moments)
    moments.go_on.set()
    await house.readings.shut_down()
    llama = ReaderLlama(says)
    for name, value in changed.items():
        setattr(llama, name, value)

    again = ReadingHouse(llama, log=house.log, ids=ids())
    await again.readings.resume_unfinished()
    view = await again.finish(reading)

    assert view.status.outcome is ReadingOutcome.FAILED
    assert view.status.error is not None
    assert view.status.error.kind is ErrorKind.PLAN_CHANGED
    assert told in view.status.error.message
    assert llama.calls == 0


@pytest.mark.rules("L7")
async def test_a_server_that_is_away_is_waited_for_and_the_chunk_is_read_then() -> None:
    llama = ReaderLlama(says)
    house = ReadingHouse(llama)
    llama.away = GONE
    house.clock.may_wake = asyncio.Event()
    reading = await house.begin(BOOK)
    async with asyncio.timeout(BOUND_S):
        await house.clock.asleep.wait()
    llama.away = None
    house.clock.may_wake.set()

    view = await house.finish(reading)

    assert view.status.outcome is ReadingOutcome.ANSWERED
    assert view.status.calls == llama.calls


@pytest.mark.rules("L7", "R10")
async def test_an_attempt_that_breaks_is_tried_again_and_counted() -> None:
    broken = ModelFailure(ErrorKind.STREAM_CLOSED, "the connection broke")
    failures = [broken, broken]

    def fails_twice(asked: AskedChunk) -> Says:
        return failures.pop() if failures else says(asked)

    house = ReadingHouse(ReaderLlama(fails_twice))

    view = await house.read(BOOK)

    assert view.status.outcome is ReadingOutcome.ANSWERED
    assert view.status.calls == house.llama.calls == 8 + 2 + 2 + 1 + 2


@pytest.mark.rules("L7")
async def test_a_server_that_always_breaks_fails_the_reading_and_keeps_what_was_read() -> None:
    def fails_at_5(asked: AskedChunk) -> Says:
        return ModelFailure(ErrorKind.STREAM_CLOSED, "broken") if "Part 5" in asked.section else says(asked)

    house = ReadingHouse(ReaderLlama(fails_at_5))

    view = await house.read(BOOK)

    assert view.status.outcome is ReadingOutcome.FAILED
    assert view.status.error is not None
    assert view.status.error.kind is ErrorKind.STREAM_CLOSED
    assert (view.status.chunks_seen, view.status.chunks_used) == (4, 2)
    assert not half_chunks((await house.records(view.id))[:-1])
    assert view.status.calls == house.llama.calls


@pytest.mark.rules("L7", "R3")
async def test_a_candidate_that_can_not_be_counted_is_not_kept_and_its_calls_are_counted() -> None:
    class NoCandidates(ReaderLlama):
        async def count_text(self, text: str) -> int:
            if text.startswith("The key"):
                raise ModelFailure(ErrorKind.PROTOCOL, "no list of tokens")
            return await super().count_text(text)

    house = ReadingHouse(NoCandidates(says))

    view = await house.read(BOOK)

    assert view.status.outcome is ReadingOutcome.FAILED
    assert (view.status.chunks_seen, view.status.chunks_used) == (1, 0)
    assert view.status.calls == house.llama.calls == 2
