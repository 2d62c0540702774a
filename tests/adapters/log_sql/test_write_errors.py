"""S5, the store's part: a write that fails fails alone, and the next one works."""

import asyncio
from collections.abc import Generator

import pytest

from service.core.errors import StoreFailure
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import LATER, append, draft, make, new_session, seqs
from tests.adapters.log_contract.test_chain import assert_chain_holds
from tests.adapters.log_sql.commits import Commits, commits_watched
from tests.adapters.log_sql.conftest import Look

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "S5")]


@pytest.fixture
def commits() -> Generator[Commits]:
    with commits_watched() as watched:
        yield watched


async def test_a_full_disk_fails_the_append_and_the_next_one_works(
    log: SessionLog, commits: Commits, look: Look
) -> None:
    session = await make(log)
    commits.pages_allowed = 1  # not less than there are, so none may be added

    with pytest.raises(StoreFailure, match="full"):
        await append(log, session, 1, [draft(b"x" * 100_000)])
    assert seqs(await log.read(session)) == [1]

    commits.pages_allowed = None
    assert seqs(await append(log, session, 1, [draft(b"x" * 100_000)])) == [2]
    await assert_chain_holds(log, session)
    assert look("PRAGMA integrity_check") == [("ok",)]


async def test_a_full_disk_fails_what_does_not_fit_and_not_the_rest(log: SessionLog, commits: Commits) -> None:
    sessions = [await make(log) for _ in range(6)]
    commits.pages_allowed = 1

    results = await asyncio.gather(
        *(
            append(log, session, 1, [draft(b"x" * 200_000 if number == 2 else b"y")])
            for number, session in enumerate(sessions)
        ),
        return_exceptions=True,
    )

    assert [isinstance(result, StoreFailure) for result in results] == [False, False, True, False, False, False]


async def test_a_statement_that_fails_leaves_nothing_of_its_append(log: SessionLog, look: Look) -> None:
    session, other = await make(log), await make(log)
    look(
        "CREATE TRIGGER refusal BEFORE INSERT ON records WHEN NEW.type = 'bad' "
        "BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
    )

    results = await asyncio.gather(
        append(log, other, 1),
        append(log, session, 1, [draft(), draft(record_type="bad"), draft()]),
        append(log, other, 2),
        return_exceptions=True,
    )

    assert isinstance(results[1], StoreFailure)
    assert "refused by a trigger" in str(results[1])
    assert [seqs(await log.read(each)) for each in (session, other)] == [[1], [1, 2, 3]]
    assert seqs(await append(log, session, 1)) == [2]
    await assert_chain_holds(log, session)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
async def test_text_that_is_no_unicode_is_refused_and_harms_nothing(log: SessionLog, text: str) -> None:
    session = await make(log)

    with pytest.raises(StoreFailure):
        await log.update_session(session, title=text, metadata=None, now=LATER)
    with pytest.raises(StoreFailure):
        await log.update_session(session, title=None, metadata={"a": text}, now=LATER)
    with pytest.raises(StoreFailure):
        await make(log, new_session(title=text))

    row = await log.session(session)
    assert row is not None
    assert (row.title, row.metadata) == ("", {})


async def test_a_message_names_the_cause_and_not_the_data(log: SessionLog, look: Look) -> None:
    session = await make(log)
    look("DROP TABLE store")

    with pytest.raises(StoreFailure) as failure:
        await log.last_pos()
    with pytest.raises(StoreFailure):
        await log.delete_session(session)

    assert str(failure.value) == "the store can't read: no such table: store"
    assert failure.value.__cause__ is not None
