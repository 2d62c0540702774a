"""Retrieval: the passages that BM25 ranks highest, in the order of the text, in one prompt."""

from __future__ import annotations

from benchmarks.reading import prompts
from benchmarks.reading.chunks import cut
from benchmarks.reading.model_server import ModelServer
from benchmarks.reading.placing import Span
from benchmarks.reading.ranking import Ranking
from benchmarks.reading.rivals.rival import RivalAnswer
from benchmarks.reading.room import ANSWER_TOKENS, RETRIEVED, Room
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Task

_BETWEEN = "\n[…]\n"


class Retrieval:
    """One call over the best passages of all documents; they are so short that all of them fit."""

    name = f"BM25 top {RETRIEVED}"

    def __init__(self, model: ModelServer, room: Room, ranking: Ranking) -> None:
        self._model = model
        self._room = room
        self._ranking = ranking

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Cut, rank, ask."""
        passages: list[str] = []
        spans: list[Span] = []
        for number, document in enumerate(task.documents):
            for chunk in await cut(document.text, self._room.passage, self._model.count):
                passages.append(chunk.text)
                spans.append(Span(document=number, start=chunk.start, end=chunk.end))
        best = sorted(self._ranking(task.query, passages, RETRIEVED))
        shown = _BETWEEN.join(passages[number].strip() for number in best)
        prompt = prompts.answer_from_text(task.query, shown, prompts.Part.PASSAGES)
        text = (await self._model.complete(prompt, ANSWER_TOKENS, meter)).text
        return RivalAnswer(text=text, relied_on=tuple(spans[number] for number in best))
