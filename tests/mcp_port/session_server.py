"""A server as most are that people reach over HTTP: of an older version of MCP, with a session for each client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from tests.cases.http_fake import Exchange, HttpFake, OverHttp

NOT_FOUND = {"code": -32001, "message": "Session not found"}


class SessionServer(OverHttp):
    """Has two tools: `which` says in which session it is called, `hang` never answers and sets `hangs`.

    `lost` is the status and the body that a session gets which it does not know; `refuses` the status that each call
    gets; `breaks` how many bytes of an answer come before the connection breaks; `is_deaf` lets the end of a session
    hang.
    """

    def __init__(self, lost: tuple[int, bytes] = (404, b"")) -> None:
        self.lost = lost
        self.refuses: int | None = None
        self.breaks: int | None = None
        self.is_deaf = False
        self.hangs = asyncio.Event()
        self.forgets_at_once = False
        self.begun = 0
        self.calls = 0
        self._sessions: set[str] = set()
        self._http = HttpFake(self._answer)

    def forget(self) -> None:
        """Know no session any more, as after a restart."""
        self._sessions.clear()

    async def _answer(self, exchange: Exchange) -> None:
        session = exchange.headers.get("mcp-session-id")
        if exchange.method == "DELETE" and self.is_deaf:
            await asyncio.get_running_loop().create_future()
        if exchange.method != "POST":
            await exchange.answer(b"", status=405)
            return
        message = json.loads(exchange.body)
        if message["method"] == "initialize":
            await self._begin(exchange, message["id"])
        elif session is None:
            await exchange.answer(_error(None, {"code": -32000, "message": "No session"}), status=400)
        elif session not in self._sessions:
            status, body = self.lost
            await exchange.answer(body, status=status)
        elif "id" not in message:
            await exchange.answer(b"", status=202)
        elif message["method"] == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("which", "hang")]
            await exchange.answer(_result(message["id"], {"tools": tools}))
            if self.forgets_at_once:
                self.forget()
        else:
            await self._call(exchange, message, session)

    async def _begin(self, exchange: Exchange, request: int) -> None:
        self.begun += 1
        self._sessions.add(f"session-{self.begun}")
        version, info = "2025-06-18", {"name": "sessions", "version": "1"}
        body = _result(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: session-{self.begun}\r\n"
        await exchange.raw(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    async def _call(self, exchange: Exchange, message: dict[str, Any], session: str) -> None:
        self.calls += 1
        if message["params"]["name"] == "hang":
            self.hangs.set()
            await asyncio.get_running_loop().create_future()
        if self.breaks is not None:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
            await exchange.raw((head + b'{"jsonrpc"')[: self.breaks])
            exchange.reset()
            return
        if self.refuses is not None:
            await exchange.answer(b"<p>secret words of a page</p>", status=self.refuses)
            return
        await exchange.answer(_result(message["id"], {"content": [{"type": "text", "text": session}]}))


def not_found(request: str | None) -> bytes:
    """Say in words of MCP that a session is not known."""
    return _error(request, NOT_FOUND)


def _result(request: int, result: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode()


def _error(request: str | None, error: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request, "error": error}).encode()
