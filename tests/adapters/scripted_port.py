"""A tool port that sends exactly the bytes that a test wants, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

BOUND_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRequest:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


class ScriptedPort:
    """Answers every request by its script and counts what it could send.

    `arrived` is set with the first request, `left` as soon as a client has closed its connection while the
    script was running.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[PortRequest] = []
        self.sent_bytes = 0
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()
        self._connections: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.close()
        await self._server.wait_closed()

    async def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Send bytes as the client takes them."""
        writer.write(data)
        await writer.drain()
        self.sent_bytes += len(data)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                self.requests.append(await _read_request(reader))
                self.arrived.set()
                if not await self._play(reader, writer):
                    break
        self._connections.discard(writer)
        writer.close()

    async def _play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        playing = asyncio.ensure_future(self.script(self, writer))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                self.left.set()
                return False
            return await playing
        except ConnectionError:
            self.left.set()
            raise
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)


Script = Callable[[ScriptedPort, asyncio.StreamWriter], Awaitable[bool]]
"""What happens after a request; True keeps the connection for the next one."""


async def _read_request(reader: asyncio.StreamReader) -> PortRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return PortRequest(line=line, headers=headers, body=body)


def response(body: bytes, *lines: str, status: str = "200 OK", length: bool = True) -> bytes:
    """Put an HTTP answer together."""
    head = [f"HTTP/1.1 {status}", *lines, *([f"Content-Length: {len(body)}"] if length else [])]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def as_json(value: Any, *lines: str) -> bytes:
    """Put an answer with a JSON body together."""
    return response(json.dumps(value).encode(), *lines)


def says(*parts: bytes, keep: bool = False) -> Script:
    """Send these bytes, then close the connection or keep it."""

    async def script(port: ScriptedPort, writer: asyncio.StreamWriter) -> bool:
        for part in parts:
            await port.send(writer, part)
        return keep

    return script


def says_in_turn(answers: Sequence[bytes | None]) -> Script:
    """Send one answer for each request on a kept connection; None closes it instead."""
    left = list(answers)

    async def script(port: ScriptedPort, writer: asyncio.StreamWriter) -> bool:
        answer = left.pop(0)
        if answer is None:
            return False
        await port.send(writer, answer)
        return True

    return script


def says_then_hangs(*parts: bytes) -> Script:
    """Send these bytes and nothing more, but stay connected."""

    async def script(port: ScriptedPort, writer: asyncio.StreamWriter) -> bool:
        await says(*parts)(port, writer)
        await asyncio.Event().wait()
        return False

    return script


def says_over_and_over(beginning: bytes, part: bytes, times: int) -> Script:
    """Send a beginning, then the same part many times, as fast as the client takes it."""

    async def script(port: ScriptedPort, writer: asyncio.StreamWriter) -> bool:
        await port.send(writer, beginning)
        for _ in range(times):
            await port.send(writer, part)
        return False

    return script
