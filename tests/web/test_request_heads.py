"""What a request's head may be, and what is no request: refused as a problem, and the connection ends (H2, K1)."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from starlette.types import Receive, Scope, Send

from tests.web.bounded import CREATE, LIVE, RawClient, bounded
from tests.web.fakes import FakeApplication
from tests.web.serving import within_bound
from tests.web.stepped import settle
from tests.web.timed_connection import TimedConnection

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H2")]

START = LIVE[:-2]
CHUNKED = CREATE + b"Transfer-Encoding: chunked\r\n\r\n"
NO_REQUESTS = {
    "noise": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "two lengths": CREATE + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths that differ": CREATE + b"Content-Length: 2\r\nContent-Length: 0\r\n\r\n{}",
    "a list of lengths": CREATE + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": CREATE + b"Content-Length: +2\r\n\r\n{}",
    "an endless length": CREATE + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    "length, then chunks": CREATE + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks, then a length": CREATE + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "two codings": CREATE + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "an unknown coding": CREATE + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": CREATE + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a chunk of an endless size": CHUNKED + b"FFFFFFFFFFFFFFFFF\r\n",
    "a chunk of a negative size": CHUNKED + b"-1\r\n",
    "a line within an extension": CHUNKED + b"2;a=b\n{}\r\n0\r\n\r\n",
    "a folded header": START + b"A: b\r\n c\r\n\r\n",
    "a header without a name": START + b": b\r\n\r\n",
    "a zero byte": START + b"A: b\x00c\r\n\r\n",
    "lines without CR": START.replace(b"\r", b"") + b"\n",
    "a path that is no ASCII": LIVE.replace(b"livez", "ä".encode()),
    "a tunnel": b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


def problem_of(answer: bytes) -> tuple[int, str, str]:
    """Give status and code of the one answer, and whether the connection is told to end."""
    head, _, body = answer.partition(b"\r\n\r\n")
    document = json.loads(body)
    lines = head.lower().split(b"\r\n")
    assert b"content-type: application/problem+json" in lines
    assert b"x-content-type-options: nosniff" in lines
    assert int(head.split()[1]) == document["status"]
    return document["status"], document["code"], "closes" if b"connection: close" in lines else "stays"


@pytest.mark.rules("K1")
@pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS.keys())
async def test_what_can_be_read_in_two_ways_is_no_request(sent: bytes) -> None:
    application = FakeApplication()
    async with bounded(application.build) as service:
        answer = await service.answers(sent)
        await service.is_empty()

    assert problem_of(answer) == (400, "bad_request", "closes")
    assert application.sessions.created == []


@pytest.mark.parametrize("whole", [True, False], ids=["in one piece", "without an end"])
@pytest.mark.parametrize(
    "headers",
    [b"A: " + b"a" * 2000 + b"\r\n", b"A: a\r\n" * 30, b"A" * 2000 + b": a\r\n"],
    ids=["a long value", "many headers", "a long name"],
)
async def test_a_head_over_its_bounds_is_refused(headers: bytes, whole: bool) -> None:
    async with bounded(max_header_bytes=1024, max_headers=20) as service:
        answer = await service.answers(START + headers + (b"\r\n" if whole else b""))

    assert problem_of(answer) == (431, "headers_too_large", "closes")


async def test_a_long_path_counts_as_head() -> None:
    async with bounded(max_header_bytes=1024) as service:
        answer = await service.answers(LIVE.replace(b"livez", b"a" * 2000))

    assert problem_of(answer)[0] == 431


async def test_a_head_within_its_bounds_is_served_however_it_is_cut() -> None:
    head = START + b"A: " + b"a" * 900 + b"\r\n\r\n"
    async with bounded(max_header_bytes=1024, max_headers=20) as service, service.client() as client:
        for place in range(0, len(head), 100):
            await client.send_all(head[place : place + 100])
            await settle()
        first = await client.answer()
        client.send(head)
        second = await client.answer()

    assert (first[:13], second[:13]) == (b"HTTP/1.1 200 ", b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "endless",
    [b"1;" + b"a" * 2000, b"2\r\n{}\r\n0\r\nA: " + b"a" * 2000, b"2\r\n{}\r\n0\r\n" + b"A: a\r\n" * 400],
    ids=["extension", "trailer", "trailers"],
)
async def test_what_surrounds_a_body_is_bounded_as_a_head_is(endless: bytes) -> None:
    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass

    connection = TimedConnection(reading, max_header_bytes=1024)
    await connection.send(CHUNKED)
    for place in range(0, len(endless), 100):
        if not connection.wire.is_closing():
            await connection.send(endless[place : place + 100])

    assert problem_of(connection.wire.untaken) == (431, "headers_too_large", "closes")


async def test_trailers_are_no_headers() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def looking(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        seen.extend(scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with bounded(app=looking) as service, service.client(CHUNKED) as client:
        client.send(b"2\r\n{}\r\n0\r\nHost: evil\r\nX-API-Key: stolen\r\n\r\n")
        await client.answer()

    assert [name for name, _ in seen] == [b"host", b"content-type", b"transfer-encoding"]


async def test_what_follows_a_request_and_is_none_does_not_break_its_answer() -> None:
    begun, going_on = asyncio.Event(), asyncio.Event()

    async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        begun.set()
        await going_on.wait()
        await send({"type": "http.response.body", "body": b"b"})

    async with bounded(app=streaming) as service, service.client(LIVE) as client:
        await within_bound(begun)
        client.send(b"\x00 no request")
        await settle()
        going_on.set()
        answer = await client.rest()
        await service.is_empty()

    assert answer.count(b"HTTP/1.1") == 1
    assert answer.endswith(b"\r\n\r\nab")


async def test_requests_sent_ahead_are_answered_in_order_and_not_kept_without_bound() -> None:
    async with bounded() as service, service.client(LIVE * 10) as client:
        few = [await client.answer() for _ in range(10)]
        many = await service.answers(LIVE * 1000)
        await service.is_empty_but_for(1)

    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in few)
    assert many.count(b"HTTP/1.1 200 ") == 1


async def test_what_is_sent_ahead_on_one_connection_is_never_answered_on_another() -> None:
    begun, going_on = asyncio.Semaphore(0), {name: asyncio.Event() for name in (b"/a", b"/b", b"/c")}

    async def echoing(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        path: bytes = scope["raw_path"]
        await going_on[path[:2]].wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
        await send({"type": "http.response.body", "body": path})

    def asked(*paths: str) -> bytes:
        return b"".join(LIVE.replace(b"/livez", path.encode()) for path in paths)

    async def answered(client: RawClient, name: bytes) -> list[bytes]:
        going_on[name].set()
        return [(await client.answer())[-3:] for _ in range(2)]

    async with (
        bounded(app=echoing) as service,
        service.client(asked("/a1", "/a2")) as first,
        service.client(asked("/b1", "/b2")) as second,
        service.client(asked("/c1")) as third,
    ):
        for _ in range(3):
            await begun.acquire()
        # The last one that sent ahead is the first whose turn comes.
        assert await answered(second, b"/b") == [b"/b1", b"/b2"]
        assert await answered(first, b"/a") == [b"/a1", b"/a2"]
        third.send(asked("/c2"))
        assert await answered(third, b"/c") == [b"/c1", b"/c2"]


async def test_a_stream_ends_with_its_client_whatever_was_sent_ahead() -> None:
    left = asyncio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    connection = TimedConnection(waiting)
    await connection.send(LIVE + LIVE)
    connection.protocol.connection_lost(ConnectionResetError())

    await within_bound(left)


@pytest.mark.rules("H5")
@pytest.mark.parametrize("more", [LIVE, b"\x00 no request"], ids=["a request", "noise"])
async def test_a_client_that_leaves_is_seen_at_once_though_it_sent_more(more: bytes) -> None:
    begun, left = asyncio.Event(), asyncio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    async with bounded(app=waiting) as service:
        async with service.client(LIVE) as client:
            await within_bound(begun)
            client.send(more)
            await settle()
            client.leave()
        await within_bound(left)
        await service.is_empty()


async def test_a_body_that_breaks_when_its_answer_has_begun_does_not_break_the_answer() -> None:
    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        while (await receive()).get("more_body"):
            pass

    connection = TimedConnection(answering)
    await connection.send(CHUNKED)
    await connection.send(b"no chunk\r\n")

    assert connection.wire.untaken.count(b"HTTP/1.1") == 1
    assert connection.wire.is_closing()


async def test_an_upgrade_is_not_done_and_writes_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    connection = TimedConnection(answering)
    connection.protocol.logger = logging.getLogger("test of an upgrade")
    await connection.send(START + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n")

    assert connection.wire.untaken.startswith(b"HTTP/1.1 200 ")
    assert caplog.messages == []
