"""The tool port over HTTP: `GET {port}/tools` and `POST {port}/calls` (section 8).

Above: the loop, by the protocol `ToolPort`. Below: httpx over aiohttp. What an answer means is the core's
business (`capped_body.py`, `port_answer.py`); here is only how it is fetched.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
import structlog
from httpx_aiohttp import AiohttpTransport

from service import __version__
from service.codec import format_time
from service.core.capped_body import CappedBody, ReadBody, UnreadableBody
from service.core.errors import ToolPortFailure
from service.core.json_types import JsonObject
from service.core.port_answer import failed_answer, read_answer, read_tool_list
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest

log = structlog.get_logger(__name__)

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Read of one answer, after decompression (X2)."""

LIST_TIMEOUT_S = 10.0
"""For the whole exchange of a list; a port that needs longer can't be told from one that hangs."""

CONNECT_TIMEOUT_S = 5.0

# Servers close idle connections after 2 s or more (gunicorn 2, uvicorn and Node 5). A call that meets such a
# close is lost and can't be repeated, so ours close first.
_KEEPALIVE_S = 1.0

_TROUBLE = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    # What the transport lets through as it is: bad HTTP, headers that can't be written, a closed session.
    aiohttp.ClientError,
    OSError,
    ValueError,
    RuntimeError,
)
"""Everything that an exchange is known to raise."""

_WORDS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((aiohttp.ClientConnectorCertificateError,), "has a certificate that is not trusted"),
    (
        (
            aiohttp.ClientConnectorError,
            aiohttp.ConnectionTimeoutError,
            httpx.ConnectError,
            httpx.ConnectTimeout,
        ),
        "can't be reached",
    ),
    ((aiohttp.ClientResponseError, httpx.RemoteProtocolError), "did not answer in HTTP"),
    (
        (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, httpx.NetworkError),
        "closed the connection before its answer was whole",
    ),
)
"""What is said of a failure: the first line that fits. Foreign words may hold addresses or keys (K5)."""


class _NoExchange(Exception):
    """There is no usable answer; the text completes "the tool port …"."""


def build_tool_client(
    base_url: str, token: str | None, *, connect_timeout_s: float = CONNECT_TIMEOUT_S
) -> httpx.AsyncClient:
    """Build the client for one port: nothing from the environment, no redirects, no cookies (K4)."""
    headers = {
        "User-Agent": f"turnkeeper/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "gzip",
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    tls = ssl.create_default_context()

    def open_session() -> aiohttp.ClientSession:
        # No limit of connections: a call that waits for one would use up the time of its tool.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S, ssl=tls)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)

    return httpx.AsyncClient(
        transport=AiohttpTransport(verify=tls, trust_env=False, client=open_session),
        base_url=base_url,
        headers=headers,
        timeout=httpx.Timeout(None, connect=connect_timeout_s),
        # A cookie would tell one session's calls to another's.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        trust_env=False,
        follow_redirects=False,
    )


class ToolPortHttp:
    """The tool port behind a client that its maker closes."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        list_timeout_s: float = LIST_TIMEOUT_S,
    ) -> None:
        self._client = client
        self._max_body_bytes = max_body_bytes
        self._list_timeout_s = list_timeout_s

    async def list_tools(self) -> Sequence[JsonObject]:
        """Fetch the port's list as it is; checking it is a rule of the core (X3).

        Raises:
            ToolPortFailure: the list can't be had.
        """
        try:
            body = await self._exchange("GET", "tools", timeout_s=self._list_timeout_s)
        except _NoExchange as failure:
            raise ToolPortFailure(f"the tool port {failure}") from failure
        if body.cut:
            raise ToolPortFailure(f"the tool port answered with a list of more than {self._max_body_bytes} bytes")
        return read_tool_list(body.content)

    async def call(self, request: ToolRequest) -> ToolAnswer:
        """Run one call. Whatever goes wrong is an answer with status `failed`, never an exception (X1).

        A cancel closes the connection at once.
        """
        try:
            content = _encoded(request)
        except (ValueError, RecursionError):
            return ToolAnswer(status=AnswerStatus.FAILED, text="the arguments can't be written as JSON")
        try:
            body = await self._exchange(
                "POST",
                "calls",
                timeout_s=request.timeout_ms / 1000,
                content=content,
                headers={
                    "Content-Type": "application/json",
                    # The quotes are part of it: the header is a structured field, its value a string.
                    "Idempotency-Key": f'"{request.idempotency_key}"',
                },
            )
        except _NoExchange as failure:
            return failed_answer(str(failure))
        return read_answer(body.content, cut=body.cut)

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        timeout_s: float,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ReadBody:
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream(method, path, content=content, headers=headers) as response,
            ):
                if response.status_code != HTTPStatus.OK:
                    raise _NoExchange(_told_status(response.status_code))
                return await self._read(response)
        except UnreadableBody as error:
            raise _NoExchange(str(error)) from error
        except TimeoutError as error:
            raise _NoExchange(f"did not answer within {timeout_s:g} s") from error
        except _TROUBLE as error:
            log.warning("tool_port.no_exchange", path=path, error=type(error.__cause__ or error).__name__)
            raise _NoExchange(_told_trouble(error)) from error

    async def _read(self, response: httpx.Response) -> ReadBody:
        body = CappedBody(response.headers.get("Content-Encoding", ""), self._max_body_bytes)
        async for chunk in response.aiter_raw():
            body.feed(chunk)
            if body.is_cut:
                break
        return body.finish()


def _encoded(request: ToolRequest) -> bytes:
    members: JsonObject = {
        "session": request.session,
        "turn": request.turn,
        "call": request.call,
        "tool": request.tool,
        "arguments": request.arguments,
    }
    approval = request.approval
    if approval is not None:
        members["approval"] = {
            "by": approval.by,
            "reason": approval.reason,
            "digest": approval.digest,
            "decided_at": format_time(approval.decided_at),
        }
    return json.dumps(members, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _told_status(status: int) -> str:
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return f"redirects (HTTP {status}), and redirects are not followed"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"refuses our token (HTTP {status})"
    return f"answered with HTTP status {status}"


def _told_trouble(error: Exception) -> str:
    # The transport maps aiohttp's errors to a few of httpx's and keeps the telling one as the cause.
    origin = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError) else error
    return next((words for kinds, words in _WORDS if isinstance(origin, kinds)), "could not be asked")
