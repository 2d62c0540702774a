"""A service without keys is not opened by a proxy, and what a proxy logs holds no key (K2, K5)."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import httpx
import pytest

from tests.fakes.certificate import make_certificate
from tests.proxy.behind import Behind, behind
from tests.proxy.proxies import RUNS
from tests.web.serving import BOUND_S
from tests.web.stepped import settle

pytestmark = pytest.mark.anyio

IN_THE_QUERY = "query-that-holds-a-key"
IN_X_API_KEY = {"X-API-Key": "key-in-a-header-of-its-own"}
IN_AUTHORIZATION = {"Authorization": "Bearer-of-a-key"}


@pytest.mark.rules("K2")
@pytest.mark.parametrize("name", RUNS)
async def test_without_keys_all_that_comes_through_the_proxy_is_refused(name: str, tmp_path: Path) -> None:
    async with behind(tmp_path, RUNS[name], keys=None) as house:
        answers = [await house.http.get(path) for path in ("/", "/sessions")]
        answers.append(await house.http.post("/sessions", json={}))
        direct = await house.service.served.http.get("/sessions")

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert {answer.json()["detail"] for answer in answers} == {"set API keys behind a proxy"}
    assert direct.status_code == 200


def kept_in(logged: str, *secrets: str) -> list[str]:
    return [secret for secret in secrets if secret in logged]


async def statuses_of(http: httpx.AsyncClient) -> list[int]:
    """Ask with a key in each place where one may be put."""
    path = f"/sessions?api_key={IN_THE_QUERY}"
    asked = [await http.get(path, headers=headers) for headers in ({}, IN_X_API_KEY, IN_AUTHORIZATION)]
    return [answer.status_code for answer in asked]


@pytest.mark.rules("K5")
async def test_the_log_of_requests_has_no_key_and_no_query(house: Behind) -> None:
    statuses = await statuses_of(house.http)
    async with asyncio.timeout(BOUND_S):
        while house.proxy.logs().count("/sessions") < len(statuses):
            await settle()

    assert kept_in(house.proxy.logs(), IN_THE_QUERY, *IN_X_API_KEY.values(), *IN_AUTHORIZATION.values()) == []


@pytest.mark.rules("K5")
@pytest.mark.parametrize("name", RUNS)
async def test_the_log_of_failures_has_no_key(name: str, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port: int = nobody.getsockname()[1]
    async with (
        RUNS[name](tmp_path, certificate, port) as proxy,
        httpx.AsyncClient(base_url=proxy.url, verify=certificate.trusted(), trust_env=False) as http,
    ):
        statuses = await statuses_of(http)
    logged = proxy.logs()

    assert statuses == [502, 502, 502]
    assert "refused" in logged
    # What nginx says of failures has the whole line of a request, and nothing can be said against it.
    secrets = [*IN_X_API_KEY.values(), *IN_AUTHORIZATION.values(), *([IN_THE_QUERY] if name == "caddy" else [])]
    assert kept_in(logged, *secrets) == []
