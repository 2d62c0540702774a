"""Streams over a real connection: what httpx sees of them, and what is left when their reader has gone."""

import asyncio
import signal
import socket
from contextlib import aclosing

import httpx
import pytest

from service.core.signals import ContentDelta, ShuttingDown
from service.turns.events import SignalEvent
from tests.web.fakes import SESSION, TURN, FakeApplication, FakeFollower, FakeSessions, Followed, stored
from tests.web.serving import BOUND_S, Served, frames_of, served, settings_with, within_bound

pytestmark = pytest.mark.anyio

TURN_EVENTS = "/sessions/ses_1/turns/trn_1/events"
SESSION_EVENTS = "/sessions/ses_1/events"
ALL_EVENTS = "/events"


@pytest.mark.rules("H6")
@pytest.mark.parametrize("path", [TURN_EVENTS, SESSION_EVENTS, ALL_EVENTS])
async def test_a_quiet_stream_answers_at_once(service: Served, sessions: FakeSessions, path: str) -> None:
    sessions.follower = FakeFollower(ends=False)

    async with service.http.stream("GET", path) as response:
        first = await anext(frames_of(response))

    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == "text/event-stream"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert first.lines == ("retry: 2000",)


@pytest.mark.rules("H6")
async def test_events_arrive_while_the_stream_is_open(service: Served, sessions: FakeSessions) -> None:
    follower = sessions.follower = FakeFollower(ends=False)
    async with service.http.stream("GET", SESSION_EVENTS) as response:
        frames = frames_of(response)
        await anext(frames)
        follower.give(stored(2))
        record = await anext(frames)
        follower.give(SignalEvent(session=SESSION, turn=TURN, signal=ContentDelta(step=1, text="Hi", offset=0)))
        delta = await anext(frames)

    assert (record.field("id"), record.field("event"), record.data["pos"]) == ("20", "user", 20)
    assert (delta.field("id"), delta.field("event"), delta.data["text"]) == (None, "content", "Hi")


@pytest.mark.rules("H6")
async def test_a_turn_s_stream_ends_with_its_follower(service: Served, sessions: FakeSessions) -> None:
    sessions.follower = FakeFollower([stored(2), stored(3, "turn_finished")])

    async with service.http.stream("GET", TURN_EVENTS) as response:
        frames = [frame async for frame in frames_of(response)]

    assert [frame.field("event") for frame in frames] == [None, "user", "turn_finished"]


@pytest.mark.rules("H6")
@pytest.mark.parametrize(
    ("query", "headers", "after_pos"),
    [
        ("", {}, None),
        ("?after=0", {}, 0),
        ("?after=17", {}, 17),
        ("", {"Last-Event-ID": "17"}, 17),
        ("?after=3", {"Last-Event-ID": "17"}, 17),
        ("?after=17", {"Last-Event-ID": ""}, 17),
        ("", {"Last-Event-ID": ""}, None),
        ("?after=0017", {}, 17),
        ("?after=9223372036854775807", {}, 2**63 - 1),
        ("?after=9223372036854775808", {}, 2**63 - 1),
        ("?after=" + "9" * 5000, {}, 2**63 - 1),
    ],
)
async def test_a_stream_is_resumed_behind_the_last_event(
    http: httpx.AsyncClient, sessions: FakeSessions, query: str, headers: dict[str, str], after_pos: int | None
) -> None:
    response = await http.get(f"{TURN_EVENTS}{query}", headers=headers)

    assert response.status_code == 200
    assert sessions.followed == [Followed(SESSION, TURN, after_pos=after_pos, until_pause=False)]


@pytest.mark.rules("H6", "H2")
@pytest.mark.parametrize("path", [TURN_EVENTS, SESSION_EVENTS, ALL_EVENTS])
@pytest.mark.parametrize(
    ("query", "headers", "field"),
    [
        ("?after=x", {}, "after"),
        ("?after=", {}, "after"),
        ("?after=-1", {}, "after"),
        ("?after=1.5", {}, "after"),
        ("?after=1_0", {}, "after"),
        ("?after=%D9%A5", {}, "after"),
        ("?after=1%0A", {}, "after"),
        ("", {"Last-Event-ID": "x"}, "Last-Event-ID"),
        ("?after=5", {"Last-Event-ID": "-5"}, "Last-Event-ID"),
        ("?since=5", {}, "since"),
    ],
)
async def test_a_malformed_cursor_is_refused_before_the_stream_begins(
    http: httpx.AsyncClient, sessions: FakeSessions, path: str, query: str, headers: dict[str, str], field: str
) -> None:
    response = await http.get(f"{path}{query}", headers=headers)

    assert response.status_code == 422
    assert [fault["field"] for fault in response.json()["errors"]] == [field]
    assert sessions.followed == []


