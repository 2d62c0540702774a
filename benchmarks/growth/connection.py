"""One kept connection to the service, with next to no work of its own. Above: what is asked. Below: sockets.

What a client of many features takes for a request would drown what the service takes, where that is a millisecond.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.startup.own_service import HOST
from service.core.json_types import JsonObject

_BOUND_S = 120
_READ_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer, of a stream all of it, and how long it took from the request on."""

    status: int
    body: bytes
    took_s: float

    @property
    def json(self) -> JsonObject:
        """The body as JSON."""
        return cast(JsonObject, json.loads(self.body))


class Connection:
    """Asks one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, method: str, path: str, body: JsonObject | None = None, **headers: str) -> Answer:
        """Send a request and read the answer to its end.

        Raises:
            MeasurementFailed: it is no success.
        """
        begun = time.perf_counter()
        self._writer.write(request_bytes(method, path, body, **headers))
        async with asyncio.timeout(_BOUND_S):
            status, length = await self._head()
            content = await (self._chunks() if length is None else self._reader.readexactly(length))
        if not 200 <= status < 300:
            raise MeasurementFailed(
                f"{method} {path} was answered with {status}: {content[:500].decode(errors='replace')}"
            )
        return Answer(status=status, body=content, took_s=time.perf_counter() - begun)

    async def _head(self) -> tuple[int, int | None]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, found, rest = head.partition(b"\r\ncontent-length:")
        return int(head.split(b" ", 2)[1]), int(rest.split(b"\r\n", 1)[0]) if found else None

    async def _chunks(self) -> bytes:
        parts: list[bytes] = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readexactly(2)
        return b"".join(parts)


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[Connection]:
    """Connect to a service of this machine."""
    reader, writer = await asyncio.open_connection(HOST, port, limit=_READ_AT_ONCE)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


def request_bytes(method: str, path: str, body: JsonObject | None = None, **headers: str) -> bytes:
    """Write a request as it is sent; an underscore in a header's name stands for a hyphen."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"host: {HOST}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode() + content
