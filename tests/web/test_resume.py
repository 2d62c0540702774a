"""A stream that is cut behind any of its frames, or within one, goes on without a gap and without a duplicate (H6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager

import httpx
import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import ErrorKind, ModelFailure
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId
from service.core.json_lines import one_line
from service.ports import StoredRecord
from service.web.sse import frames
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import spec
from tests.web.cut_client import Connection, CutClient, record_lines
from tests.web.serving import BOUND_S, Frame, frames_of, settings_with, within_bound
from tests.web.stepped import SteppedLlama, SteppedPort, Turnstile, settle
from tests.web.test_whole_way import new_session, served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6")]

CLOSED = ModelFailure(ErrorKind.STREAM_CLOSED, "the connection broke")
TO_BE_CANCELLED = "Not to its end"
AT_ONCE = {"Prefer": "respond-async"}
# One client for each frame, within each and behind each, all at the same time.
MANY_STREAMS = settings_with(streams_at_once=1000)


def script() -> list[Play]:
    """A turn of four steps with tools and a second attempt, one from the queue, one that is cancelled, one more."""
    return [
        Play(reasoning="Look it up", calls=(call("clock"), call("clock", '{"city": "Rome"}', id="call-2"))),
        say("Half an\u2028answer", reasoning="so", failure=CLOSED),
        ask_for(call("clock", '{"city": "Bern"}'), content="One m\u00f6ment \U0001f44b."),
        say("It is noon.", reasoning="well"),
        say("From the queue."),
        say(TO_BE_CANCELLED, before_end=asyncio.Event()),
        say("The last one."),
    ]


Frames = AsyncGenerator[Frame]


class Story:
    """Four turns of one session, piece by piece; `control` sees all of it within this process."""

    def __init__(self, house: House, turnstile: Turnstile, http: httpx.AsyncClient, session: str) -> None:
        self.http = http
        self.session = session
        self.turns: list[str] = []
        self.control = CutClient()
        self._house = house
        self._turnstile = turnstile

    async def begin(self) -> None:
        """Send four messages."""
        session = SessionId(self.session.removeprefix("/sessions/"))
        following = await self._house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None)
        assert following is not None
        self._watching = Connection(frames(following, session, None), self.control)
        for number in range(4):
            asked = {"content": f"Question {number}", "on_busy": "queue"}
            answer = await self.http.post(f"{self.session}/turns", json=asked, headers=AT_ONCE)
            self.turns.append(answer.headers["location"])

    @property
    def is_over(self) -> bool:
        ends = [frame for frame in self.control.records if frame.field("event") == "turn_finished"]
        return len(ends) == len(self.turns) > 0

    def is_left(self, client: CutClient, address: str) -> bool:
        """Whether a turn of this stream is to end that this client has not seen end."""
        ended = sum(frame.field("event") == "turn_finished" for frame in client.records)
        if address == self.session:
            return ended < len(self.turns)
        return address in self.turns and ended <= self.turns.index(address)

    def is_in_flight(self, address: str) -> bool:
        """Whether a step of this stream has shown text."""
        return any(address in (self.session, f"{self.session}/turns/{turn}") for turn, _ in self.control.text)

    async def go_on(self) -> None:
        """Let the next piece come."""
        await self._watching.read_on()
        if TO_BE_CANCELLED in (text["content"] for text in self.control.text.values()):
            await self.http.post(f"{self.turns[2]}/cancel")
        else:
            self._turnstile.let(1)
        await self._watching.read_on()

    async def end(self) -> None:
        """Let everything come."""
        while not self.is_over:
            await self.go_on()
        await self._watching.cut()

    @asynccontextmanager
    async def stream(self, address: str, client: CutClient, *, by_header: bool) -> AsyncGenerator[Frames]:
        """Open a stream behind the client's cursor; what is in flight has been joined when this is entered."""
        client.connected()
        cursor = client.cursor or "0"
        headers, query = ({"Last-Event-ID": cursor}, "") if by_header else ({}, f"?after={cursor}")
        async with self.http.stream("GET", f"{address}/events{query}", headers=headers) as response:
            assert response.status_code == 200, response.status_code
            async with aclosing(frames_of(response)) as frames:
                assert (await anext(frames)).lines == ("retry: 2000",)
                await settle()
                yield frames


@asynccontextmanager
async def told() -> AsyncGenerator[Story]:
    turnstile = Turnstile()
    house = House(SteppedLlama(turnstile, *script()), SteppedPort(turnstile, spec("clock")))
    unbounded = httpx.Limits(max_connections=None)
    # A turn that waits in the queue has nothing to tell while the others are played, however long that takes.
    quiet = httpx.Timeout(BOUND_S, read=None)
    async with (
        served_house(house, settings=MANY_STREAMS) as service,
        httpx.AsyncClient(base_url=service.http.base_url, timeout=quiet, limits=unbounded, trust_env=False) as http,
    ):
        yield Story(house, turnstile, http, await new_session(service))


def records_of(client: CutClient, turn: str) -> list[tuple[str, ...]]:
    """Give the records of one turn."""
    name = turn.rpartition("/")[2]
    return record_lines(frame for frame in client.records if frame.data["turn"] == name)


async def next_frame(story: Story, frames: Frames) -> Frame:
    """Read a frame, for which as many pieces come as it takes; a ping, which a busy machine may see, is none."""
    waiting = asyncio.ensure_future(anext(frames))
    async with asyncio.timeout(BOUND_S):
        await settle()
        while not waiting.done():
            await story.go_on()
            await settle()
    frame = waiting.result()
    return frame if frame.field("event") is not None else await next_frame(story, frames)


