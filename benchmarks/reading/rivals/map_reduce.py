"""Map and reduce: each chunk is asked the question alone, then the answers are merged into one."""

from __future__ import annotations

from benchmarks.reading import prompts
from benchmarks.reading.chunks import cut
from benchmarks.reading.judging import NOT_FOUND, says_absent
from benchmarks.reading.model_server import ModelServer
from benchmarks.reading.rivals.rival import RivalAnswer, whole_text
from benchmarks.reading.room import ANSWER_TOKENS, Room
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Task

# A dash and an end of line around each answer in a merging prompt.
_TOKENS_AROUND = 3


class MapReduce:
    """Chunks that know nothing of one another."""

    name = "map-reduce"

    def __init__(self, model: ModelServer, room: Room) -> None:
        self._model = model
        self._group = max(2, room.for_text // (ANSWER_TOKENS + _TOKENS_AROUND))
        self._room = room

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Ask each chunk, leave out those that say that they don't know, and merge until one answer is left."""
        answers: list[str] = []
        for chunk in await cut(whole_text(task), self._room.chunk, self._model.count):
            text = await self._ask(prompts.answer_from_text(task.query, chunk.text, prompts.Part.SECTION), meter)
            if text and not says_absent(text):
                answers.append(text)
        if not answers:
            return RivalAnswer(text=NOT_FOUND)
        # Once at least, since also a single chunk's answer is to be an answer to the question.
        merged = await self._merge(task, answers, meter)
        while len(merged) > 1:
            merged = await self._merge(task, merged, meter)
        return RivalAnswer(text=merged[0])

    async def _merge(self, task: Task, answers: list[str], meter: Meter) -> list[str]:
        groups = [answers[at : at + self._group] for at in range(0, len(answers), self._group)]
        return [await self._ask(prompts.merge_answers(task.query, group), meter) for group in groups]

    async def _ask(self, prompt: str, meter: Meter) -> str:
        return (await self._model.complete(prompt, ANSWER_TOKENS, meter)).text
