"""A version that finds turns of an earlier one in their middle goes on with them as after a crash (S4, S6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from service.adapters.log_sql import SqlLog, open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import Outcome, ResultStatus, Resumed, ToolResult
from service.core.views import TurnState, TurnView
from tests.adapters.log_sql.old_databases import UNFINISHED, database_of
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.approving import decide, decision, until_end

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S4", "S6")]

CALLED, STREAMED, WAITS = "call in flight", "text in flight", "waiting for a person"
# The first version of the schema knew no queue, and the first two no approvals.
FIRST_WITH_QUEUE, FIRST_WITH_APPROVALS = "0002", "0003"


class LaterIds(CountingIds):
    """Ids that those of the earlier version don't meet."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 1000


@pytest.fixture(params=UNFINISHED, ids=lambda path: path.stem)
def dump(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def url(dump: Path, tmp_path: Path) -> str:
    return database_of(dump, tmp_path)


@pytest.fixture
async def log(url: str) -> AsyncGenerator[SqlLog]:
    async with open_sql_log(url) as opened:
        yield opened


@pytest.fixture
async def house(log: SqlLog) -> House:
    port = TablePort(spec("pay"), spec("delete", needs_approval=True))
    started = House(ScriptedLlama(*(say("And on.") for _ in range(9))), port, log=log, ids=LaterIds())
    await started.sessions.resume_unfinished()
    return started


async def session_of(log: SqlLog, title: str) -> SessionId:
    (found,) = [row.id for row in await log.sessions(owner=LOCAL_OWNER, limit=10) if row.title == title]
    return found


async def turns_at_their_end(house: House, session: SessionId) -> Sequence[TurnView]:
    turns = await house.sessions.turns(session, LOCAL_OWNER)
    return [await house.finish(session, turn.id) for turn in turns]


async def test_a_call_that_was_in_flight_is_not_sent_again_and_its_turn_ends(house: House, log: SqlLog) -> None:
    session = await session_of(log, CALLED)
    (turn,) = await turns_at_their_end(house, session)

    assert (turn.outcome, turn.content) == (Outcome.ANSWERED, "And on.")
    assert house.port is not None
    assert house.port.calls == []
    records = await house.records(session)
    assert [record.status for record in records if isinstance(record, ToolResult)] == [ResultStatus.INTERRUPTED]
    assert [record.attempt for record in records if isinstance(record, Resumed)] == [1]


async def test_a_step_that_was_streaming_is_asked_again_and_the_queued_turn_runs_after_it(
    house: House, log: SqlLog, dump: Path
) -> None:
    turns = await turns_at_their_end(house, await session_of(log, STREAMED))

    has_queue = dump.stem >= FIRST_WITH_QUEUE
    assert [(turn.outcome, turn.content) for turn in turns] == [(Outcome.ANSWERED, "And on.")] * (1 + has_queue)


@pytest.mark.parametrize("dump", [path for path in UNFINISHED if path.stem >= FIRST_WITH_APPROVALS])
async def test_a_call_that_waited_for_a_person_runs_when_it_is_approved(house: House, log: SqlLog) -> None:
    session = await session_of(log, WAITS)
    (waiting,) = await house.sessions.turns(session, LOCAL_OWNER)
    assert waiting.state is TurnState.AWAITING_APPROVAL
    await decide(house, waiting, decision(waiting.pending[0]))
    turn = await until_end(house, waiting)

    assert (turn.outcome, turn.content) == (Outcome.ANSWERED, "And on.")
    assert house.port is not None
    assert [request.tool for request in house.port.calls] == ["delete"]


async def test_all_logs_hold_when_all_turns_are_at_their_end(house: House, log: SqlLog, url: str) -> None:
    for title in (CALLED, STREAMED):
        await turns_at_their_end(house, await session_of(log, title))
    faults = await asyncio.to_thread(_faults, url)

    assert len(faults) >= len((CALLED, STREAMED))
    assert set(faults) == {None}


def _faults(url: str) -> list[object]:
    with open_audit(url) as audit:
        assert list(audit.homeless()) == []
        return [verdict and verdict.fault for verdict in map(audit.verify, audit.sessions())]
