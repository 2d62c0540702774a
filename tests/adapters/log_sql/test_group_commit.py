"""S2: many appends share a commit, and none is answered before it."""

import asyncio
from collections.abc import Coroutine, Generator

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.errors import SequenceConflict, StoreFailure
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import EVERY_FIELD, append, draft, make, seqs
from tests.adapters.log_contract.test_chain import assert_chain_holds
from tests.adapters.log_sql.commits import BOUND_S, Commits, Fault, commits_watched
from tests.adapters.log_sql.conftest import Look

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2")]


Writing = Coroutine[None, None, object]


@pytest.fixture
def commits(log: SessionLog) -> Generator[Commits]:
    """Watch the commits; the store is open already, so that its opening doesn't count."""
    with commits_watched() as watched:
        yield watched


async def reached(commits: Commits) -> None:
    assert await asyncio.to_thread(commits.reached.wait, BOUND_S)


async def test_what_comes_during_a_commit_is_committed_together(log: SessionLog, commits: Commits) -> None:
    sessions = [await make(log) for _ in range(40)]
    commits.hold()
    first = asyncio.create_task(append(log, sessions[0], 1))
    await reached(commits)
    made_before = commits.made
    rest = [asyncio.create_task(append(log, session, 1)) for session in sessions[1:]]
    await asyncio.sleep(0)

    commits.let_go()
    await asyncio.gather(first, *rest)

    assert commits.made - made_before == 2


async def test_nothing_is_answered_before_its_commit(log: SessionLog, commits: Commits, look: Look) -> None:
    session = await make(log)
    commits.hold()
    waiting = asyncio.create_task(append(log, session, 1))
    await reached(commits)

    assert not waiting.done()
    assert seqs(await log.read(session)) == [1]
    assert look("SELECT count(*) FROM records") == [(1,)]

    commits.let_go()
    await waiting
    assert look("SELECT count(*) FROM records") == [(2,)]


async def test_readers_go_on_while_the_writer_is_in_a_transaction(log: SessionLog, commits: Commits) -> None:
    session = await make(log)
    commits.hold()
    waiting = asyncio.create_task(append(log, session, 1))
    await reached(commits)

    async with asyncio.timeout(BOUND_S):
        assert [row.id for row in await log.sessions(owner=None, limit=5)] == [session]
        assert await log.last_pos() == 1
        await log.check()

    commits.let_go()
    await waiting


async def test_a_commit_that_fails_fails_its_own_appends_only(log: SessionLog, commits: Commits) -> None:
    session, other = await make(log), await make(log)
    commits.faults = [Fault.COMMIT_FAILS]

    with pytest.raises(StoreFailure, match="disk I/O error") as failure:
        await append(log, session, 1, status=EVERY_FIELD)

    assert not isinstance(failure.value, SequenceConflict)
    assert failure.value.__cause__ is not None
    assert seqs(await append(log, other, 1)) == [2]
    assert seqs(await append(log, session, 1)) == [2]


async def in_one_group(log: SessionLog, commits: Commits, *writes: Writing, faults: list[Fault]) -> list[object]:
    """Run writes as one group, and give what came of each."""
    commits.hold()
    before = asyncio.create_task(make(log))
    await reached(commits)
    group = [asyncio.create_task(each) for each in writes]
    await asyncio.sleep(0)
    commits.faults = faults
    commits.begun = 0
    commits.let_go()
    await before
    return await asyncio.gather(*group, return_exceptions=True)


@pytest.mark.rules("S5")
@pytest.mark.parametrize("fault", [Fault.LOCKED, Fault.COMMIT_FAILS])
async def test_a_transaction_that_fails_as_such_fails_its_group_at_once(
    log: SessionLog, commits: Commits, fault: Fault
) -> None:
    sessions = [await make(log) for _ in range(4)]

    results = await in_one_group(log, commits, *(append(log, each, 1) for each in sessions), faults=[fault])

    # Once, not once for each: a lock that is held is waited for some seconds.
    assert commits.begun == 1
    assert all(isinstance(result, StoreFailure) for result in results)
    assert len({id(result) for result in results}) == 4
    assert [len(await log.read(session)) for session in sessions] == [1, 1, 1, 1]
    assert seqs(await append(log, sessions[0], 1)) == [2]


async def test_a_refused_append_costs_its_group_nothing(log: SessionLog, commits: Commits) -> None:
    sessions = [await make(log) for _ in range(4)]

    results = await in_one_group(
        log, commits, *(append(log, each, 1 if each != sessions[1] else 7) for each in sessions), faults=[]
    )

    assert commits.begun == 1
    assert [isinstance(result, SequenceConflict) for result in results] == [False, True, False, False]


@pytest.mark.rules("S5")
async def test_a_write_that_fails_fails_none_of_its_group(log: SessionLog, commits: Commits, look: Look) -> None:
    sessions = [await make(log) for _ in range(4)]
    look(
        "CREATE TRIGGER refusal BEFORE INSERT ON records WHEN NEW.type = 'bad' "
        "BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
    )
    kinds = dict(zip(sessions, ["user", "bad", "user", "user"], strict=True))

    results = await in_one_group(
        log,
        commits,
        *(append(log, each, 1, [draft(), draft(record_type=kind)]) for each, kind in kinds.items()),
        faults=[],
    )

    assert [isinstance(result, StoreFailure) for result in results] == [False, True, False, False]
    assert "refused by a trigger" in str(results[1])
    assert [len(await log.read(session)) for session in sessions] == [3, 1, 3, 3]


