"""Requests go to the address of the settings and nowhere else, whatever an answer or the environment says (K4)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.core.errors import UpstreamHttp
from tests.adapters.every_question import Asked, ask_everything
from tests.adapters.same_answer import answer, serving

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K4")]

BOUND_S = 20
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def assert_told_shortly(asked: Asked, status: int) -> None:
    for name, (text, failure) in asked.items():
        assert f"{status}" in text, name
        assert len(text) < 100, name
        assert isinstance(failure, UpstreamHttp) or "the tool port redirects" in text


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("url", ["{elsewhere}/next", "{elsewhere}", "//{authority}/next", "{own}/again", "/again"])
async def test_no_redirect_of_any_answer_is_followed(status: int, url: str) -> None:
    async with serving(answer(200)) as elsewhere, serving(b"") as server:
        authority = elsewhere.url.removeprefix("http://")
        target = url.format(elsewhere=elsewhere.url, authority=authority, own=server.url)
        server.answer = answer(status, b"Location: " + target.encode())
        async with asyncio.timeout(BOUND_S):
            asked = await ask_everything(server.url)

    assert_told_shortly(asked, status)
    assert elsewhere.connections == 0
    assert len(server.heads) == len(asked)
    assert not [head for head in server.heads if "/again" in head]


@pytest.mark.parametrize(
    "location",
    [
        b"javascript:1",
        b"http://xn--a",
        b"//[",
        b"//xn--",
        b"http://\xff\xfe",
        b"http://h:99999999/",
        b"a:b",
        b"",
    ],
)
async def test_a_redirect_to_what_is_no_address_is_a_failure_like_others(location: bytes) -> None:
    async with serving(answer(302, b"Location: " + location)) as server:
        async with asyncio.timeout(BOUND_S):
            asked = await ask_everything(server.url)

    assert_told_shortly(asked, 302)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_proxies_and_logins_of_the_environment_are_not_used(
    scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (".netrc", "_netrc"):
        (tmp_path / name).write_text(
            "machine 127.0.0.1 login canary password canary\ndefault login canary password x\n"
        )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    async with serving(answer(200)) as proxy, serving(answer(503)) as server:
        for name in PROXIES:
            monkeypatch.setenv(name, proxy.url.replace("//", "//canary:canary@"))
        async with asyncio.timeout(BOUND_S):
            asked = await ask_everything(server.url.replace("http", scheme))

    assert proxy.connections == 0
    assert server.connections >= len(asked)
    assert not [head for head in server.heads if "authorization" in head]


async def test_a_cookie_is_not_kept() -> None:
    async with serving(answer(200, b"Set-Cookie: who=canary; Path=/")) as server:
        async with asyncio.timeout(BOUND_S):
            await ask_everything(server.url.replace("127.0.0.1", "localhost"))
            await ask_everything(server.url.replace("127.0.0.1", "localhost"))

    assert len(server.heads) >= 20
    assert not [head for head in server.heads if "cookie" in head or "canary" in head]
