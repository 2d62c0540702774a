"""Answers to what is no request yet, or comes when no more are taken: problem documents, and the connection ends.

Above: `connections.py`. Below: nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from service.web.security_headers import SECURITY_HEADERS

HEALTH_PATHS = frozenset({"/livez", "/readyz", "/healthz"})
"""What is answered when no more connections are taken: whoever watches the service would kill it otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyAnswer:
    """A refusal before any of the app runs; the members are those of a problem document."""

    status: int
    title: str
    code: str
    detail: str
    retry_after_s: int | None = None

    @property
    def body(self) -> bytes:
        """Give the document; it has no `instance`, since there may be no path."""
        members = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }
        return json.dumps(members, separators=(",", ":")).encode()

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Give the headers, by names in small letters."""
        retry = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
        said = {
            "Content-Type": "application/problem+json",
            "Content-Length": str(len(self.body)),
            "Connection": "close",
            **retry,
            **SECURITY_HEADERS,
        }
        return [(name.lower().encode(), value.encode()) for name, value in said.items()]

    def as_bytes(self, server_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Give the whole answer as it goes over the wire."""
        lines = [b"HTTP/1.1 %d %s" % (self.status, self.title.encode())]
        lines += [b"%s: %s" % pair for pair in (*server_headers, *self.headers)]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


MALFORMED = EarlyAnswer(
    status=400, title="Bad Request", code="bad_request", detail="what came is no HTTP/1.1 request that can be read"
)
HEAD_TOO_LARGE = EarlyAnswer(
    status=431,
    title="Request Header Fields Too Large",
    code="headers_too_large",
    detail="the head of a request has too many bytes or headers (settings max_header_bytes, max_headers)",
)
NO_ROOM = EarlyAnswer(
    status=503,
    title="Service Unavailable",
    code="too_many_connections",
    detail="as many connections are open as may be (setting max_connections)",
    retry_after_s=5,
)


class HealthOnly:
    """Let questions after the service's health through, and refuse all else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": NO_ROOM.status, "headers": NO_ROOM.headers})
        await send({"type": "http.response.body", "body": NO_ROOM.body, "more_body": False})


class UntilTheCallerLeaves:
    """Serve, and take it for no mistake of ours when a body ends in its middle, which the server would log as one."""

    __slots__ = ("_app",)

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        with suppress(ClientDisconnect):
            await self._app(scope, receive, send)
