"""A turn goes on where its log ends, whoever wrote it (S4), and a broken store ends a turn in words (S5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import ErrorKind, ProblemCode, RequestRefused, SequenceConflict, StoreFailure
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import Outcome, ResultStatus, Resumed, ToolResult, TurnFinished
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.core.signals import StoreBroken
from service.core.views import TurnState
from service.ports import RecordDraft, StoredRecord
from service.turns.events import SignalEvent
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = pytest.mark.anyio


class LaterIds(CountingIds):
    """Ids of a second process: they don't meet those of the first."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 1000


async def stopped_while_streaming() -> tuple[MemoryLog, SessionId]:
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), log=(log := MemoryLog()))
    session = await house.session()
    await house.start(session)
    await half.streaming.wait()
    await house.sessions.shut_down(0)
    return log, session


@pytest.mark.rules("S4", "H8")
async def test_the_next_start_goes_on_with_a_turn_that_was_cut_off() -> None:
    log, session = await stopped_while_streaming()
    house = House(ScriptedLlama(say("Once upon a time.")), log=log, ids=LaterIds())

    await house.sessions.resume_unfinished()
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)
    view = await house.finish(session, turn.id)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Once upon a time.")
    assert [r.attempt for r in await house.records(session) if isinstance(r, Resumed)] == [1]


@pytest.mark.rules("S4", "H8", "T13")
async def test_a_turn_that_a_stopping_service_has_left_to_the_next_start_is_not_ended_by_a_late_request() -> None:
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), log=(log := MemoryLog()))
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    await house.sessions.shut_down(0)

    with pytest.raises(RequestRefused) as refused:
        await house.sessions.cancel(session, turn, LOCAL_OWNER)

    assert refused.value.code is ProblemCode.SHUTTING_DOWN
    next_house = House(ScriptedLlama(say("Once upon a time.")), log=log, ids=LaterIds())
    await next_house.sessions.resume_unfinished()
    assert (await next_house.finish(session, turn)).outcome is Outcome.ANSWERED


@pytest.mark.rules("S4")
async def test_a_turn_that_takes_the_service_down_again_and_again_is_ended() -> None:
    log, session = await stopped_while_streaming()
    for _ in range(3):
        half = say("Once", before_end=asyncio.Event())
        house = House(ScriptedLlama(half), log=log, ids=LaterIds())
        await house.sessions.resume_unfinished()
        await half.streaming.wait()
        await house.sessions.shut_down(0)
    house = House(ScriptedLlama(say("Next.")), log=log, ids=LaterIds())

    await house.sessions.resume_unfinished()
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)
    after = await house.run(session)

    assert turn.error is not None
    assert (turn.outcome, turn.error.kind) == (Outcome.FAILED, ErrorKind.CRASHED)
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("S4")
@pytest.mark.parametrize(
    ("idempotent", "status", "sent"), [(False, ResultStatus.INTERRUPTED, 1), (True, ResultStatus.OK, 2)]
)
async def test_a_call_in_flight_is_sent_again_only_if_its_tool_is_idempotent(
    idempotent: bool, status: ResultStatus, sent: int
) -> None:
    port = TablePort(spec("send", idempotent=idempotent))
    port.hold = asyncio.Event()
    first = House(ScriptedLlama(ask_for(call("send"))), port, log=(log := MemoryLog()))
    session = await first.session()
    await first.start(session)
    await port.arrived.wait()
    await first.sessions.shut_down(0)
    port.hold.set()
    house = House(ScriptedLlama(say("Fine.")), port, log=log, ids=LaterIds())

    await house.sessions.resume_unfinished()
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)
    view = await house.finish(session, turn.id)

    (closed,) = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    assert (view.outcome, closed.status, len(port.calls)) == (Outcome.ANSWERED, status, sent)
    assert len({request.idempotency_key for request in port.calls}) == 1


class FailingLog(MemoryLog):
    """Refuses the next appends, as a full disk does."""

    failure: StoreFailure = StoreFailure("the disk is full")

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0

    async def append(
        self,
        session: SessionId,
        expected_seq: int,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        now: datetime,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        if self.failures:
            self.failures -= 1
            raise self.failure
        return await super().append(session, expected_seq, records, status, now, key=key)


async def run_into_full_disk(log: FailingLog, failures: int) -> tuple[House, SessionId, list[object]]:
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half, say("Better now.")), log=log)
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    log.failures = failures
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    assert following is not None
    assert half.before_end is not None
    half.before_end.set()
    seen: list[object] = []
    async with following:
        async for batch in following:
            seen += [event.signal if isinstance(event, SignalEvent) else event for event in batch]
    await house.finish(session, turn)
    return house, session, seen


