"""A session is read from its log page by page, and is then what it was (S4)."""

from __future__ import annotations

import pytest

from service.adapters.log_memory import MemoryLog
from service.turns import session_loading
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say
from tests.turns.turn_facts import LaterIds

pytestmark = pytest.mark.anyio

# With its first record a session of n turns has 4 n + 1 records.
TURNS = 3
RECORDS = 4 * TURNS + 1


@pytest.mark.rules("S4")
@pytest.mark.parametrize("page", [1, RECORDS - 1, RECORDS, RECORDS + 1])
async def test_a_log_that_is_longer_than_a_page_is_loaded_whole(monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    log = MemoryLog()
    before = House(ScriptedLlama(*[say(f"Answer {number}.") for number in range(TURNS)]), log=log)
    session = await before.session()
    for number in range(TURNS):
        await before.run(session, f"Question {number}?")
    assert len(await log.read(session)) == RECORDS
    monkeypatch.setattr(session_loading, "READ_AT_ONCE", page)
    monkeypatch.setattr(session_loading, "LOADED_AT_ONCE", 5)

    after = House(ScriptedLlama(say("Answer 3.")), log=log, ids=LaterIds())
    await after.run(session, "Question 3?")

    said = [message["content"] for message in after.llama.requests[-1].messages]
    assert said == [text for number in range(TURNS) for text in (f"Question {number}?", f"Answer {number}.")] + [
        "Question 3?"
    ]
