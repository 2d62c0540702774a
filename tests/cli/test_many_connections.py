"""The real program among very many connections: it serves, its memory is bounded, and nothing is left of them."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.process_size import as_many_files_as_may_be, files_allowed, open_sockets, resident_kib
from tests.cli.whole_program import JSON, PATIENCE_S, Program, running

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux tells in /proc"),
]

LEAST_CONNECTIONS = 4_000
CONNECTIONS = max(LEAST_CONNECTIONS, min(10_000, files_allowed() - 512))
# Measured: 7, of which the parser and the transport take most.
KIB_PER_CONNECTION = 16

RESETS = 10_000
AT_A_TIME = 200
# Measured: 22, and never more than 33 however often; if each left its task behind it would be more than 100.
MIB_AFTER_RESETS = 64

_RESETTING = struct.pack("ii", 1, 0)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for another process."""
    async with asyncio.timeout(PATIENCE_S):
        # Nothing tells of what another process has; so it is looked at again.
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def opened(program: Program) -> socket.socket:
    address = urlsplit(str(program.http.base_url))
    connection = socket.create_connection((address.hostname or "", address.port or 0), timeout=PATIENCE_S)
    # Nothing waits in the kernel for those that were there.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETTING)
    return connection


@contextmanager
def connections(program: Program, count: int) -> Generator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(opened(program)) for _ in range(count)]


async def ask(program: Program, session: str) -> str:
    answer = await program.http.post(f"{session}/turns", json={"content": "Hello"}, headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()["outcome"]


@pytest.mark.rules("H2")
@pytest.mark.timeout(120)
async def test_ten_thousand_idle_connections_cost_little_and_keep_nobody_waiting(tmp_path: Path) -> None:
    llama = StrictLlama()
    llama.play("Hello", say("Hi."))
    settings = {"MAX_CONNECTIONS": str(CONNECTIONS + 100), "HEADER_TIMEOUT_S": "600"}
    with as_many_files_as_may_be():
        async with llama, running(tmp_path, llama.url, **settings) as program:
            pid, session = program.process.pid, await program.session()
            before = [await ask(program, session), await ask(program, session)]
            sockets, kib = open_sockets(pid), resident_kib(pid)
            with connections(program, CONNECTIONS):
                await until(lambda: open_sockets(pid) >= sockets + CONNECTIONS)
                meanwhile = await ask(program, session)
                cost = (resident_kib(pid) - kib) / CONNECTIONS
            await until(lambda: open_sockets(pid) <= sockets)
            after = await ask(program, session)

    assert [*before, meanwhile, after] == ["answered"] * 4
    assert cost < KIB_PER_CONNECTION
    assert CONNECTIONS >= LEAST_CONNECTIONS


def _reset_streams(program: Program, request: bytes, count: int) -> None:
    for start in range(0, count, AT_A_TIME):
        with connections(program, min(AT_A_TIME, count - start)) as clients:
            for client in clients:
                client.sendall(request)
            for client in clients:
                come = b""
                while b"\r\n\r\n" not in come:
                    piece = client.recv(4096)
                    assert piece, come
                    come += piece
                assert come.startswith(b"HTTP/1.1 200 "), come


@pytest.mark.rules("H5", "H7")
@pytest.mark.timeout(180)
async def test_ten_thousand_streams_that_are_reset_leave_nothing_behind(tmp_path: Path) -> None:
    llama = StrictLlama()
    llama.play("Hello", say("Hi."))
    # Each that is not let go of would take one of these, too.
    async with llama, running(tmp_path, llama.url, STREAMS_AT_ONCE=str(5 * AT_A_TIME)) as program:
        pid, session = program.process.pid, await program.session()
        await ask(program, session)
        sockets = open_sockets(pid)
        request = f"GET {session}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        await asyncio.to_thread(_reset_streams, program, request, RESETS // 10)
        await until(lambda: open_sockets(pid) <= sockets)
        kib = resident_kib(pid)
        await asyncio.to_thread(_reset_streams, program, request, RESETS)
        await until(lambda: open_sockets(pid) <= sockets)
        grown = (resident_kib(pid) - kib) / 1024
        outcome = await ask(program, session)

    assert outcome == "answered"
    assert grown < MIB_AFTER_RESETS
