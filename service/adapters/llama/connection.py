"""The HTTP client that talks to llama-server, and to nothing else (K4)."""

from __future__ import annotations

import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from service import __version__
from service.adapters.llama.first_bytes import HearingConnector


def build_llama_client(base_url: str, api_key: str | None = None, *, connect_ms: int = 5_000) -> httpx.AsyncClient:
    """Build the client; close it when the service ends.

    There is no deadline but the one for opening a connection, no proxy of the environment, no redirect, no cookie
    and no compression. Each request has a connection of its own: llama-server ends idle ones after a few seconds, and
    a POST that meets that end is lost; also, each idle one keeps one of the server's few threads.
    """
    headers = {"User-Agent": f"turnkeeper/{__version__}", "Accept-Encoding": "identity", "Connection": "close"}
    url = httpx.URL(base_url)
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    context = ssl.create_default_context()
    return httpx.AsyncClient(
        # The transport refuses an address that holds a name and a password; they go into a header.
        base_url=url.copy_with(userinfo=b""),
        auth=httpx.BasicAuth(url.username, url.password) if url.userinfo and not api_key else None,
        headers=headers,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(None, connect=connect_ms / 1000),
        transport=AiohttpTransport(verify=context, client=lambda: _session(context)),
        follow_redirects=False,
        trust_env=False,
    )


def _session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    """Make the session inside the event loop; the gate bounds what runs at once, so the pool need not."""
    return aiohttp.ClientSession(
        connector=HearingConnector(ssl=context, limit=0, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
    )
