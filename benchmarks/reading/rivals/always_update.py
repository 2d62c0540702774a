"""MemAgent's loop (arXiv 2507.02259): every chunk rewrites the memory, no gate decides, the last memory answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from benchmarks.reading import prompts
from benchmarks.reading.chunks import cut
from benchmarks.reading.model_server import ModelServer
from benchmarks.reading.rivals.rival import RivalAnswer, whole_text
from benchmarks.reading.room import ANSWER_TOKENS, Room
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Task

Count = Callable[[str], Awaitable[int]]
Cut = Callable[[str, int, Count], Awaitable[Sequence[str]]]
"""Cuts a text into chunks of at most so many tokens."""


async def _at_words(text: str, budget: int, count: Count) -> Sequence[str]:
    return [chunk.text for chunk in await cut(text, budget, count)]


class AlwaysUpdate:
    """A memory that is written anew at each chunk, cut at its budget."""

    name = "always update"

    def __init__(self, model: ModelServer, room: Room, cut: Cut = _at_words) -> None:
        self._model = model
        self._room = room
        self._cut = cut

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Read all chunks in their order, then ask the memory."""
        memory = ""
        for chunk in await self._cut(whole_text(task), self._room.chunk, self._model.count):
            prompt = prompts.update_memory(task.query, memory, chunk)
            memory = (await self._model.complete(prompt, self._room.memory, meter)).text
        prompt = prompts.answer_from_memory(task.query, memory)
        return RivalAnswer(text=(await self._model.complete(prompt, ANSWER_TOKENS, meter)).text)
