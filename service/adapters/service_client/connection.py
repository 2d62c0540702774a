"""The HTTP client of one service, and what its failures mean."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast

import httpx

from service import __version__
from service.core.json_types import JsonObject
from service.ports.running_service import ServiceAway, ServiceLost, ServiceRefused, ServiceTrouble

CONNECT_S = 5.0
# Refusals and resources are small; what is longer comes from something else at this address.
_BODY_BYTES = 16 * 1024 * 1024

_NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout)


def build_service_client(url: str, api_key: str | None = None) -> httpx.AsyncClient:
    """Build the client; close it in the end. Nothing of the environment is used, and no redirect is followed (K4).

    The key goes with each request, and all of them go to this address.
    """
    headers = {"User-Agent": f"turnkeeper/{__version__}", "Accept-Encoding": "identity"}
    return httpx.AsyncClient(
        base_url=url,
        headers=headers if api_key is None else {**headers, "Authorization": f"Bearer {api_key}"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(None, connect=CONNECT_S),
        verify=ssl.create_default_context(),
        follow_redirects=False,
        trust_env=False,
    )


@asynccontextmanager
async def answered(client: httpx.AsyncClient, request: httpx.Request) -> AsyncGenerator[httpx.Response]:
    """Send a request and give its answer, whose body is to be read within.

    Raises:
        ServiceAway: nothing answers at the address.
        ServiceLost: the connection broke, also while the body is read.
        ServiceRefused: the service said no.
        ServiceTrouble: something else went wrong.
    """
    try:
        response = await client.send(request, stream=True)
        try:
            if not response.is_success:
                raise await _refusal(response)
            yield response
        finally:
            await response.aclose()
    except _NOT_CONNECTED as error:
        raise ServiceAway("nothing answers there") from error
    except httpx.TransportError as error:
        raise ServiceLost("the connection was lost") from error


async def json_of(response: httpx.Response) -> JsonObject:
    """Read an answer's body.

    Raises:
        ServiceTrouble: it is no JSON object.
    """
    members = _object(await _body(response))
    if members is None:
        raise ServiceTrouble("what answers there is no Turnkeeper")
    return members


async def _refusal(response: httpx.Response) -> ServiceTrouble:
    status = response.status_code
    members = _object(await _body(response))
    detail: object = None if members is None else members.get("detail")
    code: object = None if members is None else members.get("code")
    if isinstance(detail, str):
        return ServiceRefused(status, detail, code if isinstance(code, str) else "")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServiceRefused(status, f"it answered with HTTP status {status}")
    return ServiceTrouble(f"what answers there is no Turnkeeper: HTTP status {status}")


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > _BODY_BYTES:
            return b""
    return bytes(body)


def _object(body: bytes) -> JsonObject | None:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast(JsonObject, value) if isinstance(value, dict) else None


async def next_chunk(chunks: AsyncGenerator[bytes], within_s: float) -> bytes | None:
    """Wait for bytes of a stream; None at its end.

    Raises:
        ServiceLost: nothing came for so long, not even a comment.
    """
    try:
        async with asyncio.timeout(within_s):
            return await anext(chunks, None)
    except TimeoutError as error:
        raise ServiceLost(f"nothing came for {within_s:g} s") from error
