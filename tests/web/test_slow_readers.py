"""Readers that take nothing cost bounded memory, harm nobody, and are dropped in the end (H7)."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over
from tests.cli.whole_program import JSON, Program, running
from tests.web.cut_client import record_lines
from tests.web.serving import Frame, Served, frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H7")]

READERS = 200
KIB = 1024
MIB = 1024 * KIB
BOUND_S = 30

# A turn adds its message, its answer, and the answer once more in its last record: 192 KiB to the log.
MESSAGE = "m" * (64 * KIB)
ANSWER = tuple("a" * (4 * KIB) for _ in range(16))
# More records than a session keeps at hand for all its readers, so that a replay has to read them: 3.75 MiB.
OLD_TURNS = 20
# Enough to fill what lies between a service and a client that takes nothing.
NEW_TURNS = 12

# What one reader may cost beside what the kernel holds for it. Measured: 0.4 MiB in a replay, 0.3 MiB live (a page of
# the log or one longer record: as it is, as a frame and in the connection). The log itself, kept for each of them,
# would be 3.75 MiB.
PER_READER = MIB


def stalled_request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@asynccontextmanager
async def readers_that_take_nothing(port: int, path: str) -> AsyncGenerator[Sequence[socket.socket]]:
    """Ask for a stream on many connections and read none of them."""
    loop = asyncio.get_running_loop()
    opened: list[socket.socket] = []
    try:
        for _ in range(READERS):
            reader = socket.socket()
            opened.append(reader)
            reader.setblocking(False)
            # Small, so that little of what is not read lies in the kernel.
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
            await loop.sock_connect(reader, ("127.0.0.1", port))
            await loop.sock_sendall(reader, stalled_request(path))
        yield opened
    finally:
        for reader in opened:
            reader.close()


async def ends_of_turns(http: httpx.AsyncClient, session: str, turns: int) -> list[Frame]:
    """Run turns one after another, and read on with a stream of the session after each until its end has come.

    The reader that does this is the one whom the others must not harm: it gets each turn to its end before the next
    one is even asked for.
    """
    seen: list[Frame] = []
    async with (
        asyncio.timeout(BOUND_S),
        http.stream("GET", f"{session}/events") as response,
        aclosing(frames_of(response)) as frames,
    ):
        for _ in range(turns):
            answer = await http.post(f"{session}/turns", json={"content": MESSAGE}, headers=JSON)
            assert answer.json()["outcome"] == "answered"
            ended = False
            while not ended:
                seen.append(await anext(frames))
                ended = f'"turn":"{answer.json()["id"]}"' in (seen[-1].field("data") or "")
                ended = ended and seen[-1].field("event") == "turn_finished"
    return seen


def memory_of(program: Program) -> int:
    """Give the bytes that the process has in memory."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found.group(1)) * KIB


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
@pytest.mark.timeout(180)
async def test_two_hundred_readers_that_take_nothing_cost_bounded_memory_live_and_in_a_replay(tmp_path: Path) -> None:
    async with (
        StrictLlama(say(ANSWER), context_tokens=10_000_000) as llama,
        # Nobody is dropped while this is measured.
        running(tmp_path, llama.url, SSE_SEND_TIMEOUT_S="600", STREAMS_AT_ONCE="1000") as program,
    ):
        port = program.http.base_url.port
        assert port is not None
        session = await program.session()
        seen = await ends_of_turns(program.http, session, OLD_TURNS)
        before = memory_of(program)
        async with readers_that_take_nothing(port, f"{session}/events"):
            await ends_of_turns(program.http, session, 1)
            replayed = memory_of(program)
            end = [frame.field("id") for frame in seen if frame.field("id")][-1]
            async with readers_that_take_nothing(port, f"{session}/events?after={end}"):
                again = await ends_of_turns(program.http, session, NEW_TURNS)
                live = memory_of(program)
        assert llama.refusals == []

    assert replayed - before < READERS * PER_READER
    assert live - replayed < READERS * PER_READER
    assert record_lines(again)[: len(record_lines(seen))] == record_lines(seen)


async def all_gone(served: Served) -> None:
    """Wait until the server has ended all requests."""
    async with asyncio.timeout(BOUND_S):
        while tasks := set(served.server.server_state.tasks):
            await asyncio.wait(tasks)


@pytest.mark.timeout(180)
async def test_two_hundred_readers_that_take_nothing_are_dropped_and_leave_nothing_behind(tmp_path: Path) -> None:
    async with (
        StrictLlama(say(ANSWER), context_tokens=10_000_000) as llama,
        service_over(tmp_path, llama, sse_send_timeout_s=1, streams_at_once=1000) as service,
    ):
        http, session = service.served.http, await service.session()
        # What one process has once is there after the first stream.
        await ends_of_turns(http, session, 1)
        await all_gone(service.served)
        before = asyncio.all_tasks()
        async with readers_that_take_nothing(service.served.port, f"{session}/events") as readers:
            # Enough to fill the buffers of both ends.
            seen = await ends_of_turns(http, session, NEW_TURNS)
            await all_gone(service.served)
            left = {task.get_name() for task in asyncio.all_tasks() - before}
            cut = [await to_its_end(reader) for reader in readers]
        records = await service.records(session)

    assert [frame.data for frame in seen if frame.field("id")] == records
    assert left == set()
    # None of them was told that its stream had ended: each may come back and go on.
    assert [data.endswith(b"0\r\n\r\n") for data in cut] == [False] * READERS


async def to_its_end(reader: socket.socket) -> bytes:
    """Read what the kernel has kept of a connection that the server has closed."""
    loop = asyncio.get_running_loop()
    data = b""
    try:
        while piece := await loop.sock_recv(reader, MIB):
            data = data[-8:] + piece
    except ConnectionError:
        pass
    return data
