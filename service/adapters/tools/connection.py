"""The HTTP client that talks to the tool port, and to nothing else (K4)."""

from __future__ import annotations

import ssl
from base64 import b64encode
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from service import __version__

CONNECT_TIMEOUT_S = 5.0

# Servers close idle connections after 2 s or more (gunicorn 2, uvicorn and Node 5). A call that meets such a
# close is lost and can't be repeated, so ours close first.
_KEEPALIVE_S = 1.0


class _Transport(AiohttpTransport):
    """The way to the port, without the way from there to elsewhere.

    httpx reads where a redirect leads to also where none is followed, and refuses the answer when that is no address.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        response.headers.pop("Location", None)
        return response


def build_tool_client(
    base_url: str, token: str | None, *, connect_timeout_s: float = CONNECT_TIMEOUT_S
) -> httpx.AsyncClient:
    """Build the client for one port: nothing from the environment, no redirects, no cookies (K4).

    A login in the address becomes a header, so that no text that names the address holds it (K5); a token wins.
    """
    url = httpx.URL(base_url)
    headers = {
        "User-Agent": f"turnkeeper/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "gzip",
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    elif url.userinfo:
        login = f"{url.username}:{url.password}".encode()
        headers["Authorization"] = f"Basic {b64encode(login).decode()}"
    tls = ssl.create_default_context()

    def open_session() -> aiohttp.ClientSession:
        # No limit of connections: a call that waits for one would use up the time of its tool.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S, ssl=tls)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)

    return httpx.AsyncClient(
        transport=_Transport(verify=tls, trust_env=False, client=open_session),
        base_url=url.copy_with(userinfo=b""),
        headers=headers,
        timeout=httpx.Timeout(None, connect=connect_timeout_s),
        # A cookie would tell one session's calls to another's.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        trust_env=False,
        follow_redirects=False,
    )
