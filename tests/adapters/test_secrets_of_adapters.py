"""However a question fails, nothing that is told of it holds what the request was signed or sent with (K5)."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from service.adapters.llama import build_llama_client
from service.adapters.tools import RequestSigner, ToolPortHttp, build_tool_client
from tests.adapters.every_question import Asked, ask_everything
from tests.adapters.same_answer import answer, serving

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K5")]

TOKEN = "canary-token-5c1d"
API_KEY = "canary-key-77aa"
LOGIN = "canary-user-31:canary-pass-90"
KEY = b"canary-secret-8862-canary-secret"
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
CANARIES = ("canary", "whsec_", base64.b64encode(KEY).decode(), base64.b64encode(LOGIN.encode()).decode(), KEY.hex())


def told_of(asked: Asked) -> str:
    """All that a log could show of the answers and failures, with the causes of these."""
    parts: list[str] = []
    for name, (text, failure) in asked.items():
        parts += [name, text]
        seen: BaseException | None = failure
        while seen is not None:
            parts += [repr(seen), *map(repr, seen.args), *traceback.format_exception(seen)]
            seen = seen.__cause__ or seen.__context__
    return "\n".join(parts)


def authorized(head: str) -> str:
    """The value that a request has in `Authorization`, as servers repeat it in errors."""
    line = next(line for line in head.split("\r\n") if line.startswith("authorization: "))
    return line.removeprefix("authorization: ")


FAULTS: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no HTTP": lambda: b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "half a head": lambda: b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
    "a head without end": lambda: b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
    "refused": lambda: answer(401),
    "forbidden": lambda: answer(403),
    "broken": lambda: answer(500, body=b"no"),
    "not JSON": lambda: answer(200, body=b"<html>"),
    "not UTF-8": lambda: answer(200, body=b"\xff"),
    "another form": lambda: answer(200, body=b"[]"),
    "moved": lambda: answer(302, b"Location: /elsewhere"),
    "moved to nowhere": lambda: answer(302, b"Location: javascript:1"),
    "packed": lambda: answer(200, b"Content-Encoding: br"),
    "packed wrongly": lambda: answer(200, b"Content-Encoding: gzip"),
    "bad chunks": lambda: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


def signer() -> RequestSigner:
    return RequestSigner(SECRET, now=lambda: datetime.now(UTC))


@pytest.mark.parametrize("login", ["", LOGIN], ids=["key and token", "login in the address"])
async def test_no_failure_and_no_log_line_holds_a_secret(
    login: str, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets: dict[str, Any] = {} if login else {"token": TOKEN, "api_key": API_KEY}
    for fault, bytes_of in FAULTS.items():
        with subtests.test(fault), structlog.testing.capture_logs() as lines:
            async with serving(bytes_of()) as server:
                url = server.url.replace("//", f"//{login}@") if login else server.url
                told = told_of(await ask_everything(url, signer=signer(), **secrets))
            # They were sent, so they might have been told.
            sent = [authorized(head) for head in server.heads]
            assert len(sent) >= 10
            for canary in CANARIES:
                assert canary not in told
                assert canary not in str(lines)
                assert canary not in caplog.text
    with subtests.test("gone"), structlog.testing.capture_logs() as lines:
        async with serving(b"") as gone:
            pass
        url = gone.url.replace("//", f"//{login}@") if login else gone.url
        told = told_of(await ask_everything(url, signer=signer(), **secrets))
        assert "can't be reached" in told
        assert not [canary for canary in CANARIES if canary in told + str(lines) + caplog.text]


@pytest.mark.parametrize(
    ("api_key", "login", "sent"),
    [
        (API_KEY, "", API_KEY),
        (None, LOGIN, LOGIN.partition(":")[2]),
        (None, LOGIN, base64.b64encode(LOGIN.encode()).decode()),
    ],
    ids=["key", "password", "login"],
)
async def test_a_server_that_repeats_what_it_refuses_is_not_quoted_with_it(
    api_key: str | None, login: str, sent: str
) -> None:
    body = b'{"error": {"message": "Incorrect API key provided: %s."}}' % sent.encode()
    async with serving(answer(401, body=body)) as server:
        url = server.url.replace("//", f"//{login}@") if login else server.url
        asked = await ask_everything(url, api_key=api_key)

    told, _ = asked["POST /v1/chat/completions"]
    assert told.startswith("llama-server answered 401: Incorrect API key provided: [secret]")
    assert not [name for name in asked if sent in told_of({name: asked[name]})]


async def test_a_login_in_the_address_of_the_port_is_sent_and_a_token_wins_over_it() -> None:
    sent: list[str] = []
    for token in (None, TOKEN):
        async with serving(answer(200, body=b'{"tools": []}')) as server:
            url = server.url.replace("//", "//ann:pass@")
            async with build_tool_client(url, token) as client:
                assert await ToolPortHttp(client).list_tools() == []
            sent.append(authorized(server.heads[0]))

    assert sent == ["Basic YW5uOnBhc3M=".lower(), f"bearer {TOKEN}"]


async def test_no_object_of_the_adapters_shows_a_secret() -> None:
    url = f"http://{LOGIN}@127.0.0.1:9"
    async with build_tool_client(url, TOKEN) as tools, build_llama_client(url, API_KEY) as llama:
        port = ToolPortHttp(tools, signer=signer())
        shown = [repr(thing) for thing in (tools, llama, port, signer(), tools.base_url, llama.base_url)]
        shown += [str(tools.base_url), str(llama.base_url), repr(tools.headers), repr(llama.headers)]

    assert not [canary for canary in CANARIES if canary in "".join(shown)]
