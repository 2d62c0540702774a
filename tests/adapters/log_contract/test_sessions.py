"""S2: the rows beside the logs: what a list, a start and a person need of a session without its log."""

import asyncio

import pytest

from service.core.ids import OwnerId, SessionId
from service.core.records import ParentLink
from service.core.session_status import SessionState, SessionStatus
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import (
    EVERY_FIELD,
    IDLE,
    LATER,
    START,
    TURN,
    append,
    draft,
    make,
    new_session,
    running,
)

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2")]


async def test_a_row_tells_what_the_session_was_made_with(log: SessionLog) -> None:
    parent = await make(log)
    made = new_session(
        owner=OwnerId("ann"),
        title="Schafe \u2028 \U0001f9f6",
        metadata={"ticket": "7", "empty": "", "nested": {"é": [1, None]}},
        agent="weather",
        parent=ParentLink(session=parent, turn=TURN, call=3),
    )

    (record,) = await log.create_session(made, [draft(b'{"v":1}', record_type="session_created")], EVERY_FIELD)
    row = await log.session(made.id)

    assert row is not None
    assert (row.id, row.owner, row.title, row.agent) == (made.id, "ann", made.title, "weather")
    assert (row.metadata, row.parent) == (made.metadata, made.parent)
    assert (row.created_at, row.updated_at) == (START, START)
    assert row.status == EVERY_FIELD
    assert (row.head.seq, row.head.hash, row.created) == (1, record.hash, b'{"v":1}')


async def test_a_plain_row_has_neither_agent_nor_parent(log: SessionLog) -> None:
    row = await log.session(await make(log))

    assert row is not None
    assert (row.agent, row.parent, row.metadata) == (None, None, {})


async def test_a_session_that_is_not_there_has_no_row(log: SessionLog) -> None:
    assert await log.session(SessionId("ses_none")) is None


async def test_an_append_changes_the_row_with_the_records(log: SessionLog) -> None:
    session = await make(log)

    (record,) = await append(log, session, 1, status=EVERY_FIELD)
    row = await log.session(session)

    assert row is not None
    assert row.status == EVERY_FIELD
    assert (row.head.seq, row.head.hash) == (2, record.hash)
    assert (row.created_at, row.updated_at) == (START, LATER)
    assert row.created == b'{"made":true}'


async def test_the_status_of_the_last_of_several_appends_stands(log: SessionLog) -> None:
    session = await make(log)

    await asyncio.gather(
        append(log, session, 1, status=running()),
        append(log, session, 2, status=EVERY_FIELD),
        append(log, session, 3, status=SessionStatus(used_tokens=9)),
    )

    row = await log.session(session)
    assert row is not None
    assert row.status == SessionStatus(used_tokens=9)


async def test_sessions_are_listed_newest_first_and_page_by_page(log: SessionLog) -> None:
    made = [await make(log) for _ in range(5)]

    assert [row.id for row in await log.sessions(owner=None, limit=10)] == made[::-1]
    first = await log.sessions(owner=None, limit=2)
    second = await log.sessions(owner=None, limit=2, before=first[-1].id)
    third = await log.sessions(owner=None, limit=2, before=second[-1].id)
    assert [row.id for row in [*first, *second, *third]] == made[::-1]
    assert await log.sessions(owner=None, limit=2, before=third[-1].id) == []


async def test_a_page_goes_on_where_it_ended_though_that_session_is_gone(log: SessionLog) -> None:
    made = [await make(log) for _ in range(3)]

    await log.delete_session(made[1])

    assert [row.id for row in await log.sessions(owner=None, limit=5, before=made[1])] == made[:1]


async def test_sessions_of_one_owner_are_listed_alone(log: SessionLog) -> None:
    ann, bob = OwnerId("ann"), OwnerId("bob")
    made = [await make(log, new_session(owner=owner)) for owner in (ann, bob, ann)]

    assert [row.id for row in await log.sessions(owner=ann, limit=5)] == [made[2], made[0]]
    assert [row.id for row in await log.sessions(owner=ann, limit=5, before=made[2])] == [made[0]]
    assert await log.sessions(owner=OwnerId("eve"), limit=5) == []


async def test_a_listed_row_is_the_sessions_row(log: SessionLog) -> None:
    session = await make(log, new_session(title="one"))
    await append(log, session, 1, status=EVERY_FIELD)

    assert list(await log.sessions(owner=None, limit=1)) == [await log.session(session)]


SEARCHED = [
    new_session("ses_0a", title="Rain in Köln"),
    new_session("ses_0b", title="100% sun_shine"),
    new_session("ses_0c", title="100 sunny", agent="Weather_1"),
    new_session("ses_0d", title="Straße \\ ÄPFEL"),
    new_session("ses_0e", agent="rainmaker"),
]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", "edcba"),
        ("RAIN", "ea"),
        ("köLN", "a"),
        ("äpfel", "d"),
        ("weather", "c"),
        ("SES_0C", "c"),
        ("%", "b"),
        ("_sh", "b"),
        ("n_s", "b"),
        ("n_y", ""),
        ("r_1", "c"),
        ("\\", "d"),
        ("/", ""),
        ("rain sun", ""),
        ("'; --", ""),
    ],
)
async def test_sessions_are_found_by_a_part_of_their_title_id_or_agent(
    log: SessionLog, search: str, found: str
) -> None:
    for session in SEARCHED:
        await make(log, session)

    assert "".join(row.id[-1] for row in await log.sessions(owner=None, limit=9, search=search)) == found


