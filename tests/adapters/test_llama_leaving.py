"""The connection is gone as soon as nobody wants the stream any more: that stops the server (L8)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.completion_events import Completion
from tests.adapters.llama_streamed import ASK, all_of, shown
from tests.adapters.scripted_llama import (
    BOUND_S,
    STREAM_HEAD,
    Step,
    answer,
    http_chunk,
    llama_at,
    never,
    scripted,
)
from tests.core.completion_outcome import END, content, event
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.anyio

PLAIN = recorded("plain").raw


@pytest.mark.rules("L8")
async def test_closing_the_stream_closes_the_connection() -> None:
    async with scripted([STREAM_HEAD, http_chunk(content("Hi")), never]) as server, llama_at(server.url) as llama:
        stream = llama.stream(ASK)
        async with asyncio.timeout(BOUND_S):
            await anext(stream)
            await stream.aclose()
            await server.left.wait()


@pytest.mark.rules("L8")
@pytest.mark.parametrize("script", [[], [STREAM_HEAD]], ids=["before the head", "in the stream"])
async def test_cancelling_the_task_closes_the_connection(script: list[Step]) -> None:
    async with scripted([*script, never]) as server, llama_at(server.url) as llama:
        task = asyncio.create_task(all_of(llama))
        async with asyncio.timeout(BOUND_S):
            await server.arrived.wait()
            for _ in range(10):
                await asyncio.sleep(0)
            task.cancel()
            await server.left.wait()
            with pytest.raises(asyncio.CancelledError):
                await task


@pytest.mark.rules("L8")
@pytest.mark.parametrize(
    "last",
    [event({"error": {"message": "broken"}}), event("{"), END],
    ids=["an error", "no JSON", "the end mark"],
)
async def test_the_connection_is_closed_when_the_end_is_known_whatever_the_server_does(last: bytes) -> None:
    script = [STREAM_HEAD, http_chunk(content("Hi") + last), never]
    async with scripted(script) as server, llama_at(server.url) as llama:
        found = await shown(llama)
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()

    assert found.content == "Hi"
    assert (found.completion is None) == (found.failure is not None) == (last != END)


@pytest.mark.rules("L8")
async def test_the_connection_is_closed_before_the_completion_is_given() -> None:
    script = [STREAM_HEAD, http_chunk(content("Hi") + END), never]
    async with scripted(script) as server, llama_at(server.url) as llama, asyncio.timeout(BOUND_S):
        async for item in llama.stream(ASK):
            if isinstance(item, Completion):
                await server.left.wait()


@pytest.mark.rules("L8")
async def test_each_request_has_a_connection_of_its_own() -> None:
    async with scripted([PLAIN], [PLAIN]) as server, llama_at(server.url) as llama:
        await all_of(llama)
        await all_of(llama)

        assert [request.headers["connection"] for request in server.requests] == ["close", "close"]


@pytest.mark.rules("L8")
async def test_no_connection_is_kept_where_the_server_would_keep_it() -> None:
    async with scripted([answer(200, {"status": "ok"}), never]) as server, llama_at(server.url) as llama:
        await llama.check()
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()
