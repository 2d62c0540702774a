"""What a model writes that does as it is told, for the gated reading and for the loop that always updates."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import cycle

from benchmarks.reading.rivals.always_update import Count
from benchmarks.reading.tasks import Task
from benchmarks.reading.texts import WordListText
from service.core.json_types import JsonObject

NO_UPDATE = json.dumps({"update": False, "exit": False})

# Both loops show a part of the text behind this line, and the last call, which answers, shows none.
_SECTION = "Section:\n"
_WORDINGS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """Memories of about the same size: before the evidence was read, and with it. Each in some wordings."""

    without: tuple[str, ...]
    noted: tuple[str, ...]


async def memories(evidence: str, tokens: int, count: Count, *, reworded: bool) -> Memories:
    """Make memories of so many tokens or one or two fewer; they have one wording unless `reworded`."""
    seeds = range(_WORDINGS if reworded else 1)
    return Memories(
        without=tuple([await _filled("", seed, tokens, count) for seed in seeds]),
        noted=tuple([await _filled(f"{evidence} ", seed, tokens, count) for seed in seeds]),
    )


class ObedientReader:
    """Dictates to both loops: in a gated one `yes` at the evidence alone, else the whole memory at each chunk."""

    def __init__(self, *, evidence: str, answer: str, memories: Memories) -> None:
        self._evidence = evidence
        self._answer = answer
        self._noted_at_gate = memories.noted[0]
        self._without, self._noted = cycle(memories.without), cycle(memories.noted)

    def __call__(self, asked: JsonObject) -> str:
        """Give the reply to a request."""
        prompt: str = asked["messages"][-1]["content"]
        _, marked, section = prompt.rpartition(_SECTION)
        if not marked:
            return self._answer
        if "grammar" not in asked:
            return next(self._noted if self._evidence in prompt else self._without)
        if self._evidence not in section:
            return NO_UPDATE
        return json.dumps({"update": True, "memory": self._noted_at_gate, "exit": False}, ensure_ascii=False)


def evidence_of(task: Task) -> str:
    """Return the sentence that answers."""
    span = task.evidence[0]
    return task.documents[span.document].text.encode()[span.start : span.end].decode()


async def _filled(beginning: str, seed: int, tokens: int, count: Count) -> str:
    """Fill up to the last word that keeps to the size; each word has a token at least."""
    words = " ".join(WordListText().sentences(random.Random(seed), tokens + 1)).split()
    fitting, too_many = 0, len(words)
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if await count(beginning + " ".join(words[:middle])) <= tokens:
            fitting = middle
        else:
            too_many = middle
    return beginning + " ".join(words[:fitting])
