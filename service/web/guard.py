"""What stands before the app: no web page can drive a service on loopback, and no body is read in vain (K1, K2).

Pure ASGI, because every request passes here, streams too. Above: `app.py`. Below: `origins.py` knows the names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.core.errors import ProblemCode, RequestRefused
from service.web.negotiation import JSON, MULTIPART
from service.web.origins import AllowedNames
from service.web.problems import STATUS, problem_response

_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_UPLOADS = frozenset({("POST", "/readings")})
"""Where files may be sent."""


class Guard:
    """Refuse a request before any of the app runs and before its body is read."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: AllowedNames,
        only_this_machine: bool,
        max_body_bytes: int,
        max_upload_bytes: int,
    ) -> None:
        self._app = app
        self._names = names
        self._only_this_machine = only_this_machine
        self._is_our_host = lru_cache(maxsize=256)(names.is_our_host)
        self._body = _Bound("body", max_body_bytes, "max_body_bytes")
        self._upload = _Bound("upload", max_upload_bytes, "max_upload_bytes")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of the server."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            bound = self._check(scope)
        except RequestRefused as refused:
            await problem_response(refused, scope)(scope, receive, send)
            return
        await self._app(scope, _capped(receive, bound), send)

    def _check(self, scope: Scope) -> _Bound:
        told = _told_by(scope)
        # The host first: what is ours is judged by it.
        host = self._checked_host(told)
        if self._only_this_machine:
            _check_peer(scope, told)
        self._check_origin(told, host)
        media_type = _media_type(told.content_type)
        _check_content_type(scope["method"], scope["path"], told, media_type)
        bound = self._upload if media_type == MULTIPART else self._body
        if told.length is not None and int(told.length) > bound.bytes:
            raise RequestRefused(ProblemCode.TOO_LARGE, bound.exceeded)
        return bound

    def _checked_host(self, told: _Told) -> str:
        if len(told.hosts) != 1 or not self._is_our_host(told.hosts[0]):
            detail = "this Host is not answered; allowed_hosts names those that are"
            raise RequestRefused(ProblemCode.WRONG_HOST, detail)
        return told.hosts[0]

    def _check_origin(self, told: _Told, host: str) -> None:
        for origin in told.origins:
            if not self._names.is_allowed_origin(origin, host):
                detail = "pages of this origin may not call the service; allowed_origins names those that may"
                raise RequestRefused(ProblemCode.FORBIDDEN, detail)


@dataclass(slots=True)
class _Told:
    """What the guard judges a request by."""

    hosts: list[str] = field(default_factory=list[str])
    origins: list[str] = field(default_factory=list[str])
    is_forwarded: bool = False
    is_chunked: bool = False
    content_type: str | None = None
    length: str | None = None


def _told_by(scope: Scope) -> _Told:
    """Read the headers once: it is done for each request, and to look for each by itself costs five times as much."""
    told = _Told()
    for name, value in scope["headers"]:
        if name == b"host":
            told.hosts.append(value.decode("latin-1"))
        elif name == b"origin":
            told.origins.append(value.decode("latin-1"))
        elif name == b"forwarded" or name[:12] == b"x-forwarded-":
            told.is_forwarded = True
        elif name == b"transfer-encoding":
            told.is_chunked = True
        # Of several the first counts.
        elif name == b"content-type" and told.content_type is None:
            told.content_type = value.decode("latin-1")
        elif name == b"content-length" and told.length is None:
            told.length = value.decode("latin-1")
    return told


def _check_peer(scope: Scope, told: _Told) -> None:
    """Let only this machine in, and nothing that came through a proxy, as long as there are no API keys (K2).

    Raises:
        RequestRefused: forbidden.
    """
    if told.is_forwarded:
        raise RequestRefused(ProblemCode.FORBIDDEN, "set API keys behind a proxy")
    client: tuple[str, int] | None = scope.get("client")
    if client is None or not _is_loopback(client[0]):
        detail = "without API keys only this machine may call; set API keys to open the service"
        raise RequestRefused(ProblemCode.FORBIDDEN, detail)


@lru_cache(maxsize=256)
def _is_loopback(client: str) -> bool:
    try:
        address = ip_address(client)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _check_content_type(method: str, path: str, told: _Told, media_type: str) -> None:
    """Let a body in only as JSON: a type that a page's form can't send without being asked about first (K1).

    Files come as a form; a page of another origin that sends one is refused by its `Origin`.

    Raises:
        RequestRefused: unsupported_media_type.
    """
    has_body = told.is_chunked or told.length not in (None, "0")
    if not has_body and (told.content_type is None or method not in _METHODS_WITH_BODY):
        return
    taken = (JSON, MULTIPART) if (method, path) in _UPLOADS else (JSON,)
    if media_type not in taken:
        detail = f"a body is read as {' or '.join(taken)} only; send that as Content-Type"
        raise RequestRefused(ProblemCode.UNSUPPORTED_MEDIA_TYPE, detail)


def media_type_of(headers: Headers) -> str:
    """Give the type of a body without its parameters, in small letters; empty where none is named."""
    return _media_type(headers.get("content-type"))


def _media_type(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class _Bound:
    """How many bytes a body may have, and which setting says so."""

    what: str
    bytes: int
    setting: str

    @property
    def exceeded(self) -> str:
        """Say it."""
        article = "an" if self.what == "upload" else "a"
        return f"{article} {self.what} has at most {self.bytes} bytes (setting {self.setting})"


def _capped(receive: Receive, bound: _Bound) -> Receive:
    """Count the body as it comes, for those that don't tell their length."""
    seen = 0

    async def receive_counted() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > bound.bytes:
                # The one type of error that the framework lets through from a body's reading.
                raise HTTPException(STATUS[ProblemCode.TOO_LARGE].code, bound.exceeded)
        return message

    return receive_counted
