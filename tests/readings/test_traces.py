"""A reading can be followed: a span for it, below it one for each request to the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from service.core.trace_context import own_context, read_traceparent
from tests.fakes.clock import CountingIds
from tests.fakes.traces import Spans, attributes_of, failed, parent_id, spans_in_memory, trace_id
from tests.readings.moments import HeldLlama, HeldLog, Moments
from tests.readings.reader_llama import GONE, AskedChunk, ReaderLlama, Says
from tests.readings.reading_house import BOUND_S, ReadingHouse, document, retain, update

pytestmark = pytest.mark.anyio

CALLER = read_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


@pytest.fixture
async def spans() -> AsyncGenerator[Spans]:
    async with spans_in_memory() as kept:
        yield kept


def finds_it(asked: AskedChunk) -> Says:
    return update("The key is under the mat.") if "Part 2" in asked.section else retain()


async def test_a_reading_is_a_workflow_of_requests_that_tell_which_part_they_were_about(spans: Spans) -> None:
    house = ReadingHouse(ReaderLlama(finds_it), tracer=spans.tracer)

    view = await house.finish(await house.begin(document(*["nothing"] * 3), trace=CALLER))
    await spans.ended("invoke_workflow")

    assert spans.tree() == ["invoke_workflow reading", "  chat", "  chat", "  chat", "  chat"]
    reading, chats = spans.one("invoke_workflow"), spans.of("chat")
    assert CALLER is not None
    assert (trace_id(reading), parent_id(reading)) == (CALLER.trace_id, CALLER.span_id)
    assert attributes_of(reading) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "reading",
        "gen_ai.usage.input_tokens": view.status.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": view.status.usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": view.status.usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "turnkeeper.reading.id": view.id,
        "turnkeeper.reading.chunks_seen": 3,
        "turnkeeper.outcome": "answered",
    }
    names = [f"turnkeeper.reading.{name}" for name in ("level", "document", "chunk")]
    places = [tuple(attributes_of(span).get(name) for name in names) for span in chats]
    assert places == [(1, 1, 1), (1, 1, 2), (1, 1, 3), (1, None, None)]
    assert {attributes_of(span)["turnkeeper.work"] for span in chats} == {"reading"}
    assert all(attributes_of(span)["gen_ai.response.time_to_first_chunk"] >= 0 for span in chats)


async def test_a_reading_that_failed_is_an_error_of_its_kind(spans: Spans) -> None:
    house = ReadingHouse(ReaderLlama(lambda _: GONE), tracer=spans.tracer)

    view = await house.read(document("nothing"))
    await spans.ended("invoke_workflow")

    reading = spans.one("invoke_workflow")
    assert view.status.error is not None
    assert failed(reading)
    assert attributes_of(reading)["error.type"] == view.status.error.kind
    assert all(failed(span) for span in spans.of("chat"))


@pytest.mark.rules("R5")
async def test_a_reading_that_goes_on_after_a_restart_stays_in_its_trace(spans: Spans) -> None:
    llama, log, moments = HeldLlama(finds_it), HeldLog(), Moments(16)
    llama.moments = log.moments = moments
    house = ReadingHouse(llama, log=log, ids=CountingIds(fences=["f" * 16] * 10), tracer=spans.tracer)
    reading = await house.begin(document(*["nothing"] * 3))
    async with asyncio.timeout(BOUND_S):
        await moments.reached.wait()
    stopping = asyncio.create_task(house.readings.shut_down())
    await asyncio.sleep(0)
    # A write that is held is waited for.
    moments.go_on.set()
    async with asyncio.timeout(BOUND_S):
        await stopping
    later = ReadingHouse(ReaderLlama(finds_it), log=log, ids=CountingIds(fences=["f" * 16] * 10), tracer=spans.tracer)

    await later.readings.resume_unfinished()
    await later.finish(reading)
    await spans.ended("invoke_workflow", 2)

    before, after = spans.of("invoke_workflow")
    assert trace_id(before) == trace_id(after) == own_context(reading).trace_id
    assert attributes_of(before)["turnkeeper.outcome"] == "interrupted"
    assert attributes_of(after)["turnkeeper.outcome"] == "answered"
    assert attributes_of(after)["turnkeeper.resumed"] is True
