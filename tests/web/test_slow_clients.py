"""Clients that are slow on purpose: each is let go of in time, and the others are served meanwhile (H2, H7)."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from service.web.connection_bounds import LEAST_BYTES_PER_S
from tests.web.bounded import CREATE, LIVE, bounded
from tests.web.serving import BOUND_S
from tests.web.stepped import settle
from tests.web.timed_connection import TimedConnection

pytestmark = pytest.mark.anyio

SOON_S = 0.2
# Longer than a test may take: what ends sooner ended for another reason.
NEVER_S = 10 * BOUND_S


@pytest.mark.rules("H2")
@pytest.mark.parametrize(
    "sent",
    [[], [b"GET / HT"], [b"\r\n"], [LIVE[:-2]], [LIVE, b"GE"], [LIVE, b"\r\n"]],
    ids=["nothing", "half a line", "empty lines", "no end", "half of the second", "empty lines for the second"],
)
async def test_a_head_that_is_not_whole_in_time_ends_its_connection(sent: list[bytes]) -> None:
    async with bounded(header_timeout_s=SOON_S, body_timeout_s=NEVER_S) as service:
        async with service.client() as client:
            for data in sent:
                await client.send_all(data)
                if data == LIVE:
                    await client.answer()
            said = await client.rest()
        await service.is_empty()

    assert said == b""


@pytest.mark.rules("H2")
async def test_slow_heads_do_not_keep_others_waiting() -> None:
    async with bounded(header_timeout_s=NEVER_S) as service:
        slow = [service.client(b"GET / HTTP/1.1\r\nX: ") for _ in range(50)]
        clients = [await opened.__aenter__() for opened in slow]
        for client in clients:
            client.send(b"y")
        async with service.client(LIVE) as other:
            answered = await other.answer()
        for client in clients:
            client.leave()
        for opened in slow:
            await opened.__aexit__(None, None, None)
        await service.is_empty()

    assert answered.startswith(b"HTTP/1.1 200 ")


@pytest.mark.rules("H2")
@pytest.mark.parametrize("sent", [b"", b"{"], ids=["without a byte", "with one byte"])
@pytest.mark.parametrize("form", ["Content-Length: 9", "Transfer-Encoding: chunked"])
async def test_a_body_that_stops_coming_ends_its_connection(
    form: str, sent: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    head = CREATE + form.encode() + b"\r\n\r\n"
    piece = sent if "Length" in form or not sent else b"1\r\n" + sent + b"\r\n"
    async with bounded(header_timeout_s=NEVER_S, body_timeout_s=SOON_S) as service:
        said = await service.answers(head, piece)
        await service.is_empty()

    assert said == b""
    log = capsys.readouterr()
    assert "waits_for='a body'" in log.out + log.err
    assert "Traceback" not in log.out + log.err


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body and say that it is whole."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.rules("H2")
@pytest.mark.parametrize(("bytes_per_s", "is_read"), [(LEAST_BYTES_PER_S, True), (LEAST_BYTES_PER_S // 2, False)])
async def test_a_long_body_may_take_long_if_it_comes_steadily(bytes_per_s: int, is_read: bool) -> None:
    connection = TimedConnection(read_all, body_timeout_s=60)
    seconds = 600
    await connection.send(CREATE + b"Content-Length: %d\r\n\r\n" % (seconds * bytes_per_s))
    for _ in range(seconds // 10):
        if connection.wire.is_closing() or connection.wire.untaken:
            break
        await connection.send(b"x" * (10 * bytes_per_s))
        connection.clock.go_on(10)

    assert (b" 204 " in connection.wire.untaken) == is_read
    assert connection.wire.is_closing()


@pytest.mark.rules("H2")
async def test_a_body_that_the_service_does_not_read_is_not_the_clients_fault() -> None:
    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        await reads.wait()
        await read_all(scope, receive, send)

    reads, half = asyncio.Event(), 128 * 1024
    connection = TimedConnection(busy, body_timeout_s=60)
    await connection.send(CREATE + b"Content-Length: %d\r\n\r\n" % (2 * half) + b"x" * half)
    connection.clock.go_on(200)
    reads.set()
    await settle()
    connection.clock.go_on(45)
    await connection.send(b"x" * half)

    assert b" 204 " in connection.wire.untaken


@pytest.mark.rules("H7")
@pytest.mark.parametrize(("taken", "ended"), [(0, "aborted"), (1, "closed")])
async def test_a_reader_that_takes_nothing_is_dropped_and_one_that_takes_little_is_not(taken: int, ended: str) -> None:
    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100000")]})
        await send({"type": "http.response.body", "body": b"x" * 100_000})

    connection = TimedConnection(answering, sse_send_timeout_s=30, header_timeout_s=NEVER_S)
    await connection.send(LIVE)
    connection.protocol.pause_writing()
    for _ in range(10):
        connection.clock.go_on(30)
        connection.wire.untaken = connection.wire.untaken[taken:]

    assert connection.wire.ended == ended


@pytest.mark.rules("H7")
@pytest.mark.parametrize(
    "sent",
    [b"no request at all\r\n\r\n", LIVE, LIVE[:-2] + b"Connection: close\r\n\r\n"],
    ids=["refused", "idle afterwards", "the last"],
)
async def test_a_connection_that_is_closed_waits_for_its_reader_for_a_bounded_time(sent: bytes) -> None:
    connection = TimedConnection(read_all, sse_send_timeout_s=30)
    await connection.send(sent)
    connection.clock.go_on(10)
    closed = connection.wire.ended
    connection.clock.go_on(60)

    assert (closed, connection.wire.ended) == ("closed", "aborted")


@pytest.mark.rules("H2")
async def test_the_rest_of_a_body_that_was_refused_has_no_longer_than_one_period() -> None:
    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    connection = TimedConnection(refusing, body_timeout_s=60)
    await connection.send(CREATE + b"Content-Length: 100000000\r\n\r\n{")
    for _ in range(13):
        await connection.send(b"x" * 100_000)
        connection.clock.go_on(5)

    assert connection.wire.ended == "closed"
