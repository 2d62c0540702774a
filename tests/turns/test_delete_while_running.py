"""A session can be deleted whatever it does: what runs ends, followers are told, nothing is left (H9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from service.adapters.log_memory import MemoryLog
from service.adapters.log_sql import open_sql_log
from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Outcome
from service.core.request_key import RequestKey, body_hash
from service.core.signals import SessionDeleted
from service.ports import SessionLog, Take
from service.turns.deletion import CANCEL_WAIT_S
from service.turns.events import Event, SignalEvent
from service.turns.follower import Follower
from service.turns.requests import OnBusy, TurnAsked
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.web.serving import Frame, frames_of, within_bound
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H9")]

BOUND_S = 10
# Far below the bound of the rule, and far above what a cancel takes.
SHORT_S = 0.2
WORK = ["streaming", "thinking", "tool", "queued", "waiting for the gate", "just begun"]


@asynccontextmanager
async def a_log(kind: str, folder: Path) -> AsyncGenerator[SessionLog]:
    if kind == "memory":
        yield MemoryLog()
        return
    async with open_sql_log(f"sqlite:///{(folder / 'store.db').as_posix()}") as log:
        yield log


@pytest.fixture(params=["memory", "sqlite"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[SessionLog]:
    async with a_log(request.param, tmp_path) as opened:
        yield opened


class Busy:
    """A session that works at something that does not end by itself."""

    def __init__(self, work: str, log: SessionLog) -> None:
        self.port = TablePort(spec("slow"))
        self.port.hold = asyncio.Event()
        never = asyncio.Event()
        self.play = {
            "tool": ask_for(call("slow")),
            "thinking": Play(reasoning="let me see", before_end=never),
        }.get(work, say("Once upon a time", before_end=never))
        self.llama = ScriptedLlama(self.play, self.play, self.play, slots=1)
        self.house = House(self.llama, self.port, log=log)
        self.work = work

    async def begin(self) -> tuple[SessionId, list[TurnId]]:
        """Give the session, and its turns in their order."""
        if self.work == "waiting for the gate":
            await self.house.start(await self.house.session())
            await self._at_work()
        session = await self.house.session()
        turns = [await self.house.start(session)]
        if self.work not in ("waiting for the gate", "just begun"):
            await self._at_work()
        if self.work == "queued":
            turns += [await self.house.start(session, f"Then {n}", on_busy=OnBusy.QUEUE) for n in range(3)]
        return session, turns

    async def _at_work(self) -> None:
        await within_bound(self.port.arrived if self.work == "tool" else self.play.streaming)


async def events_of(following: Follower) -> list[Event]:
    async with following:
        return [event async for batch in following for event in batch]


async def refused(awaitable: object) -> ProblemCode:
    with pytest.raises(RequestRefused) as caught:
        await awaitable  # pyright: ignore[reportGeneralTypeIssues]
    return caught.value.code


def in_progress() -> set[str]:
    """Name the tasks of the service that work for a session."""
    names = {task.get_name() for task in asyncio.all_tasks()}
    return {name for name in names if name.startswith(("turn ", "queue of ", "effect of ", "time of "))}


@pytest.mark.rules("T13", "H4")
@pytest.mark.parametrize("work", WORK)
async def test_whatever_a_session_does_a_delete_ends_it_and_tells_its_followers(work: str, log: SessionLog) -> None:
    busy = Busy(work, log)
    house = busy.house
    session, turns = await busy.begin()
    others = in_progress() - {f"turn {turns[0]}"}
    reading: list[asyncio.Task[list[Event]]] = []
    for turn in (None, *turns):
        following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
        assert following is not None
        reading.append(asyncio.create_task(events_of(following)))
    waiting = [asyncio.create_task(house.finish(session, turn)) for turn in turns]

    async with asyncio.timeout(BOUND_S):
        await house.sessions.delete(session, LOCAL_OWNER)
        seen = await asyncio.gather(*reading)
        answers = await asyncio.gather(*waiting, return_exceptions=True)

    for number, events in enumerate(seen):
        last = events[-1]
        # Who follows the turn that ran may have seen it end, which is the end of such a stream too.
        told = isinstance(last, SignalEvent) and isinstance(last.signal, SessionDeleted)
        assert told or (number == 1 and not isinstance(last, SignalEvent) and last.type == "turn_finished")
    # Those who wait for a turn's end get it, or hear that the session is gone.
    for answer in answers:
        if isinstance(answer, BaseException):
            assert isinstance(answer, RequestRefused)
        else:
            assert answer.outcome is Outcome.CANCELLED
    assert await refused(house.sessions.view(session, LOCAL_OWNER)) is ProblemCode.NOT_FOUND
    assert await refused(house.start(session)) is ProblemCode.NOT_FOUND
    assert await log.read(session) == []
    assert session not in await log.busy_sessions()
    assert in_progress() == others
    assert (house.turns.gate.in_use, house.llama.in_flight, busy.port.in_flight) == (len(others), len(others), 0)
    await house.sessions.shut_down(0)


@pytest.mark.rules("T13")
async def test_a_turn_that_is_cancelled_before_its_first_step_ends_all_the_same() -> None:
    house = House(ScriptedLlama(say("Never said.")))
    session = await house.session()
    turn = await house.start(session)

    async with asyncio.timeout(BOUND_S):
        view, was_over = await house.sessions.cancel(session, turn, LOCAL_OWNER)

    assert (view.outcome, was_over) == (Outcome.CANCELLED, False)
    assert house.llama.requests == []


class StubbornLlama(ScriptedLlama):
    """A model server whose stream does not end when it is left, until it is let go."""

    def __init__(self, *script: Play) -> None:
        super().__init__(*script)
        self.let_go = asyncio.Event()
        self.over = asyncio.Event()

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        try:
            async with aclosing(super().stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            await self.let_go.wait()
            self.over.set()


async def test_a_turn_that_does_not_end_holds_a_delete_up_for_a_bounded_time_and_writes_nothing_then(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.turns.deletion.CANCEL_WAIT_S", SHORT_S)
    half = say("Half a word", before_end=asyncio.Event())
    llama = StubbornLlama(half)
    house = House(llama, log=log)
    session = await house.session()
    await house.start(session)
    await within_bound(half.streaming)

    async with asyncio.timeout(BOUND_S):
        await house.sessions.delete(session, LOCAL_OWNER)
    gone = await refused(house.sessions.view(session, LOCAL_OWNER))
    llama.let_go.set()
    await within_bound(llama.over)
    async with asyncio.timeout(BOUND_S):
        await house.sessions.shut_down(BOUND_S)

    assert gone is ProblemCode.NOT_FOUND
    assert await log.read(session) == []
    assert in_progress() == set()


async def test_the_bound_of_a_delete_is_the_one_that_is_promised() -> None:
    assert CANCEL_WAIT_S <= 10


@pytest.mark.rules("H6", "H2")
@pytest.mark.parametrize("work", ["streaming", "tool", "queued"])
async def test_over_http_streams_end_with_a_last_word_and_what_is_deleted_is_not_found(work: str) -> None:
    busy = Busy(work, MemoryLog())
    async with served_house(busy.house) as service:
        session, turns = await busy.begin()
        path = f"/sessions/{session}"
        streams = [path, *(f"{path}/turns/{turn}" for turn in turns)]

        async def followed(address: str, opened: asyncio.Event) -> list[Frame]:
            async with service.http.stream("GET", f"{address}/events") as response:
                opened.set()
                seen: list[Frame] = []
                async for frame in frames_of(response):
                    seen.append(frame)
                    if frame.field("event") == "session_deleted":
                        # The stream of all sessions goes on.
                        break
                return seen

        opened = [asyncio.Event() for _ in (*streams, "")]
        reading = [asyncio.create_task(followed(*one)) for one in zip((*streams, ""), opened, strict=True)]
        for event in opened:
            await within_bound(event)
        deleted = await service.http.delete(path)
        seen = await asyncio.wait_for(asyncio.gather(*reading), BOUND_S)
        after = [await service.http.get(one) for one in (*streams, f"{path}/events", f"{path}/records")]
        again = await service.http.delete(path)

    assert (deleted.status_code, deleted.content) == (204, b"")
    last = [frames[-1].field("event") for frames in seen]
    assert last[1] in ("turn_finished", "session_deleted")
    assert set(last[:1] + last[2:]) == {"session_deleted"}
    assert all(frames[-1].data["session"] == session for frames in seen)
    assert {(answer.status_code, answer.json()["code"]) for answer in (*after, again)} == {(404, "not_found")}


@pytest.mark.rules("H3", "H4")
async def test_keys_and_queue_go_with_their_session(log: SessionLog) -> None:
    busy = Busy("queued", log)
    session, _ = await busy.begin()
    key = RequestKey(
        owner=LOCAL_OWNER, method="POST", path=f"/sessions/{session}/turns", key="k", body=body_hash(b"{}")
    )
    asked = TurnAsked(content="With a key", on_busy=OnBusy.QUEUE)
    await busy.house.sessions.start_turn(session, LOCAL_OWNER, asked, key)
    kept = await log.keyed(key)

    await busy.house.sessions.delete(session, LOCAL_OWNER)

    assert kept is not None
    assert await log.keyed(key) is None
