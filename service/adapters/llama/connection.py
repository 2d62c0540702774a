"""The HTTP client that talks to llama-server, and to nothing else (K4)."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from service import __version__
from service.adapters.llama.exchange import Exchange, FirstBytes
from service.adapters.llama.transport import LlamaTransport, head_of
from service.core.secret_masking import SecretMasking


class LlamaClient(httpx.AsyncClient):
    """httpx's client, with a way past it for the one request that is sent at each step of each turn.

    The client's own work for a request, cookies, redirects, logins, takes 0.2 ms, of which the whole turn may cost
    1.5; nothing of that is ever wanted here. `transport` is for all other requests, and the same unless it is given.
    """

    def __init__(
        self,
        base_url: httpx.URL | str,
        headers: dict[str, str] | None = None,
        *,
        connect_s: float = 5,
        transport: httpx.AsyncBaseTransport | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self._way = LlamaTransport(ssl.create_default_context())
        self._connect_s = connect_s
        self._masking = SecretMasking(secrets)
        super().__init__(
            base_url=base_url,
            headers=headers,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=httpx.Timeout(None, connect=connect_s),
            transport=transport or self._way,
            follow_redirects=False,
            trust_env=False,
        )
        self._posts: dict[str, tuple[httpx.URL, bytes]] = {}

    def without_secrets(self, text: str) -> str:
        """Give a text of the server's without what it was sent to prove who we are: some repeat it (K5)."""
        return self._masking.masked(text)

    async def post_json(self, path: str, body: bytes, heard: FirstBytes) -> Exchange:
        """Post JSON and give the answer when its head is there, to be closed; errors are those of the transport."""
        if path not in self._posts:
            request = self.build_request("POST", path, headers={"Content-Type": "application/json"}, content=b"?")
            del request.headers["Content-Length"]
            self._posts[path] = request.url, head_of("POST", request.url, request.headers)
        url, head = self._posts[path]
        head = b"%sContent-Length: %d\r\n\r\n" % (head[:-2], len(body))
        return await self._way.send(url, head, body, connect_s=self._connect_s, heard=heard)


def build_llama_client(base_url: str, api_key: str | None = None, *, connect_ms: int = 5_000) -> LlamaClient:
    """Build the client; close it when the service ends.

    There is no deadline but the one for opening a connection, no proxy of the environment, no redirect, no cookie
    and no compression. Each request has a connection of its own: llama-server ends idle ones after a few seconds, and
    a POST that meets that end is lost; also, each idle one keeps one of the server's few threads.
    """
    headers = {"User-Agent": f"turnkeeper/{__version__}", "Accept-Encoding": "identity", "Connection": "close"}
    url = httpx.URL(base_url)
    login = f"{url.username}:{url.password}"
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    elif url.userinfo:
        headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    secrets = (api_key or "", url.password, login)
    return LlamaClient(url.copy_with(userinfo=b""), headers, connect_s=connect_ms / 1000, secrets=secrets)