async def test_what_is_found_comes_page_by_page_and_of_one_owner_alone(log: SessionLog) -> None:
    ann, bob = OwnerId("ann"), OwnerId("bob")
    made = [
        await make(log, new_session(owner=owner, title=title))
        for owner, title in ((ann, "rain"), (ann, "sun"), (bob, "rain"), (ann, "Rain"), (ann, "sun"), (ann, "RAINY"))
    ]

    first = await log.sessions(owner=ann, limit=2, search="rain")
    second = await log.sessions(owner=ann, limit=2, search="rain", before=first[-1].id)

    assert [row.id for row in [*first, *second]] == [made[5], made[3], made[0]]


async def test_a_session_is_found_by_its_new_title(log: SessionLog) -> None:
    session = await make(log, new_session(title="old"))

    await log.update_session(session, title="New", metadata=None, now=LATER)

    assert [row.id for row in await log.sessions(owner=None, limit=9, search="new")] == [session]
    assert await log.sessions(owner=None, limit=9, search="old") == []


@pytest.mark.rules("S4")
async def test_sessions_that_are_not_idle_are_listed_oldest_first(log: SessionLog) -> None:
    made = [await make(log) for _ in range(4)]
    await append(log, made[3], 1, status=running())
    await append(log, made[1], 1, status=SessionStatus(state=SessionState.AWAITING_APPROVAL))
    await append(log, made[2], 1, status=running())

    assert list(await log.busy_sessions()) == [made[1], made[2], made[3]]

    await append(log, made[2], 2, status=IDLE)
    await log.delete_session(made[3])

    assert list(await log.busy_sessions()) == [made[1]]


@pytest.mark.rules("A6")
async def test_sessions_that_wait_for_a_person_are_listed_for_their_owner_oldest_first(log: SessionLog) -> None:
    ann, bob = OwnerId("ann"), OwnerId("bob")
    made = [await make(log, new_session(owner=owner)) for owner in (ann, bob, ann, ann, ann)]
    for session in (made[3], made[1], made[0]):
        await append(log, session, 1, status=EVERY_FIELD)
    await append(log, made[2], 1, status=running())

    assert list(await log.awaiting(ann)) == [await log.session(made[0]), await log.session(made[3])]
    assert [row.id for row in await log.awaiting(bob)] == [made[1]]

    await append(log, made[0], 2, status=running())
    assert [row.id for row in await log.awaiting(ann)] == [made[3]]
    assert list(await log.awaiting(OwnerId("eve"))) == []


@pytest.mark.parametrize(
    ("title", "metadata", "expected"),
    [
        ("new", None, ("new", {"old": "1"})),
        (None, {"new": "2"}, ("old", {"new": "2"})),
        ("", {"old": "2"}, ("", {"old": "2"})),
        (None, None, ("old", {"old": "1"})),
    ],
)
async def test_title_and_metadata_are_changed_apart(
    log: SessionLog, title: str | None, metadata: dict[str, str] | None, expected: tuple[str, dict[str, str]]
) -> None:
    session = await make(log, new_session(title="old", metadata={"old": "1"}))
    await append(log, session, 1, status=EVERY_FIELD)

    row = await log.update_session(session, title=title, metadata=metadata, now=LATER)

    assert row is not None
    assert (row.title, row.metadata) == expected
    assert (row.updated_at, row.status, row.head.seq) == (LATER, EVERY_FIELD, 2)
    assert row == await log.session(session)


async def test_what_is_not_there_is_not_changed(log: SessionLog) -> None:
    assert await log.update_session(SessionId("ses_none"), title="x", metadata=None, now=LATER) is None


async def test_a_change_of_the_title_sees_the_appends_before_it(log: SessionLog) -> None:
    session = await make(log)

    _, row, _ = await asyncio.gather(
        append(log, session, 1, status=EVERY_FIELD),
        log.update_session(session, title="x", metadata=None, now=LATER),
        append(log, session, 2, status=running()),
    )

    assert row is not None
    assert (row.head.seq, row.status) == (2, EVERY_FIELD)
    last = await log.session(session)
    assert last is not None
    assert (last.title, last.head.seq) == ("x", 3)


async def test_metadata_of_the_caller_is_not_shared(log: SessionLog) -> None:
    given = {"a": "1"}
    session = await make(log, new_session(metadata=given))

    given["a"] = "2"
    row = await log.session(session)
    assert row is not None
    row.metadata["a"] = "3"

    again = await log.session(session)
    assert again is not None
    assert again.metadata == {"a": "1"}


@pytest.mark.rules("X3")
async def test_a_spec_list_is_kept_once_under_its_hash(log: SessionLog) -> None:
    await log.put_specs("abc", b"[1]")
    await log.put_specs("abc", b"[2]")
    await asyncio.gather(*(log.put_specs("def", b"[]") for _ in range(5)))

    assert await log.specs("abc") == b"[1]"
    assert await log.specs("def") == b"[]"
    assert await log.specs("none") is None
