"""An idempotency key runs a tool once while the port lives, and a call that nobody waits for is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from service.mcp_port.keyed_calls import AlreadyRun, KeyedCalls
from service.port_wire.problems import KeyReused

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X1", "S4")]


class Tool:
    """Runs when it is let, and counts."""

    def __init__(self, answer: bytes = b"done", *, held: bool = False) -> None:
        self.answer = answer
        self.runs = 0
        self.cancelled = 0
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        if not held:
            self.go_on.set()

    async def __call__(self) -> bytes:
        self.runs += 1
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.answer


async def test_a_key_that_comes_again_gets_the_first_answer() -> None:
    calls, tool = KeyedCalls(), Tool()

    assert [await calls.answer("k", b"f", tool) for _ in range(3)] == [b"done"] * 3
    assert tool.runs == 1


async def test_two_at_the_same_time_wait_for_one_run() -> None:
    calls, tool = KeyedCalls(), Tool(held=True)
    both = [asyncio.create_task(calls.answer("k", b"f", tool)) for _ in range(2)]
    await tool.begun.wait()
    tool.go_on.set()

    assert await asyncio.gather(*both) == [b"done", b"done"]
    assert tool.runs == 1


async def test_a_key_with_another_call_is_refused_in_flight_and_afterwards() -> None:
    calls, tool = KeyedCalls(), Tool(held=True)
    running = asyncio.create_task(calls.answer("k", b"f", tool))
    await tool.begun.wait()
    with pytest.raises(KeyReused):
        await calls.answer("k", b"other", tool)
    tool.go_on.set()
    assert await running == b"done"

    with pytest.raises(KeyReused):
        await calls.answer("k", b"other", tool)
    assert tool.runs == 1


async def test_who_leaves_does_not_stop_what_another_waits_for() -> None:
    calls, tool = KeyedCalls(), Tool(held=True)
    leaving, staying = (asyncio.create_task(calls.answer("k", b"f", tool)) for _ in range(2))
    await tool.begun.wait()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    tool.go_on.set()

    assert await staying == b"done"
    assert (tool.runs, tool.cancelled) == (1, 0)


async def test_when_the_last_one_leaves_the_call_is_cancelled_and_never_run_again() -> None:
    calls, tool = KeyedCalls(), Tool(held=True)
    both = [asyncio.create_task(calls.answer("k", b"f", tool)) for _ in range(2)]
    await tool.begun.wait()
    for task in both:
        task.cancel()
    await asyncio.gather(*both, return_exceptions=True)
    await asyncio.sleep(0)

    assert tool.cancelled == 1
    with pytest.raises(AlreadyRun, match="ran before"):
        await calls.answer("k", b"f", tool)
    assert tool.runs == 1


async def test_an_answer_that_had_to_go_does_not_let_its_call_run_twice() -> None:
    calls, tool = KeyedCalls(max_bytes=10), Tool(b"x" * 6)
    for key in ("one", "two"):
        await calls.answer(key, b"f", tool)

    assert await calls.answer("two", b"f", tool) == b"x" * 6
    with pytest.raises(AlreadyRun, match="its answer is not kept any more"):
        await calls.answer("one", b"f", tool)
    assert tool.runs == 2


async def test_an_answer_larger_than_the_bound_is_given_and_not_kept() -> None:
    calls, tool = KeyedCalls(max_bytes=10), Tool(b"x" * 11)

    assert await calls.answer("k", b"f", tool) == b"x" * 11
    with pytest.raises(AlreadyRun):
        await calls.answer("k", b"f", tool)


async def test_keys_are_kept_up_to_a_bound() -> None:
    calls, tool = KeyedCalls(max_bytes=0, max_keys=2), Tool()
    for key in ("one", "two", "three"):
        await calls.answer(key, b"f", tool)

    for key in ("two", "three"):
        with pytest.raises(AlreadyRun):
            await calls.answer(key, b"f", tool)
    assert await calls.answer("one", b"f", tool) == b"done"
