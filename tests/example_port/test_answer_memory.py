"""The memory behind the keys, without HTTP: concurrency and bounds."""

import asyncio

import pytest
from anyio.lowlevel import checkpoint

from service.example_port.answer_memory import AnswerMemory
from service.port_wire.problems import KeyReused
from tests.example_port.port_client import BOUND_S

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]


class Runs:
    """Count runs and answer with a text of a given length; wait for the gate first."""

    def __init__(self, length: int = 1) -> None:
        self.count = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._length = length

    async def run(self) -> bytes:
        self.count += 1
        await self.gate.wait()
        return b"x" * self._length


async def test_those_who_come_while_it_runs_wait_for_the_one_run() -> None:
    memory, runs = AnswerMemory(), Runs()
    runs.gate.clear()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(memory.answer("k", b"f", runs.run)) for _ in range(3)]
        await checkpoint()  # all three have started: tasks run in the order of their creation
        runs.gate.set()
    assert [task.result() for task in waiting] == [b"x"] * 3
    assert runs.count == 1


async def test_one_who_is_cancelled_takes_neither_the_run_nor_the_others_along() -> None:
    memory, runs = AnswerMemory(), Runs()
    runs.gate.clear()
    first, second = (asyncio.create_task(memory.answer("k", b"f", runs.run)) for _ in range(2))
    async with asyncio.timeout(BOUND_S):
        await checkpoint()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        runs.gate.set()
        assert await second == b"x"
    assert first.cancelled()
    assert runs.count == 1


async def test_a_key_in_flight_is_refused_for_another_call() -> None:
    memory, runs = AnswerMemory(), Runs()
    runs.gate.clear()
    first = asyncio.create_task(memory.answer("k", b"f", runs.run))
    async with asyncio.timeout(BOUND_S):
        await checkpoint()
        with pytest.raises(KeyReused):
            await memory.answer("k", b"g", runs.run)
        runs.gate.set()
        await first


async def _runs_of_each(memory: AnswerMemory, keys: str, length: int) -> dict[str, int]:
    """Ask for each key in order, then from the newest to the oldest, which runs what was forgotten again."""
    runs = {key: Runs(length) for key in keys}
    for key in [*keys, *reversed(keys)]:
        await memory.answer(key, b"f", runs[key].run)
    return {key: each.count for key, each in runs.items()}


async def test_the_oldest_answers_go_when_there_are_too_many() -> None:
    assert await _runs_of_each(AnswerMemory(max_answers=2), "abc", 1) == {"a": 2, "b": 1, "c": 1}


async def test_as_many_answers_as_the_bound_are_all_kept() -> None:
    assert await _runs_of_each(AnswerMemory(max_answers=3), "abc", 1) == {"a": 1, "b": 1, "c": 1}


async def test_the_oldest_answers_go_when_they_are_too_large_together() -> None:
    assert await _runs_of_each(AnswerMemory(max_bytes=29), "abc", 10) == {"a": 2, "b": 1, "c": 1}
    assert await _runs_of_each(AnswerMemory(max_bytes=30), "abc", 10) == {"a": 1, "b": 1, "c": 1}


async def test_what_still_runs_is_never_forgotten() -> None:
    memory, slow = AnswerMemory(max_answers=1), Runs()
    slow.gate.clear()
    waiting = asyncio.create_task(memory.answer("slow", b"f", slow.run))
    async with asyncio.timeout(BOUND_S):
        await checkpoint()
        await _runs_of_each(memory, "abc", 1)
        again = asyncio.create_task(memory.answer("slow", b"f", slow.run))
        await checkpoint()
        slow.gate.set()
        assert await asyncio.gather(waiting, again) == [b"x", b"x"]
    assert slow.count == 1
