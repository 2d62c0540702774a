"""S2: a store that outlives its process gives back what it was given."""

import asyncio
from pathlib import Path

import pytest

from service.core.errors import StoreFailure
from tests.adapters.log_contract.sessions_made import EVERY_FIELD, append, draft, make, new_session, seqs
from tests.adapters.log_contract.stores import OpenStore
from tests.adapters.log_contract.test_chain import assert_chain_holds

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "S3")]


async def test_all_is_there_after_a_restart(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        session = await make(log, new_session(title="kept", metadata={"a": "1"}))
        await append(log, session, 1, [draft(b"one"), draft(b"two")], status=EVERY_FIELD)
        await log.put_specs("abc", b"[1]")
        row, records, last_pos = await log.session(session), await log.read(session), await log.last_pos()

    async with open_lasting(tmp_path) as log:
        assert await log.session(session) == row
        assert await log.read(session) == records
        assert await log.last_pos() == last_pos
        assert await log.specs("abc") == b"[1]"
        assert await log.busy_sessions() == [session]


async def test_a_log_goes_on_after_a_restart(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        session = await make(log)
        (before,) = await append(log, session, 1)

    async with open_lasting(tmp_path) as log:
        (after,) = await append(log, session, 2)
        assert after.pos > before.pos
        assert seqs(await log.read(session)) == [1, 2, 3]
        await assert_chain_holds(log, session)


async def test_closing_writes_first_what_was_given(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        session = await make(log)
        appends = [asyncio.create_task(append(log, session, seq)) for seq in range(1, 60)]
        await asyncio.sleep(0)

    assert [seqs(await task) for task in appends] == [[seq] for seq in range(2, 61)]
    async with open_lasting(tmp_path) as log:
        assert len(await log.read(session)) == 60


async def test_a_closed_store_refuses_everything(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        session = await make(log)

    with pytest.raises(StoreFailure, match="closed"):
        await append(log, session, 1)
    with pytest.raises(StoreFailure, match="closed"):
        await log.read(session)
    with pytest.raises(StoreFailure, match="closed"):
        await log.check()
