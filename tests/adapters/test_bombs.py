"""Answers that unpack to a GiB, from the tool port and from llama-server: read within bounded memory (X2, L3)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.bombs import MIB, deflated, gibibyte_of_zeros, packed_twice

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X2", "L3")]

ROOT = Path(__file__).parents[2]
BOUND_S = 50
# An answer may have 8 MiB, and is there as bytes and as text for a moment. One bomb that goes off has 1024.
MOST_GROWTH = 96 * MIB

BODIES = {
    "plain": lambda: b"{}",
    "gzip": gibibyte_of_zeros,
    "gzip+gzip": packed_twice,
    "gzip+identity": gibibyte_of_zeros,
    "deflate": deflated,
    "br": gibibyte_of_zeros,
    "zstd": gibibyte_of_zeros,
}


@asynccontextmanager
async def bomber() -> AsyncGenerator[str]:
    """A server that answers `/ENCODING/STATUS/…` with a bomb of that encoding."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            _, encoding, status, *path = head.split(" ")[1].split("/")
            body = BODIES[encoding]()
            kind = "text/event-stream" if path[-1] == "completions" else "application/json"
            lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
            lines += [f"Content-Encoding: {name}" for name in encoding.split("+") if name != "plain"]
            writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            # The reader has had enough.
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def read_bombs(*encodings: str) -> dict[str, Any]:
    async with bomber() as url:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.adapters.bomb_reader", url, *encodings),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(BOUND_S):
                told, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0, errors.decode()
    return json.loads(told)


NOT_OFFERED = "packed its answer in a way that was not offered"


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read as Linux tells it")
async def test_no_answer_that_unpacks_to_a_gibibyte_takes_its_memory() -> None:
    read = await read_bombs("gzip", "gzip, gzip", "gzip, identity", "deflate", "br", "zstd")
    told: dict[str, str] = read["told"]

    assert read["grown_bytes"] < MOST_GROWTH
    assert len(told) == 6 * 2 * 10
    assert set(told["gzip 500 GET /props"].removeprefix("llama-server answered 500: ")) == {"\0"}
    # The one way that is offered, and only to the tool port, is unpacked up to the cap.
    assert told["gzip 200 POST /calls"] == "answered the tool port answered with something that is not JSON"
    assert told["gzip 200 GET /tools"] == "the tool port answered with a list of more than 8388608 bytes"
    assert told["gzip 200 GET /props"] == "llama-server answered with more than 8388608 bytes"
    for encoding in ("gzip, gzip", "gzip, identity", "deflate", "br", "zstd"):
        assert told[f"{encoding} 200 POST /calls"] == f"answered the tool port {NOT_OFFERED}"
        assert told[f"{encoding} 200 GET /tools"] == f"the tool port {NOT_OFFERED}"
        assert told[f"{encoding} 200 GET /props"] == f"llama-server {NOT_OFFERED}"
        assert told[f"{encoding} 500 POST /calls"] == "answered the tool port answered with HTTP status 500"
        for path in ("GET /props", "POST /v1/chat/completions"):
            assert told[f"{encoding} 500 {path}"] == "llama-server answered 500: (no text)"
