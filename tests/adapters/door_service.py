"""Something that answers HTTP as it is told, and notes what it was asked, and with which key."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

UNKNOWN = "this API key is not known, or was revoked"
LACKS_SCOPE = "this needs an API key with the scope turns; this one has approve"


def answer(status: str, body: object = None, **headers: str) -> bytes:
    """Give an answer whose body is JSON; `_` in the name of a header stands for `-`."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "Connection: close", "", json.dumps(body)]).encode()


def problem(status: str, code: str, detail: str) -> bytes:
    """Give a refusal as the service writes it."""
    return answer(status, {"code": code, "detail": detail}, Content_Type="application/problem+json")


UNAUTHORIZED = problem("401 Unauthorized", "unauthorized", UNKNOWN)
FORBIDDEN = problem("403 Forbidden", "forbidden", LACKS_SCOPE)


@dataclass
class DoorService:
    """`asked` has the method, the path and the value of `Authorization` of each request."""

    answer: bytes
    url: str = ""
    asked: list[tuple[str, str, str | None]] = field(default_factory=list[tuple[str, str, str | None]])

    @property
    def keys(self) -> set[str | None]:
        return {key for _, _, key in self.asked}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length is not None else 0)
        method, path, _ = head.split(" ", 2)
        keys = re.findall(r"^authorization: (.*)\r$", head, re.IGNORECASE | re.MULTILINE)
        assert len(keys) <= 1
        self.asked.append((method, path, keys[0] if keys else None))
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def door_service(answer: bytes) -> AsyncGenerator[DoorService]:
    """Serve on a free port of loopback; each request gets this answer."""
    service = DoorService(answer)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    async with server:
        service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield service
