"""Append, then fold, then publish: as one, whoever is cancelled meanwhile (S1); defects end a turn in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.completion_events import Completion, CompletionDelta, ContentText
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import Outcome, User
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.core.tool_port import ToolAnswer, ToolRequest
from service.ports import RecordDraft, StoredRecord
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = pytest.mark.anyio


class SlowLog(MemoryLog):
    """Writes only when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.writing = asyncio.Event()
        self.may_write = asyncio.Event()
        self.may_write.set()

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
        self.writing.set()
        await self.may_write.wait()
        return await super().append(session, expected_seq, records, status, now, key=key)


@pytest.mark.rules("H5", "S1")
async def test_a_caller_that_leaves_while_its_message_is_written_has_its_turn_all_the_same() -> None:
    log = SlowLog()
    house = House(ScriptedLlama(say("Done.")), log=log)
    session = await house.session()
    log.may_write.clear()
    log.writing.clear()
    starting = asyncio.create_task(house.start(session))
    await log.writing.wait()

    for _ in range(2):
        starting.cancel()
        await asyncio.sleep(0)
    log.may_write.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)

    assert (await house.finish(session, turn.id)).content == "Done."


@pytest.mark.rules("T13", "S1")
async def test_a_cancel_that_meets_the_write_of_the_end_leaves_the_end_as_it_is() -> None:
    log = SlowLog()
    half = say("Done.", before_end=asyncio.Event())
    house = House(ScriptedLlama(half, say("And on.")), log=log)
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    log.writing.clear()
    log.may_write.clear()
    assert half.before_end is not None
    half.before_end.set()
    await log.writing.wait()

    (running,) = [task for task in asyncio.all_tasks() if task.get_name() == f"turn {turn}"]
    cancelling = asyncio.create_task(house.sessions.cancel(session, turn, LOCAL_OWNER))
    await asyncio.sleep(0)
    # It came in time, or this would show nothing.
    assert running.cancelling() == 1
    log.may_write.set()
    view, _ = await cancelling
    after = await house.run(session)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Done.")
    assert after.outcome is Outcome.ANSWERED


async def test_a_defect_of_ours_ends_the_turn_and_names_itself() -> None:
    class Defective(TablePort):
        async def call(self, request: ToolRequest) -> ToolAnswer:
            raise ZeroDivisionError

    house = House(ScriptedLlama(ask_for(call("t")), say("On again.")), Defective(spec("t")))
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session)

    assert view.error is not None
    assert (view.outcome, view.error.kind) == (Outcome.FAILED, ErrorKind.INTERNAL)
    assert "ZeroDivisionError" in view.error.message
    assert after.outcome is Outcome.ANSWERED


async def test_a_stream_without_an_end_is_a_defect_too() -> None:
    class Endless(ScriptedLlama):
        async def _played(
            self, play: Play, request: CompletionRequest
        ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
            yield [ContentText(text="and so on")]

    house = House(Endless(say("x")))
    view = await house.run(await house.session())
    assert view.error is not None
    assert view.error.kind is ErrorKind.INTERNAL


async def test_calls_of_a_session_whose_port_is_gone_fail_in_words() -> None:
    log = MemoryLog()
    with_port = House(ScriptedLlama(), TablePort(spec("t")), log=log)
    session = await with_port.session()
    house = House(ScriptedLlama(ask_for(call("t")), say("A pity.")), log=log)

    view = await house.run(session)

    assert view.outcome is Outcome.ANSWERED
    assert "no tool port is set" in house.llama.requests[1].messages[-1]["content"]


@pytest.mark.rules("T1")
async def test_two_hundred_sessions_at_once_all_finish_and_none_is_mixed_up_with_another() -> None:
    class Echo(ScriptedLlama):
        async def _played(
            self, play: Play, request: CompletionRequest
        ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
            said = request.messages[-1]["content"]
            async for item in super()._played(say(f"You said: {said}"), request):
                yield item

    llama = Echo(say("x"), slots=8, endless=True)
    house = House(llama)
    sessions = [await house.session() for _ in range(200)]

    async def converse(number: int) -> list[str | None]:
        views = [await house.run(sessions[number], f"{number}/{part}") for part in range(3)]
        return [view.content for view in views]

    answers = await asyncio.gather(*(converse(number) for number in range(200)))

    assert answers == [[f"You said: {number}/{part}" for part in range(3)] for number in range(200)]
    assert llama.most_in_flight <= 8
    for number, session in enumerate(sessions):
        said = [record.content for record in await house.records(session) if isinstance(record, User)]
        assert said == [f"{number}/{part}" for part in range(3)]
