"""A thousand seeded readings against Algorithm 1 as short as it can be said (R2 to R4, R10)."""

from __future__ import annotations

import json
import random
import re

import pytest

from service.core.reading.options import ExitMode
from service.core.reading.records import BudgetExceeded, GateSet, MemoryWritten, ParseFailed, RunEnd
from tests.readings.reader_llama import AskedChunk, ReaderLlama, Says
from tests.readings.reading_house import ReadingHouse, document
from tests.readings.reference import Reference, Said, read

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R2", "R3", "R4", "R10", "R11")]

BUDGET = 16
_TOKEN = re.compile(r"\w+|[^\w ]")


def size(text: str) -> int:
    return len(_TOKEN.findall(text))


def drawn_reply(draw: random.Random) -> Said:
    kind = draw.choices(["gates", "no parse", "cut"], weights=[8, 2, 1])[0]
    if kind == "no parse":
        return draw.choice(["yes", "{}", '{"update": true}', '{"update": 1, "exit": 0}', "", '[{"update": false}]'])
    if kind == "cut":
        return None
    update = draw.random() < 0.4
    words = draw.choice([1, 5, BUDGET - 1, BUDGET, BUDGET + 1, 40])
    return update, " ".join(f"m{draw.randrange(1000)}" for _ in range(words)) if update else None, draw.random() < 0.3


def written(said: Said) -> Says:
    if isinstance(said, str):
        return said
    if said is None:
        return '{"update": true, "memory": "on and on', "length"
    update, memory, leave = said
    return json.dumps({"update": update, **({"memory": memory} if update else {}), "exit": leave})


@pytest.mark.parametrize("seed", range(20))
async def test_gates_memory_counts_and_outcome_are_those_of_the_reference(seed: int) -> None:
    draw = random.Random(seed)
    for run in range(50):
        chunks = draw.randint(1, 8)
        replies = [[drawn_reply(draw) for _ in range(3)] for _ in range(chunks)]
        asked = draw.random() < 0.5
        house = ReadingHouse(ReaderLlama(lambda chunk, replies=replies: written(said_of(replies, chunk))))

        view = await house.read(
            document(*["more"] * chunks),
            memory_budget=BUDGET,
            exit=ExitMode.ASKED if asked else ExitMode.NEVER,
        )

        records = await house.records(view.id)
        end = records[-1]
        assert isinstance(end, RunEnd)
        memories = [record.text for record in records if isinstance(record, MemoryWritten)]
        mine = Reference(
            gates=[(gate.chunk, gate.update, gate.exit) for gate in records if isinstance(gate, GateSet)],
            memory=memories[-1] if memories else None,
            seen=end.chunks_seen,
            used=end.chunks_used,
            calls=end.calls,
            exceeded=sum(isinstance(record, BudgetExceeded) for record in records),
            unparsed=sum(isinstance(record, ParseFailed) for record in records),
            refused=end.exits_refused,
            outcome=end.outcome.value,
        )
        assert mine == read(replies, size, BUDGET, asked=asked), f"seed {seed}, run {run}"
        assert house.llama.calls == end.calls


def said_of(replies: list[list[Said]], chunk: AskedChunk) -> Said:
    found = re.search(r"Part (\d+)", chunk.section)
    assert found is not None
    return replies[int(found[1]) - 1][chunk.attempt]
