"""The connection to llama-server: whose headers, which way, and what is said when there is none (K4, L7)."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from base64 import b64encode

import httpx
import pytest

from service import __version__
from service.adapters.llama.failures import failure_of_request
from service.adapters.llama.transport import reason_of
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure
from tests.adapters.llama_routes import URL
from tests.adapters.scripted_llama import answer, llama_at, scripted
from tests.recordings.exchanges import recorded
from tests.secrets.canaries import LLAMA_API_KEY, PASSWORD

pytestmark = pytest.mark.anyio

MESSAGES = ({"role": "system", "content": "Be kind."}, {"role": "user", "content": "Grüße 😀"})
ASK = CompletionRequest(messages=MESSAGES, max_tokens=16)
PLAIN = recorded("plain")


@pytest.mark.rules("K4", "L1")
async def test_the_headers_are_ours_alone() -> None:
    async with scripted([PLAIN.raw]) as server, llama_at(server.url, api_key=LLAMA_API_KEY) as llama:
        assert [item async for item in llama.stream(ASK)]

        request = server.requests[0]
        assert request.line == "POST /v1/chat/completions HTTP/1.1"
        assert request.headers == {
            "host": server.url.removeprefix("http://"),
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": f"turnkeeper/{__version__}",
            "authorization": f"Bearer {LLAMA_API_KEY}",
            "connection": "close",
            "content-type": "application/json",
            "content-length": str(len(request.body)),
        }
        assert request.json["messages"] == list(MESSAGES)


@pytest.mark.rules("K4")
async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with scripted([recorded("health").raw]) as server, llama_at(server.url) as llama:
        await llama.check()


@pytest.mark.rules("K4")
async def test_cookies_are_not_kept() -> None:
    ok = answer(200, {"status": "ok"}, "Set-Cookie: a=b")
    async with scripted([ok], [ok]) as server, llama_at(server.url.replace("127.0.0.1", "localhost")) as llama:
        await llama.check()
        await llama.check()

        assert "cookie" not in server.requests[1].headers


@pytest.mark.rules("L1")
async def test_an_address_may_have_a_path_and_a_login() -> None:
    async with scripted([recorded("health").raw]) as server:
        async with llama_at(server.url.replace("//", f"//ann:{PASSWORD}@") + "/llama/") as llama:
            await llama.check()
        request = server.requests[0]

    login = f"ann:{PASSWORD}".encode()
    assert request.line == "GET /llama/health HTTP/1.1"
    assert request.headers["authorization"] == f"Basic {b64encode(login).decode()}"


@pytest.mark.rules("L1")
async def test_a_prompt_of_megabytes_arrives_whole() -> None:
    text = "0123456789abcdef" * 200_000
    async with scripted([PLAIN.raw]) as server, llama_at(server.url) as llama:
        request = CompletionRequest(messages=({"role": "user", "content": text},), max_tokens=16)
        assert [item async for item in llama.stream(request)]

        assert server.requests[0].json["messages"][0]["content"] == text
        assert "transfer-encoding" not in server.requests[0].headers


@pytest.mark.rules("L7")
async def test_a_server_that_is_not_there_is_named_with_what_to_do() -> None:
    async with scripted() as server:
        url = server.url
    async with llama_at(url.replace("//", f"//ann:{PASSWORD}@"), api_key=LLAMA_API_KEY) as llama:
        for asking in (llama.check(), llama.facts(), llama.count_tokens(ASK), anext(llama.stream(ASK))):
            with pytest.raises(ModelFailure) as caught:
                await asking
            assert caught.value.kind is ErrorKind.CONNECT
            assert caught.value.message == (
                f"llama-server can't be reached at {url} (Connection refused): "
                "start it there, or set TURNKEEPER_LLAMA_URL to where it is"
            )


@pytest.mark.rules("L7")
@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (httpx.ConnectError("Name or service not known"), ErrorKind.CONNECT, "(Name or service not known)"),
        (httpx.ConnectTimeout(""), ErrorKind.CONNECT, "(no answer in time)"),
        (httpx.RemoteProtocolError("Server disconnected"), ErrorKind.STREAM_CLOSED, "closed the connection"),
        (httpx.ReadError(""), ErrorKind.STREAM_CLOSED, "closed the connection"),
        (ConnectionResetError(), ErrorKind.STREAM_CLOSED, "closed the connection"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_the_errors_of_another_transport_are_read_as_well(error: Exception, kind: ErrorKind, says: str) -> None:
    failure = failure_of_request(error, URL)

    assert failure.kind is kind
    assert says in failure.message


@pytest.mark.rules("L7")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (OSError(errno.EHOSTUNREACH, "Connect call failed ('10.0.0.1', 8080)"), os.strerror(errno.EHOSTUNREACH)),
        (OSError("Multiple exceptions"), "Multiple exceptions"),
        (ssl.SSLError(1, "certificate verify failed"), "certificate verify failed"),
    ],
    ids=["name", "number", "text", "certificate"],
)
def test_the_reason_why_there_is_no_connection_is_told_in_words(error: OSError, reason: str) -> None:
    assert reason_of(error) == reason