async def test_a_pos_of_a_failed_append_was_never_seen_and_order_holds(log: SessionLog, commits: Commits) -> None:
    session = await make(log)
    (before,) = await log.read(session)
    commits.faults = [Fault.COMMIT_FAILS]
    with pytest.raises(StoreFailure):
        await append(log, session, 1, [draft(), draft()])

    assert await log.last_pos() == before.pos
    (after,) = await append(log, session, 1)
    assert after.pos > before.pos


async def test_a_commit_that_failed_and_yet_happened_is_found_in_the_log(log: SessionLog, commits: Commits) -> None:
    session, other = await make(log), await make(log)
    commits.faults = [Fault.COMMIT_FAILS_THOUGH_DONE]
    with pytest.raises(StoreFailure):
        await append(log, session, 1)

    with pytest.raises(SequenceConflict, match="seq 2"):
        await append(log, session, 1)
    (elsewhere,) = await append(log, other, 1)
    (record,) = await append(log, session, 2)
    assert [stored.pos for stored in await log.read(session, after_seq=1)] == [elsewhere.pos - 1, record.pos]
    await assert_chain_holds(log, session)


async def test_after_a_failure_the_writer_takes_a_new_connection(log: SessionLog, commits: Commits) -> None:
    session = await make(log)
    commits.faults = [Fault.COMMIT_FAILS]
    with pytest.raises(StoreFailure):
        await append(log, session, 1)
    connected = commits.connected

    await append(log, session, 1)
    await append(log, session, 2)

    assert commits.connected == connected + 1


async def test_a_cancelled_append_still_happens(log: SessionLog, commits: Commits) -> None:
    session = await make(log)
    commits.hold()
    caller = asyncio.create_task(append(log, session, 1))
    await reached(commits)

    caller.cancel()
    await asyncio.wait([caller])
    commits.let_go()

    assert caller.cancelled()
    assert seqs(await append(log, session, 2)) == [3]


async def test_a_group_wakes_the_loop_once(log: SessionLog, commits: Commits, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [await make(log) for _ in range(30)]
    loop = asyncio.get_running_loop()
    wakes = 0
    wake = loop.call_soon_threadsafe

    def counted(*arguments: object) -> object:
        nonlocal wakes
        wakes += 1
        return wake(*arguments)  # pyright: ignore[reportArgumentType]

    commits.hold()
    first = asyncio.create_task(append(log, sessions[0], 1))
    await reached(commits)
    rest = [asyncio.create_task(append(log, session, 1)) for session in sessions[1:]]
    await asyncio.sleep(0)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    commits.let_go()
    await asyncio.gather(first, *rest)

    assert wakes == 2


async def test_a_defect_in_one_write_reaches_its_caller_and_no_one_else(log: SessionLog) -> None:
    session, other = await make(log), await make(log)

    results = await asyncio.gather(
        append(log, session, 1),
        log.update_session(other, title="x", metadata={"not": object()}, now=None),  # pyright: ignore[reportArgumentType]
        append(log, other, 1),
        return_exceptions=True,
    )

    assert isinstance(results[1], Exception)
    assert [len(await log.read(each)) for each in (session, other)] == [2, 2]
    await log.check()


async def test_what_was_given_before_the_end_is_written_and_what_comes_later_is_refused(url: str) -> None:
    store = open_sql_log(url)
    log = await store.__aenter__()
    sessions = [await make(log) for _ in range(5)]
    with commits_watched() as commits:
        commits.hold()
        first = asyncio.create_task(append(log, sessions[0], 1))
        await reached(commits)
        given = [asyncio.create_task(append(log, session, 1)) for session in sessions[1:]]
        await asyncio.sleep(0)
        closing = asyncio.create_task(store.__aexit__(None, None, None))
        await asyncio.sleep(0)
        late = asyncio.create_task(append(log, sessions[0], 2))
        await asyncio.sleep(0)

        commits.let_go()
        results = await asyncio.gather(first, *given, late, return_exceptions=True)
        await closing

    assert [isinstance(result, StoreFailure) for result in results] == [False] * 5 + [True]
    assert "closed" in str(results[-1])
    async with open_sql_log(url) as log:
        assert [len(await log.read(session)) for session in sessions] == [2] * 5


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_when_the_writer_ends_by_a_defect_nobody_waits_for_ever(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await make(log)

    def broken(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("service.adapters.log_sql.group_commit.GroupCommit.run", broken)
    results = await asyncio.gather(*(append(log, session, 1) for _ in range(5)), return_exceptions=True)

    assert all(isinstance(result, StoreFailure) for result in results)
    with pytest.raises(StoreFailure):
        await log.check()
    with pytest.raises(StoreFailure):
        await append(log, session, 1)
    assert seqs(await log.read(session)) == [1]


async def test_more_sessions_than_heads_are_kept_for_go_on_all_the_same(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.adapters.log_sql.group_commit._HEADS_LIMIT", 2)
    sessions = [await make(log) for _ in range(8)]

    for seq in (1, 2, 3):
        await asyncio.gather(*(append(log, session, seq) for session in sessions))

    for session in sessions:
        await assert_chain_holds(log, session)
