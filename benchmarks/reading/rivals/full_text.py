"""The whole text in one prompt, where the context holds it."""

from __future__ import annotations

from benchmarks.reading import prompts
from benchmarks.reading.failures import DoesNotFit
from benchmarks.reading.model_server import ModelServer
from benchmarks.reading.rivals.rival import RivalAnswer, whole_text
from benchmarks.reading.room import ANSWER_TOKENS, Room
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Task


class FullText:
    """One call."""

    name = "full text"

    def __init__(self, model: ModelServer, room: Room) -> None:
        self._model = model
        self._room = room

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Ask once, or say by how much the text is too long."""
        prompt = prompts.answer_from_text(task.query, whole_text(task), prompts.Part.WHOLE)
        tokens = await self._model.prompt_tokens(prompt)
        if tokens + ANSWER_TOKENS > self._room.context:
            raise DoesNotFit(f"{tokens} tokens in a context of {self._room.context}")
        return RivalAnswer(text=(await self._model.complete(prompt, ANSWER_TOKENS, meter)).text)
