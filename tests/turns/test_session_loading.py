"""A session is read from its log page by page, and is then what it was (S4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.ids import SessionId
from service.ports import StoredRecord
from service.turns import session_loading
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say
from tests.turns.turn_facts import LaterIds

pytestmark = pytest.mark.anyio


class WatchedLog(MemoryLog):
    """Notes how many records each page had; what is read without a bound is no page."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[int] = []

    async def read(self, session: SessionId, **bounds: Any) -> Sequence[StoredRecord]:
        found = await super().read(session, **bounds)
        if bounds.get("limit") is not None:
            self.pages.append(len(found))
        return found


# With its first record a session of n turns has 4 n + 1 records.
TURNS = 3
RECORDS = 4 * TURNS + 1


@pytest.mark.rules("S4")
@pytest.mark.parametrize("page", [1, RECORDS - 1, RECORDS, RECORDS + 1])
async def test_a_log_that_is_longer_than_a_page_is_loaded_whole(monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    log = WatchedLog()
    before = House(ScriptedLlama(*[say(f"Answer {number}.") for number in range(TURNS)]), log=log)
    session = await before.session()
    for number in range(TURNS):
        await before.run(session, f"Question {number}?")
    assert len(await log.read(session)) == RECORDS
    monkeypatch.setattr(session_loading, "READ_AT_ONCE", page)
    monkeypatch.setattr(session_loading, "LOADED_AT_ONCE", 5)

    log.pages.clear()

    after = House(ScriptedLlama(say("Answer 3.")), log=log, ids=LaterIds())
    await after.run(session, "Question 3?")

    assert (max(log.pages) <= page, sum(log.pages)) == (True, RECORDS)
    said = [message["content"] for message in after.llama.requests[-1].messages]
    assert said == [text for number in range(TURNS) for text in (f"Question {number}?", f"Answer {number}.")] + [
        "Question 3?"
    ]
