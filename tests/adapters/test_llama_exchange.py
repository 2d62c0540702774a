"""An answer's bytes to its head and body, without a network: whole, in single bytes, and broken in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import httpx
import pytest

from service.adapters.llama.exchange import MAX_HEAD_BYTES, MAX_WAITING_BYTES, Exchange, FirstBytes, NotHttp

pytestmark = pytest.mark.anyio

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
COUNTED = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
TO_THE_END = b"HTTP/1.0 200 OK\r\n\r\nall of it"


class FakeTransport(asyncio.Transport):
    """Remembers what was done with the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.done: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def pause_reading(self) -> None:
        self.done.append("paused")

    def resume_reading(self) -> None:
        self.done.append("resumed")

    def abort(self) -> None:
        self.done.append("aborted")


def connected(heard: FirstBytes | None = None) -> tuple[Exchange, FakeTransport]:
    exchange, transport = Exchange(asyncio.get_running_loop(), heard), FakeTransport()
    exchange.connection_made(transport)
    return exchange, transport


def fed(*pieces: bytes) -> Exchange:
    exchange, _ = connected()
    for piece in pieces:
        exchange.data_received(piece)
    return exchange


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


async def body_of(exchange: Exchange) -> bytes:
    return b"".join([piece async for piece in exchange])


async def test_head_and_body_are_sent_as_they_are_given() -> None:
    exchange, transport = connected()

    exchange.send(b"POST / HTTP/1.1\r\n\r\n", b"{}")

    assert transport.sent == b"POST / HTTP/1.1\r\n\r\n{}"


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (CHUNKED + chunk(b"one") + chunk(b"two") + b"0\r\n\r\n", 200, b"onetwo"),
        (COUNTED, 404, b"{}"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + COUNTED, 404, b"{}"),
    ],
    ids=["chunks", "length", "nothing", "another head first"],
)
@pytest.mark.parametrize("step", [1, 2, 7, 10_000])
async def test_an_answer_is_the_same_however_its_bytes_are_cut(
    answer: bytes, status: int, body: bytes, step: int
) -> None:
    exchange = fed(*(answer[at : at + step] for at in range(0, len(answer), step)))

    await exchange.head()
    assert exchange.status == status
    assert await body_of(exchange) == body


@pytest.mark.rules("L4")
async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    exchange = fed(TO_THE_END)
    exchange.connection_lost(None)

    assert await body_of(exchange) == b"all of it"


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    ("answer", "error"),
    [(TO_THE_END, ConnectionResetError()), (CHUNKED + chunk(b"one"), None), (COUNTED[:-1], None)],
    ids=["reset", "no last chunk", "shorter than its length"],
)
async def test_a_body_that_is_cut_off_gives_what_came_and_then_an_error(answer: bytes, error: Exception | None) -> None:
    exchange = fed(answer)
    exchange.connection_lost(error)

    assert await anext(exchange)
    with pytest.raises(httpx.ReadError):
        await anext(exchange)


@pytest.mark.rules("L7")
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nSer"], ids=["nothing", "half"])
async def test_a_head_that_does_not_come_is_an_error(answer: bytes) -> None:
    exchange = fed(answer) if answer else connected()[0]
    exchange.connection_lost(None)

    with pytest.raises(httpx.ReadError):
        await exchange.head()


@pytest.mark.rules("L7")
@pytest.mark.parametrize(
    "answer",
    [
        [b"SSH-2.0-OpenSSH_9.2\r\n"],
        [b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_HEAD_BYTES],
        [b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * (MAX_HEAD_BYTES // 6)],
    ],
    ids=["another protocol", "upgrade", "a long header", "many headers"],
)
async def test_what_is_no_answer_is_told_so(answer: Sequence[bytes]) -> None:
    exchange = fed(*answer)

    with pytest.raises(NotHttp):
        await exchange.head()


@pytest.mark.rules("L4")
async def test_what_comes_together_is_given_together() -> None:
    exchange = fed(CHUNKED + chunk(b"one") + chunk(b"two"), chunk(b"three"))

    assert await anext(exchange) == b"onetwothree"


@pytest.mark.rules("H7")
async def test_a_reader_that_takes_nothing_holds_up_the_server_and_not_the_memory() -> None:
    exchange, transport = connected()
    exchange.data_received(CHUNKED)
    piece = chunk(b"x" * 1024)
    while not transport.done:
        exchange.data_received(piece)

    taken = await anext(exchange)

    assert MAX_WAITING_BYTES < len(taken) <= MAX_WAITING_BYTES + 1024
    assert transport.done == ["paused", "resumed"]


@pytest.mark.rules("L8")
async def test_closing_ends_the_connection_and_whoever_waits_for_it() -> None:
    exchange, transport = connected()
    exchange.data_received(CHUNKED)
    waiting = asyncio.ensure_future(anext(exchange))
    await asyncio.sleep(0)

    exchange.close()

    assert transport.done == ["aborted"]
    with pytest.raises(httpx.ReadError):
        await waiting


@pytest.mark.rules("L2")
async def test_the_first_bytes_are_heard_before_the_head_is_whole() -> None:
    heard = FirstBytes()
    exchange, _ = connected(heard)
    before = heard.have_come

    exchange.data_received(b"HTTP/1.1 2")

    assert (before, heard.have_come) == (False, True)


async def pushing(exchange: Exchange, sink: Callable[[bytes], bool]) -> asyncio.Task[bool]:
    """Have what comes pushed from now on."""
    task = asyncio.ensure_future(exchange.push(sink))
    await asyncio.sleep(0)
    return task


@pytest.mark.rules("L4")
async def test_what_comes_is_pushed_in_the_moment_in_which_it_comes() -> None:
    exchange = fed(CHUNKED + chunk(b"before"))
    come: list[bytes] = []
    task = await pushing(exchange, lambda piece: come.append(piece) is None)

    exchange.data_received(chunk(b"one") + chunk(b"two"))
    at_once = list(come)
    exchange.data_received(b"0\r\n\r\n")

    assert at_once == [b"before", b"onetwo"]
    assert await task is True
    assert come == at_once


@pytest.mark.rules("L4")
async def test_a_sink_that_takes_no_more_finds_the_rest_when_it_comes_back() -> None:
    exchange = fed(CHUNKED)
    come: list[bytes] = []
    task = await pushing(exchange, lambda piece: come.append(piece) is not None)

    exchange.data_received(chunk(b"one"))
    exchange.data_received(chunk(b"two"))
    stopped = await task
    exchange.data_received(chunk(b"three") + b"0\r\n\r\n")

    assert (stopped, come) == (False, [b"one"])
    assert await exchange.push(lambda piece: come.append(piece) is None) is True
    assert come == [b"one", b"twothree"]


@pytest.mark.rules("L4")
@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
async def test_what_a_sink_raises_is_raised_where_it_is_waited_for(late: bool) -> None:
    exchange = fed(CHUNKED if late else CHUNKED + chunk(b"one"))

    def sink(piece: bytes) -> bool:
        raise LookupError(piece)

    task = await pushing(exchange, sink)
    if late:
        exchange.data_received(chunk(b"one"))

    with pytest.raises(LookupError, match="one"):
        await task


@pytest.mark.rules("L4")
async def test_a_connection_that_is_lost_while_it_pushes_is_an_error() -> None:
    exchange = fed(CHUNKED)
    come: list[bytes] = []
    task = await pushing(exchange, lambda piece: come.append(piece) is None)

    exchange.data_received(chunk(b"one"))
    exchange.connection_lost(None)

    with pytest.raises(httpx.ReadError):
        await task
    assert come == [b"one"]
