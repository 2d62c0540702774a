"""Finds out who asks, and refuses who may not (K3); a key that is revoked loses its open streams too.

Pure ASGI, like the guard before it. Above: `app.py`. Below: the access table, and the keys by their port.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.core.callers import LOCAL_CALLER, Caller
from service.core.errors import ProblemCode, RequestRefused
from service.ports.api_keys import ApiKeys
from service.web.access import Access
from service.web.problems import problem_response

CALLER = "turnkeeper.caller"
"""Where a scope has who asks; missing where no key is asked for, and none was sent."""

# How soon open streams of a revoked key end; requests that begin are refused at once.
_LOOK_S = 1.0

_BEARER = "bearer "

log = structlog.get_logger(__name__)


class Unauthenticated:
    """Take everyone for the one local caller: a service without keys, which serves this machine only (K2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope[CALLER] = LOCAL_CALLER
        await self._app(scope, receive, send)


class Authentication:
    """Let in who has a key with a scope that fits, as the caller that the key names."""

    def __init__(self, app: ASGIApp, *, keys: ApiKeys, access: Access) -> None:
        self._app = app
        self._keys = keys
        self._access = access
        self._open: set[_Held] = set()
        self._version = keys.version()
        self._looking: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            presented = _presented(scope)
            caller = self._caller(scope, presented)
        except _Refused as refused:
            await problem_response(refused, scope, refused.headers)(scope, receive, send)
            return
        if presented is None or caller is None:
            await self._app(scope, receive, send)
            return
        scope[CALLER] = caller
        held = _Held(presented, caller, receive)
        self._open.add(held)
        self._look_soon()
        try:
            await self._app(scope, held.receive, send)
        finally:
            self._open.discard(held)

    def _caller(self, scope: Scope, presented: str | None) -> Caller | None:
        needed = self._access.needed(scope)
        if presented is None:
            if needed:
                raise _unauthorized("send an API key, as Authorization: Bearer KEY or as X-API-Key")
            return None
        caller = self._keys.caller(presented)
        if caller is None:
            raise _unauthorized("this API key is not known, or was revoked", 'Bearer error="invalid_token"')
        if needed and needed.isdisjoint(caller.scopes):
            names = " or ".join(sorted(needed))
            has = ", ".join(sorted(caller.scopes)) or "none"
            detail = f"this needs an API key with the scope {names}; this one has {has}"
            raise _Refused(ProblemCode.FORBIDDEN, detail, extensions={"scopes": sorted(needed)})
        return caller

    def _look_soon(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._looking = None
        version = self._keys.version()
        if version != self._version:
            self._version = version
            for held in [held for held in self._open if self._keys.caller(held.presented) != held.caller]:
                log.info("key.revoked_while_open", key=held.caller.name)
                held.revoke()
        if self._open:
            self._look_soon()


class _Refused(RequestRefused):
    """A refusal with headers of its own."""

    headers: Mapping[str, str] | None = None


def _unauthorized(detail: str, challenge: str = "Bearer") -> _Refused:
    refused = _Refused(ProblemCode.UNAUTHORIZED, detail)
    refused.headers = {"WWW-Authenticate": challenge}
    return refused


def _presented(scope: Scope) -> str | None:
    """Give the key that a request carries; None when it carries none.

    Raises:
        _Refused: unauthorized; it carries several, or another kind of login.
    """
    found: set[str] = set()
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            found.add(value.decode("latin-1"))
        elif name == b"authorization":
            text = value.decode("latin-1")
            if not text.lower().startswith(_BEARER):
                raise _unauthorized("an API key is sent as Authorization: Bearer KEY, and in no other way of it")
            found.add(text[len(_BEARER) :].strip())
    if len(found) > 1:
        raise _unauthorized("send one API key, not several")
    return found.pop() if found else None


@dataclass(slots=True, eq=False)
class _Held:
    """A request that goes on, the key that it came with, and the end of its hearing when that is revoked."""

    presented: str = field(repr=False)
    caller: Caller
    inner: Receive
    _revoked: asyncio.Future[None] | None = None
    _is_revoked: bool = False

    def revoke(self) -> None:
        """Let the request seem to have been left by its client."""
        self._is_revoked = True
        if self._revoked is not None and not self._revoked.done():
            self._revoked.set_result(None)

    async def receive(self) -> Message:
        """Give what the client sends, or that it has left."""
        if self._is_revoked:
            return {"type": "http.disconnect"}
        revoked = self._revoked = asyncio.get_running_loop().create_future()
        getting = asyncio.ensure_future(self.inner())
        try:
            await asyncio.wait((getting, revoked), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not getting.done():
                getting.cancel()
                with suppress(asyncio.CancelledError):
                    await getting
        return {"type": "http.disconnect"} if self._is_revoked else getting.result()
