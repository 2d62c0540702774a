"""S3: the hash chain and the head beside it."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core import chain
from service.core.ids import SessionId
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import append, draft, make

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S3")]


async def assert_chain_holds(log: SessionLog, session: SessionId) -> None:
    """Compute each hash anew from the bodies that are read, and compare the row's head with the last."""
    expected = chain.GENESIS
    records = await log.read(session)
    for record in records:
        expected = chain.link(expected, record.body)
        assert record.hash == expected
    row = await log.session(session)
    assert row is not None
    assert row.head == chain.Head(seq=len(records), hash=expected)


async def test_each_hash_covers_the_body_and_all_before_it(log: SessionLog) -> None:
    session = await make(log)
    await append(log, session, 1, [draft(b"a"), draft(b"b"), draft(b"")])
    await append(log, session, 4, [draft("\u2028\U0001f9f6".encode())])

    await assert_chain_holds(log, session)


async def test_each_session_has_a_chain_of_its_own(log: SessionLog) -> None:
    sessions = await asyncio.gather(*(make(log, created=b"same") for _ in range(8)))
    for seq in range(1, 4):
        await asyncio.gather(*(append(log, session, seq, [draft(b"same")]) for session in sessions))

    for session in sessions:
        await assert_chain_holds(log, session)
    heads = {row.head.hash for session in sessions if (row := await log.session(session))}
    assert len(heads) == 1


async def test_a_refused_append_leaves_the_chain_as_it_is(log: SessionLog) -> None:
    session = await make(log)
    await asyncio.gather(
        *(append(log, session, 1, [draft(b"%d" % number)]) for number in range(5)), return_exceptions=True
    )
    await append(log, session, 2, [draft(b"next")])

    await assert_chain_holds(log, session)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.binary(max_size=40), max_size=4), max_size=5))
async def test_the_chain_holds_for_any_bodies_in_any_batches(log: SessionLog, batches: list[list[bytes]]) -> None:
    session = await make(log)
    seq = 1
    for bodies in batches:
        await append(log, session, seq, [draft(body) for body in bodies])
        seq += len(bodies)

    await assert_chain_holds(log, session)
