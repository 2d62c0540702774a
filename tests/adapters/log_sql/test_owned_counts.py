"""K3: the number of an owner's sessions that the writer keeps is that of the database, also after failures."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest
from sqlalchemy import Engine, event

from service.core.errors import StoreFailure, TooManySessions
from service.core.ids import OwnerId
from service.ports import SessionLog, StoredRecord
from tests.adapters.log_contract.sessions_made import IDLE, draft, new_session
from tests.adapters.log_sql.commits import Fault, commits_watched

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

ANN = OwnerId("ann")


async def create(log: SessionLog, at_most: int) -> Sequence[StoredRecord]:
    return await log.create_session(new_session(owner=ANN), [draft()], IDLE, at_most=at_most)


@pytest.mark.parametrize(("fault", "left"), [(Fault.COMMIT_FAILS, 1), (Fault.COMMIT_FAILS_THOUGH_DONE, 0)])
async def test_after_a_commit_that_failed_the_database_says_how_many_there_are(
    log: SessionLog, fault: Fault, left: int
) -> None:
    await create(log, 3)
    await create(log, 3)
    with commits_watched() as commits:
        commits.faults = [fault]
        with pytest.raises(StoreFailure):
            await create(log, 3)

    for _ in range(left):
        await create(log, 3)
    with pytest.raises(TooManySessions):
        await create(log, 3)


@pytest.fixture
def counts() -> Generator[list[str]]:
    """Collect the statements that count."""
    seen: list[str] = []

    def look(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if "count(" in statement.lower():
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", look)
    yield seen
    event.remove(Engine, "before_cursor_execute", look)


async def test_an_owners_sessions_are_counted_once_and_where_there_is_no_bound_never(
    log: SessionLog, counts: list[str]
) -> None:
    await create(log, 0)
    assert counts == []

    made = [new_session(owner=ANN) for _ in range(5)]
    for session in made:
        await log.create_session(session, [draft()], IDLE, at_most=9)
        await log.delete_session(session.id)

    assert len(counts) == 1
