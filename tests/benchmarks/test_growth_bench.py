"""What the benchmark of growth stores is what the service would have written, and a follower finds each token once."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.growth.listener import Listener
from benchmarks.growth.options import options_of
from benchmarks.growth.stored import store_long_session, store_sessions, turn_drafts
from service.adapters.log_memory import MemoryLog
from service.codec import decode_record
from service.core.ids import SessionId
from service.core.projection import Projection
from service.core.turn_fold import fold
from service.core.turn_state import Phase

pytestmark = [pytest.mark.anyio]

# Two turns are between the session's beginning and its summary; what comes after a third is not even.
RECORDS = (10, 13, 1002)


@pytest.mark.parametrize("records", RECORDS)
async def test_a_long_session_has_exactly_as_many_records_as_were_asked_for(records: int) -> None:
    log = MemoryLog()

    session = await store_long_session(log, records)

    stored = await log.read(session)
    assert [record.seq for record in stored] == list(range(1, records + 1))
    assert [decode_record(record.body).seq for record in stored] == list(range(1, records + 1))


@pytest.mark.parametrize("records", RECORDS)
async def test_a_long_session_waits_for_its_next_turn_with_a_prompt_as_short_as_any(records: int) -> None:
    log, projection = MemoryLog(), Projection()

    session = await store_long_session(log, records)

    entries = [decode_record(record.body) for record in await log.read(session)]
    for entry in entries:
        projection.apply(entry.record, entry.turn)
    assert fold(entries).phase is Phase.IDLE
    assert [message["role"] for message in projection.messages] == ["system", "user", "assistant"]


async def test_stored_sessions_are_sessions_of_their_own_with_a_turn_each() -> None:
    log = MemoryLog()

    sessions = await store_sessions(log, 3)

    logs = [[decode_record(record.body) for record in await log.read(session)] for session in sessions]
    assert [{entry.session for entry in entries} for entries in logs] == [{session} for session in sessions]
    assert [len({entry.turn for entry in entries}) for entries in logs] == [2, 2, 2]  # None is the beginning's
    assert len({entry.turn for entries in logs for entry in entries}) == 4
    assert {fold(entries).phase for entries in logs} == {Phase.IDLE}


def test_a_turn_that_is_appended_at_once_has_five_records() -> None:
    drafts = turn_drafts(SessionId("ses_1"))

    assert [draft.type for draft in drafts] == ["user", "assistant", "usage", "cache_loss", "turn_finished"]


def frame(event: str, text: str) -> bytes:
    return f'\nevent: {event}\ndata: {{"text":"{text}"}}\n\n'.encode()


TOLD = (
    frame("content", "T000000000000001.0E ")
    + frame("content", "T000000000000002.1E T000000000000003.2E ")
    + frame("assistant", "T000000000000001.0E T000000000000002.1E T000000000000003.2E ")
)


@pytest.mark.parametrize("piece", [1, 7, len(TOLD)])
async def test_a_follower_finds_each_token_once_however_its_stream_is_cut(piece: int) -> None:
    listener = Listener("ses_1", 3)

    for place in range(0, len(TOLD), piece):
        listener.data_received(TOLD[place : place + piece])

    assert (len(listener.late_us), listener.frames) == (3, 2)
    assert listener.ended.done()


async def test_a_follower_that_loses_its_stream_tells_whoever_waits() -> None:
    listener = Listener("ses_1", 1)

    listener.connection_lost(None)

    results = await asyncio.gather(listener.began, listener.ended, return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionResetError, ConnectionResetError]


def test_a_size_without_a_value_leaves_its_part_out() -> None:
    sizes = options_of(["--records", "10", "20", "--sessions", "--turns", "8"]).sizes

    assert (sizes.records, sizes.sessions, sizes.turns) == ((10, 20), (), 8)
    assert sizes.followers