@pytest.mark.cases(25)
@pytest.mark.rules("S5")
async def test_a_write_that_fails_fails_the_turn_and_the_next_one_is_kept() -> None:
    house, session, seen = await run_into_full_disk(FailingLog(), 1)
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)

    after = await house.run(session)

    assert turn.error is not None
    assert (turn.outcome, turn.error.kind) == (Outcome.FAILED, ErrorKind.STORE)
    assert not [event for event in seen if isinstance(event, StoreBroken)]
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("S5")
async def test_when_not_even_the_end_can_be_written_followers_are_told_and_the_next_write_ends_the_turn() -> None:
    house, session, seen = await run_into_full_disk(FailingLog(), 2)
    (stuck,) = await house.sessions.turns(session, LOCAL_OWNER)

    after = await house.run(session)

    first = (await house.sessions.turns(session, LOCAL_OWNER))[0]
    assert [event for event in seen if isinstance(event, StoreBroken)]
    assert stuck.state is TurnState.RUNNING
    assert first.error is not None
    assert (first.outcome, first.error.kind) == (Outcome.FAILED, ErrorKind.STORE)
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("S5", "T13")
async def test_a_cancel_ends_a_turn_whose_end_could_not_be_written() -> None:
    house, session, _ = await run_into_full_disk(FailingLog(), 2)
    (stuck,) = await house.sessions.turns(session, LOCAL_OWNER)

    view, was_finished = await house.sessions.cancel(session, stuck.id, LOCAL_OWNER)

    assert (view.state, was_finished) == (TurnState.FINISHED, False)


@pytest.mark.cases(5)
@pytest.mark.rules("S1")
async def test_a_second_writer_on_a_session_is_refused_and_the_log_stays_whole() -> None:
    log = MemoryLog()
    half = say("First.", before_end=asyncio.Event())
    one = House(ScriptedLlama(half), log=log)
    session = await one.session()
    turn = await one.start(session)
    await half.streaming.wait()
    other = House(ScriptedLlama(say("Second.")), log=log, ids=LaterIds())
    await other.sessions.resume_unfinished()
    await other.finish(session, turn)
    assert half.before_end is not None
    half.before_end.set()

    await one.finish(session, turn)

    ends = [record for record in await one.records(session) if isinstance(record, TurnFinished)]
    assert [end.content for end in ends] == ["Second."]


@pytest.mark.rules("S4")
async def test_a_log_that_cannot_be_read_does_not_keep_the_others_waiting() -> None:
    class HalfBroken(MemoryLog):
        broken: SessionId | None = None

        async def read(self, session: SessionId, **how: object) -> Sequence[StoredRecord]:
            if session == self.broken:
                raise StoreFailure("unreadable")
            return await super().read(session, **how)  # pyright: ignore[reportArgumentType]

    log = HalfBroken()
    plays = [say("Once", before_end=asyncio.Event()) for _ in range(2)]
    first = House(ScriptedLlama(*plays), log=log)
    sessions = [await first.session() for _ in range(2)]
    for session in sessions:
        await first.start(session)
    for play in plays:
        await play.streaming.wait()
    await first.sessions.shut_down(0)
    log.broken = sessions[0]
    house = House(ScriptedLlama(say("On again.")), log=log, ids=LaterIds())

    await house.sessions.resume_unfinished()
    (turn,) = await house.sessions.turns(sessions[1], LOCAL_OWNER)

    assert (await house.finish(sessions[1], turn.id)).content == "On again."


@pytest.mark.rules("S4")
async def test_a_session_that_only_seems_busy_is_left_as_it_is() -> None:
    class Stale(MemoryLog):
        async def busy_sessions(self) -> Sequence[SessionId]:
            return [SessionId("ses_000001"), SessionId("ses_gone")]

    house = House(ScriptedLlama(say("Done.")), log=Stale())
    session = await house.session()
    await house.run(session)
    before = await house.records(session)

    await house.sessions.resume_unfinished()

    assert await house.records(session) == before


@pytest.mark.rules("S5", "T13")
async def test_a_cancel_whose_record_cannot_be_written_is_tried_once_more() -> None:
    log = FailingLog()
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), log=log)
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    log.failures = 1

    view, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)

    assert view.error is not None
    assert (view.outcome, view.error.kind) == (Outcome.FAILED, ErrorKind.STORE)


@pytest.mark.rules("S1")
async def test_a_message_that_another_writer_came_before_is_an_error_and_not_lost_silently() -> None:
    class Conflict(FailingLog):
        failure: StoreFailure = SequenceConflict("another writer was there first")

    log = Conflict()
    log.failures = 1
    house = House(ScriptedLlama(), log=log)
    session = await house.session()

    with pytest.raises(SequenceConflict):
        await house.start(session)

    assert len(await house.records(session)) == 1