@pytest.mark.rules("H6")
async def test_a_finished_turn_that_was_seen_to_its_end_stops_an_event_source(
    service: Served, sessions: FakeSessions
) -> None:
    sessions.follower = None

    response = await service.http.get(TURN_EVENTS, headers={"Last-Event-ID": "99"})

    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.rules("H2")
@pytest.mark.parametrize("path", ["/sessions/ses_2/events", "/sessions/ses_1/turns/trn_2/events"])
async def test_a_stream_of_what_is_not_there_is_not_found(service: Served, path: str) -> None:
    response = await service.http.get(path)

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.rules("H1")
async def test_a_caller_who_takes_no_events_gets_no_stream(service: Served, sessions: FakeSessions) -> None:
    response = await service.http.get(SESSION_EVENTS, headers={"Accept": "application/json"})

    assert (response.status_code, response.json()["code"]) == (406, "not_acceptable")
    assert sessions.followed == []


@pytest.mark.rules("H6")
async def test_a_quiet_stream_gets_comments(application: FakeApplication, sessions: FakeSessions) -> None:
    sessions.follower = FakeFollower(ends=False)

    async with (
        served(application, settings_with(sse_ping_s=1)) as service,
        service.http.stream("GET", SESSION_EVENTS) as response,
    ):
        frames = frames_of(response)
        await anext(frames)
        comment = await anext(frames)

    assert comment.lines == (": ping",)


@pytest.mark.cases(13)
@pytest.mark.rules("H5", "H7")
@pytest.mark.parametrize("path", [TURN_EVENTS, SESSION_EVENTS, ALL_EVENTS])
async def test_a_reader_that_leaves_a_quiet_stream_leaves_no_task_behind(
    service: Served, sessions: FakeSessions, path: str
) -> None:
    # The first stream starts what one process has once.
    await _open_and_leave(service, sessions, path)
    before = asyncio.all_tasks()

    for _ in range(3):
        await _open_and_leave(service, sessions, path)

    assert asyncio.all_tasks() == before


async def _open_and_leave(service: Served, sessions: FakeSessions, path: str) -> None:
    follower = sessions.follower = FakeFollower(ends=False)
    async with (
        httpx.AsyncClient(base_url=service.http.base_url, trust_env=False) as reader,
        reader.stream("GET", path) as response,
        aclosing(frames_of(response)) as frames,
    ):
        await anext(frames)
        await within_bound(follower.entered)
    await within_bound(follower.left)
    await _all_done(service)


async def _all_done(service: Served) -> None:
    """Wait until the server's own tasks have ended: it has one for each request."""
    while tasks := set(service.server.server_state.tasks):
        async with asyncio.timeout(BOUND_S):
            await asyncio.wait(tasks)


@pytest.mark.rules("H7")
async def test_a_reader_that_takes_nothing_is_dropped(application: FakeApplication, sessions: FakeSessions) -> None:
    follower = sessions.follower = FakeFollower(ends=False)
    settings = settings_with(sse_send_timeout_s=1)
    async with served(application, settings) as service:
        with socket.create_connection(("127.0.0.1", service.port)) as stalled:
            stalled.sendall(f"GET {SESSION_EVENTS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await within_bound(follower.entered)
            # More than the buffers of both ends hold.
            for seq in range(2, 34):
                follower.give(stored(seq, content="x" * 1_000_000))

            await within_bound(follower.left)


@pytest.mark.rules("H8")
async def test_a_follower_says_farewell_before_a_service_stops(
    application: FakeApplication, sessions: FakeSessions
) -> None:
    follower = sessions.follower = FakeFollower(ends=False)
    async with (
        served(application, settings_with(sse_ping_s=1)) as service,
        service.http.stream("GET", SESSION_EVENTS) as response,
    ):
        frames = frames_of(response)
        await anext(frames)
        service.server.handle_exit(signal.SIGTERM, None)
        # Time passes: whoever would cut the stream has had the time to.
        pinged = await anext(frames)
        follower.give(SignalEvent(session=SESSION, turn=None, signal=ShuttingDown()))
        follower.end()
        farewell = [frame async for frame in frames]

    assert pinged.lines == (": ping",)
    assert [frame.lines[:2] for frame in farewell] == [("retry: 5000", "event: shutting_down")]
