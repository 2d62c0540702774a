"""The wait for the head over a real socket: what is told, when it ends, and what it leaves behind (L2, L8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import httpx
import pytest

from service.adapters.llama import LlamaHttp, LlamaTimes
from service.adapters.llama.slots import Look, Slots
from service.core.completion_events import Completion, StillWaiting, WaitReason
from service.core.errors import ErrorKind
from service.core.head_wait import Sight
from tests.adapters.llama_streamed import ASK, all_of, failure_of, shown
from tests.adapters.scripted_llama import (
    BOUND_S,
    FRESH_SLOT,
    STREAM_HEAD,
    Step,
    answer,
    llama_at,
    never,
    scripted,
    slots_answer,
    working_slot,
)
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.anyio

PLAIN = recorded("plain").raw
LONG_PREFILL_BESIDE_A_FREE_SLOT = slots_answer(working_slot(0, 3, 512), {**FRESH_SLOT, "id": 1})
QUICK = LlamaTimes(poll_ms=50)


def tasks_of_the_adapter() -> list[str]:
    names = ("wait for the head", "look at the slots", "watch a silent stream")
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name() in names]


async def first_told(llama: LlamaHttp) -> StillWaiting:
    """Wait until a request is told what it waits for, and leave it."""
    async with asyncio.timeout(BOUND_S), aclosing(llama.stream(ASK)) as stream:
        told = await anext(stream)
        assert isinstance(told, tuple)
        assert isinstance(told[0], StillWaiting)
        return told[0]


@pytest.mark.rules("L2")
async def test_a_request_that_waits_for_a_batch_in_another_slot_is_busy_and_not_idle() -> None:
    slot_is_free = asyncio.Event()
    times = LlamaTimes(poll_ms=50, idle_grace_ms=50)
    slots = [[LONG_PREFILL_BESIDE_A_FREE_SLOT]]
    async with scripted([slot_is_free.wait, PLAIN], slots=slots) as server, llama_at(server.url, times) as llama:
        stream = llama.stream(ASK)
        async with asyncio.timeout(BOUND_S):
            told = [await anext(stream) for _ in range(4)]
            slot_is_free.set()
            rest = [item async for item in stream]

    waits = [delta for batch in told if isinstance(batch, tuple) for delta in batch]
    assert [wait.reason for wait in waits if isinstance(wait, StillWaiting)] == [WaitReason.SLOT_BUSY] * 4
    waited = [wait.waited_ms for wait in waits if isinstance(wait, StillWaiting)]
    assert waited == sorted(set(waited))
    assert waited[0] == 0
    assert isinstance(rest[-1], Completion)


@pytest.mark.rules("L2")
async def test_a_head_that_comes_soon_costs_no_look() -> None:
    async with scripted([PLAIN]) as server, llama_at(server.url) as llama:
        items = await all_of(llama)

    assert isinstance(items[-1], Completion)
    assert server.looks == []


@pytest.mark.rules("L2")
async def test_the_head_ends_the_wait_though_a_look_is_under_way() -> None:
    times = LlamaTimes(poll_ms=300)
    async with scripted() as server:
        server.add([server.looked.wait, PLAIN], slots=[[never]])
        async with llama_at(server.url, times) as llama, asyncio.timeout(BOUND_S):
            items = await all_of(llama)
            await server.look_left.wait()

    assert not isinstance(items[0], Completion)
    assert not isinstance(items[0][0], StillWaiting)
    assert len(server.looks) == 1


FAILURES: list[tuple[str, list[Step], ErrorKind, str]] = [
    ("some slot works", [LONG_PREFILL_BESIDE_A_FREE_SLOT], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("no slot works", [slots_answer(FRESH_SLOT)], ErrorKind.STALLED, "idle_grace_ms"),
    ("401", [recorded("unauthorized").raw], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("403", [answer(403, {})], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("404", [answer(404, {})], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("501", [answer(501, {})], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("500", [answer(500, {})], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("no list", [answer(200, {"slots": []})], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("no JSON", [answer(200, b"<html>")], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("deep", [answer(200, b"[" * 100_000)], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("no HTTP", [b"SSH-2.0-OpenSSH_9\r\n"], ErrorKind.WAIT_TIMEOUT, "busy_wait_ms"),
    ("503", [recorded("loading_health").raw], ErrorKind.LOAD_TIMEOUT, "load_wait_ms"),
    ("lost", [], ErrorKind.LOAD_TIMEOUT, "load_wait_ms"),
    ("half an answer", [slots_answer(FRESH_SLOT)[:-1]], ErrorKind.LOAD_TIMEOUT, "load_wait_ms"),
    ("silent", [never], ErrorKind.LOAD_TIMEOUT, "load_wait_ms"),
]


@pytest.mark.rules("L2", "L8")
@pytest.mark.parametrize(("look", "kind", "setting"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
async def test_a_head_that_does_not_come_is_waited_for_as_long_as_the_slots_say(
    look: list[Step], kind: ErrorKind, setting: str
) -> None:
    bounds = {"busy_wait_ms": 600_000, "load_wait_ms": 300_000, "idle_grace_ms": 30_000, setting: 60}
    async with (
        scripted([never], slots=[look]) as server,
        llama_at(server.url, LlamaTimes(poll_ms=50, **bounds)) as llama,
    ):
        found = await shown(llama)
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()

    assert found.failure is not None
    assert found.failure.kind is kind
    assert found.failure.message.endswith(f"for 0.06 s ({setting})")
    assert isinstance(found.deltas[0], StillWaiting)
    assert tasks_of_the_adapter() == []


@pytest.mark.rules("L2")
async def test_slots_that_tell_without_end_tell_nothing() -> None:
    endless = httpx.MockTransport(lambda _: httpx.Response(200, stream=httpx.ByteStream(b"[" + b" " * 9_000_000)))
    async with httpx.AsyncClient(base_url="http://llama.test", transport=endless) as client:
        assert await Slots(client, model=None, answer_ms=10_000).look() == Look(sight=Sight.UNTOLD)


@pytest.mark.rules("L2")
async def test_a_state_ends_at_its_time_and_not_at_the_next_look() -> None:
    times = LlamaTimes(poll_ms=1000, idle_grace_ms=50)
    async with scripted([never]) as server, llama_at(server.url, times) as llama:
        found = await shown(llama)

    assert found.failure is not None
    assert found.failure.kind is ErrorKind.STALLED
    assert len(server.looks) == len(found.deltas) == 1


@pytest.mark.rules("L2")
async def test_half_a_head_is_no_reason_to_wait_for_the_slots() -> None:
    times = LlamaTimes(poll_ms=50, idle_grace_ms=60)
    half = [b"HTTP/1.1 200 OK\r\nServer:", never]
    slots = [[LONG_PREFILL_BESIDE_A_FREE_SLOT]]
    async with scripted(half, slots=slots) as server, llama_at(server.url, times) as llama:
        found = await shown(llama)

    assert {delta.reason for delta in found.deltas if isinstance(delta, StillWaiting)} == {WaitReason.IDLE}
    assert found.failure is not None
    assert found.failure.kind is ErrorKind.STALLED


@pytest.mark.rules("L2")
async def test_a_router_is_asked_for_the_slots_of_the_model() -> None:
    async with scripted([never]) as server, llama_at(server.url, QUICK, model="small/model & more") as llama:
        assert (await first_told(llama)).reason is WaitReason.IDLE

    assert server.looks[0].line == "GET /slots?model=small%2Fmodel+%26+more HTTP/1.1"


@pytest.mark.rules("L2")
async def test_a_server_with_one_model_is_asked_for_its_slots() -> None:
    async with scripted([never]) as server, llama_at(server.url, QUICK, api_key="secret") as llama:
        await first_told(llama)

    assert server.looks[0].line == "GET /slots HTTP/1.1"
    assert server.looks[0].headers["authorization"] == "Bearer secret"


@pytest.mark.rules("L2")
async def test_two_hundred_that_wait_share_their_looks() -> None:
    times = LlamaTimes(poll_ms=400)
    loop = asyncio.get_running_loop()
    slots = [[LONG_PREFILL_BESIDE_A_FREE_SLOT]]
    async with scripted(*[[never]] * 200, slots=slots) as server, llama_at(server.url, times) as llama:
        began = loop.time()
        async with asyncio.timeout(BOUND_S):
            told = await asyncio.gather(*(first_told(llama) for _ in range(200)))
        polls_that_fit = (loop.time() - began) / 0.4

    assert {wait.reason for wait in told} == {WaitReason.SLOT_BUSY}
    assert len(server.requests) == 200
    assert 1 <= len(server.looks) <= polls_that_fit
    assert tasks_of_the_adapter() == []


@pytest.mark.rules("L2", "L8")
async def test_one_that_is_cancelled_leaves_no_connection_and_no_task_and_nothing_is_asked_any_more() -> None:
    async with scripted([never], slots=[[never]]) as server, llama_at(server.url, QUICK) as llama:
        task = asyncio.create_task(all_of(llama))
        async with asyncio.timeout(BOUND_S):
            await server.looked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert tasks_of_the_adapter() == []
            await server.left.wait()
            await server.look_left.wait()
        assert len(server.looks) == 1


async def cancelled(llama: LlamaHttp, arrived: asyncio.Event) -> None:
    task = asyncio.create_task(all_of(llama))
    await arrived.wait()
    task.cancel()
    await asyncio.wait({task})


async def closed_between_looks(llama: LlamaHttp, arrived: asyncio.Event) -> None:
    stream = llama.stream(ASK)
    await anext(stream)
    await stream.aclose()


@pytest.mark.rules("L8")
@pytest.mark.parametrize("leave", [cancelled, closed_between_looks])
async def test_leaving_the_wait_in_any_way_closes_the_connection(
    leave: Callable[[LlamaHttp, asyncio.Event], Awaitable[None]],
) -> None:
    async with scripted([never]) as server, llama_at(server.url, QUICK) as llama, asyncio.timeout(BOUND_S):
        await leave(llama, server.arrived)
        assert tasks_of_the_adapter() == []
        await server.left.wait()


@pytest.mark.rules("L2", "L8")
async def test_a_head_that_comes_while_its_wait_is_left_is_closed_as_well() -> None:
    told = asyncio.Event()
    script = [told.wait, STREAM_HEAD, never]
    async with scripted(script) as server, llama_at(server.url, QUICK) as llama, asyncio.timeout(BOUND_S):
        stream = llama.stream(ASK)
        await anext(stream)
        (waiting,) = [task for task in asyncio.all_tasks() if task.get_name() == "wait for the head"]
        told.set()
        await asyncio.wait({waiting})
        await stream.aclose()
        await server.left.wait()


@pytest.mark.rules("L2", "L7")
async def test_a_connection_lost_during_the_wait_is_a_closed_stream() -> None:
    async with scripted() as server:
        server.add([server.looked.wait])
        async with llama_at(server.url, QUICK) as llama:
            failure = (await shown(llama)).failure

    assert failure is not None
    assert failure.kind is ErrorKind.STREAM_CLOSED


@pytest.mark.rules("L2")
async def test_a_server_that_loads_says_so_in_its_head_and_is_not_waited_for_here() -> None:
    assert (await failure_of([recorded("loading_chat").raw])).status == 503