async def come_back(story: Story, client: CutClient, address: str, joined: asyncio.Event, in_flight: bool) -> None:
    """Come back until a turn has ended; before that the connection is cut twice without an event in between."""
    for by_header in (True, False):
        async with story.stream(address, client, by_header=by_header):
            pass
    async with story.stream(address, client, by_header=True) as stream:
        joined.set()
        async for frame in stream:
            client.take(frame)
            if frame.field("event") == "turn_finished":
                break
    assert client.partials == 1 if in_flight else client.partials <= 1


async def to_the_end(story: Story, client: CutClient, address: str, *, by_header: bool) -> None:
    """Read what the log still has for a client; that nothing is left is a 204 for a turn."""
    if address in story.turns and records_of(client, address) == records_of(story.control, address):
        answer = await story.http.get(f"{address}/events?after={client.cursor}")
        assert (answer.status_code, answer.content) == (204, b"")
        return
    async with story.stream(address, client, by_header=by_header) as stream:
        while address in story.turns or client.cursor != story.control.cursor:
            frame = await anext(stream, None)
            if frame is None:
                break
            client.take(frame)


@pytest.mark.cases(10)
@pytest.mark.rules("H4", "T13", "L7")
async def test_a_live_stream_goes_on_behind_each_of_its_frames_and_within_each() -> None:
    cut: list[tuple[CutClient, str]] = []
    async with told() as story:
        await story.begin()
        async with asyncio.TaskGroup() as readers:
            live = CutClient()
            async with story.stream(story.session, live, by_header=False) as stream:
                while not story.is_over or live.cursor != story.control.cursor:
                    before = live.at_hand()
                    live.take(frame := await next_frame(story, stream))
                    turn = f"{story.session}/turns/{frame.data['turn']}"
                    # Cut behind the frame, or within it, and then it is lost.
                    for client in (before, live):
                        for address in (story.session, turn):
                            if not story.is_left(client, address):
                                continue
                            cut.append((client := client.at_hand(), address))
                            joined = asyncio.Event()
                            come = come_back(story, client, address, joined, story.is_in_flight(address))
                            readers.create_task(come)
                            await within_bound(joined)
            await story.end()
        for client, address in cut:
            await to_the_end(story, client, address, by_header=True)

    assert record_lines(live.records) == record_lines(story.control.records)
    assert len(cut) > 150
    for client, address in cut:
        if address == story.session:
            assert record_lines(client.records) == record_lines(story.control.records)
        else:
            assert records_of(client, address) == records_of(story.control, address)


async def test_what_was_seen_live_is_replayed_byte_for_byte_from_behind_each_record() -> None:
    async with told() as story:
        await story.begin()
        await story.end()
        control = story.control
        for number, record in enumerate(control.records):
            for address in (story.session, f"{story.session}/turns/{record.data['turn']}"):
                if address != story.session and address not in story.turns:
                    continue
                for by_header in (True, False):
                    client = CutClient(control.records[: number + 1], record.field("id"))
                    await to_the_end(story, client, address, by_header=by_header)
                    if address == story.session:
                        assert record_lines(client.records) == record_lines(control.records)
                    else:
                        assert records_of(client, address) == records_of(control, address)
                    assert client.partials == 0
        export = await story.http.get(f"{story.session}/records", headers={"Accept": "application/x-ndjson"})

    lines = [one_line(line).decode() for line in export.content.split(b"\n") if line]
    assert lines == [frame.field("data") for frame in control.records]


class HeldLog(MemoryLog):
    """A log that has found a page before it gives it: in between much may happen."""

    def __init__(self) -> None:
        super().__init__()
        self.may_give = asyncio.Event()
        self.may_give.set()
        self.found = asyncio.Event()

    async def read_family(self, session: SessionId, **how: object) -> Sequence[StoredRecord]:
        found = await super().read_family(session, **how)  # pyright: ignore[reportArgumentType]
        await self._held()
        return found

    async def read_all(self, owner: OwnerId, **how: object) -> Sequence[StoredRecord]:
        found = await super().read_all(owner, **how)  # pyright: ignore[reportArgumentType]
        await self._held()
        return found

    async def _held(self) -> None:
        self.found.set()
        await self.may_give.wait()


@pytest.mark.parametrize("of_all", [False, True], ids=["session", "all sessions"])
async def test_what_comes_while_the_log_is_read_is_told_in_its_order(of_all: bool) -> None:
    log = HeldLog()
    half = say("Half a word", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), log=log)
    session = await house.session()
    sessions = house.sessions
    following = (
        await sessions.follow_all(LOCAL_OWNER, 1)
        if of_all
        else await sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=1)
    )
    assert following is not None
    connection = Connection(frames(following, session, None), CutClient())
    await connection.read()
    # What is held is the look that finds nothing, before the reader goes to sleep.
    log.may_give.clear()
    log.found.clear()
    reading = asyncio.create_task(connection.read_on())
    await within_bound(log.found)
    await house.start(session)
    await within_bound(half.streaming)
    log.may_give.set()
    await reading

    assert [record.field("event") for record in connection.client.records] == ["user"]
    assert [text["content"] for text in connection.client.text.values()] == ["Half a word"]
    await connection.cut()
    await house.sessions.shut_down(0)
