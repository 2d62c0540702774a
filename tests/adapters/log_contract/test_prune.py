"""S7: what nobody has used for long is removed, a page at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.errors import SequenceConflict
from service.core.ids import SessionId
from service.core.session_status import SessionState, SessionStatus
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import (
    LATER,
    START,
    append,
    draft,
    make,
    make_child,
    running,
    seqs,
)

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S7")]

BEFORE = START + timedelta(seconds=1)
"""Between the making of a session and the appends to it."""

AWAITING = SessionStatus(state=SessionState.AWAITING_APPROVAL)


async def left(log: SessionLog) -> list[SessionId]:
    return sorted(row.id for row in await log.sessions(owner=None, limit=1000))


async def test_sessions_that_are_old_and_idle_are_removed_with_all_they_have(log: SessionLog) -> None:
    old, touched, renamed = [await make(log) for _ in range(3)]
    await append(log, touched, 1, [draft(full=b"whole")])
    await log.update_session(renamed, title="new", metadata=None, now=LATER)

    assert list(await log.prune(BEFORE, limit=10)) == [old]

    assert await left(log) == [touched, renamed]
    assert await log.read(old) == []
    assert list(await log.prune(LATER, limit=10)) == []
    assert list(await log.prune(LATER + timedelta(microseconds=1), limit=10)) == [touched, renamed]
    assert await log.full_text(touched, 2) is None


@pytest.mark.parametrize("status", [running(), AWAITING])
async def test_a_session_that_is_busy_stays_however_old(log: SessionLog, status: SessionStatus) -> None:
    session = await make(log)
    await append(log, session, 1, status=status)

    assert list(await log.prune(LATER + timedelta(days=999), limit=10)) == []

    await append(log, session, 2)
    assert list(await log.prune(LATER + timedelta(days=999), limit=10)) == [session]


async def test_a_page_is_no_longer_than_asked_for_and_the_oldest_go_first(log: SessionLog) -> None:
    made = [await make(log) for _ in range(7)]

    pages = [list(await log.prune(BEFORE, limit=3)) for _ in range(4)]

    assert pages == [made[:3], made[3:6], made[6:], []]


async def test_a_child_that_stays_keeps_its_parents(log: SessionLog) -> None:
    parent = await make(log)
    child = await make_child(log, parent)
    grandchild, idle_grandchild = await make_child(log, child), await make_child(log, child)
    await append(log, grandchild, 1, status=running())

    assert list(await log.prune(BEFORE, limit=10)) == [idle_grandchild]
    assert list(await log.prune(BEFORE, limit=10)) == []

    assert await left(log) == [parent, child, grandchild]


@pytest.mark.rules("H9")
async def test_a_family_that_is_old_as_a_whole_goes_children_first(log: SessionLog) -> None:
    parent = await make(log)
    child = await make_child(log, parent)
    grandchild = await make_child(log, child)

    pages = [list(await log.prune(BEFORE, limit=10)) for _ in range(4)]

    assert pages == [[grandchild], [child], [parent], []]


async def test_what_is_appended_to_a_pruned_session_is_refused_and_a_pos_is_not_given_twice(log: SessionLog) -> None:
    session = await make(log)
    last_pos = await log.last_pos()

    await log.prune(BEFORE, limit=10)

    with pytest.raises(SequenceConflict):
        await append(log, session, 1)
    (record,) = await log.read(await make(log))
    assert record.pos > last_pos


async def test_a_session_that_is_used_in_the_moment_of_pruning_stays_whole(log: SessionLog) -> None:
    session = await make(log)
    (stored,) = await append(log, session, 1)

    assert list(await log.prune(BEFORE, limit=10)) == []

    assert seqs(await log.read(session)) == [1, stored.seq]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parents=st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=12),
    young=st.sets(st.integers(0, 11)),
    busy=st.sets(st.integers(0, 11)),
    limit=st.integers(1, 4),
)
async def test_just_those_go_that_have_nothing_young_or_busy_below_them(
    log: SessionLog, parents: list[int | None], young: set[int], busy: set[int], limit: int
) -> None:
    for session in await left(log):
        await log.delete_session(session)
    made: list[SessionId] = []
    stay: set[int] = set()
    above: list[int | None] = []
    for number, wanted in enumerate(parents):
        parent = None if wanted is None or not made else wanted % len(made)
        made.append(await make(log) if parent is None else await make_child(log, made[parent]))
        above.append(parent)
        if number in young | busy:
            # A status is written by an append, which makes a session young: the busy ones are both.
            await append(log, made[number], 1, status=running() if number in busy else SessionStatus())
            at: int | None = number
            while at is not None:
                stay.add(at)
                at = above[at]

    pruned: list[SessionId] = []
    while page := await log.prune(BEFORE, limit=limit):
        assert len(page) <= limit
        pruned += page

    assert sorted(pruned) == [made[number] for number in range(len(made)) if number not in stay]
    assert await left(log) == sorted(made[number] for number in stay)
