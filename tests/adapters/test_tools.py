"""The tool port over HTTP: what is sent, and that whatever comes back is an answer."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
import pytest
import respx
from aiohttp.client_reqrep import ConnectionKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service import __version__
from service.adapters.tools import ToolPortHttp, build_tool_client
from service.core.errors import ToolPortFailure
from service.core.ids import SessionId, TurnId
from service.core.labels import DataClass
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest
from service.core.trace_context import own_context
from tests.adapters.scripted_port import (
    BOUND_S,
    Script,
    ScriptedPort,
    as_json,
    response,
    says,
    says_in_turn,
    says_over_and_over,
    says_then_hangs,
)
from tests.secrets.canaries import TOOL_PORT_TOKEN

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X1")]

MIB = 1024 * 1024
SUNNY = {"status": "result", "content": "sunny"}
SUNNY_ANSWER = ToolAnswer(status=AnswerStatus.RESULT, text="sunny")


def request(*, timeout_ms: int = 10_000, arguments: dict[str, Any] | None = None) -> ToolRequest:
    return ToolRequest(
        session=SessionId("ses_1"),
        turn=TurnId("trn_2"),
        call=7,
        tool="get_weather",
        arguments={"city": "Köln"} if arguments is None else arguments,
        timeout_ms=timeout_ms,
        idempotency_key="ses_1/7",
        trace=own_context("trn_2"),
    )


def short(value: object) -> str:
    return repr(value)[:40]


def failed(fault: str) -> ToolAnswer:
    return ToolAnswer(status=AnswerStatus.FAILED, text=f"the tool port {fault}")


@asynccontextmanager
async def scripted(
    script: Script, *, path: str = "", token: str | None = None, max_body_bytes: int = MIB, list_timeout_s: float = 9
) -> AsyncGenerator[tuple[ScriptedPort, ToolPortHttp]]:
    async with ScriptedPort(script) as fake, build_tool_client(fake.url + path, token) as client:
        yield fake, ToolPortHttp(client, max_body_bytes=max_body_bytes, list_timeout_s=list_timeout_s)


@asynccontextmanager
async def routed() -> AsyncGenerator[tuple[respx.Router, ToolPortHttp]]:
    router = respx.Router(base_url="http://port.test", assert_all_called=False)
    transport = httpx.MockTransport(router.async_handler)
    async with httpx.AsyncClient(transport=transport, base_url="http://port.test") as client:
        yield router, ToolPortHttp(client)


async def answer_to(script: Script, *, timeout_ms: int = 10_000) -> ToolAnswer:
    async with scripted(script) as (_, port):
        return await port.call(request(timeout_ms=timeout_ms))


@pytest.mark.rules("X3")
async def test_the_list_of_tools_is_fetched_as_it_is() -> None:
    tools = [{"name": "b", "unknown": [1]}, {"name": "a"}]
    async with scripted(says(as_json({"tools": tools})), path="/base/") as (fake, port):
        assert await port.list_tools() == tools

    assert [sent.line for sent in fake.requests] == ["GET /base/tools HTTP/1.1"]


async def test_a_call_is_posted_with_its_ids_and_its_key() -> None:
    async with scripted(says(as_json(SUNNY)), path="/base", token=TOOL_PORT_TOKEN) as (fake, port):
        assert await port.call(request()) == SUNNY_ANSWER

    (sent,) = fake.requests
    assert sent.line == "POST /base/calls HTTP/1.1"
    assert json.loads(sent.body) == {
        "session": "ses_1",
        "turn": "trn_2",
        "call": 7,
        "tool": "get_weather",
        "arguments": {"city": "Köln"},
    }
    assert "Köln".encode() in sent.body
    del sent.headers["host"], sent.headers["content-length"]
    assert sent.headers == {
        "accept": "application/json",
        "accept-encoding": "gzip",
        "authorization": f"Bearer {TOOL_PORT_TOKEN}",
        "connection": "keep-alive",
        "content-type": "application/json",
        "idempotency-key": '"ses_1/7"',
        "traceparent": own_context("trn_2").traceparent,
        "user-agent": f"turnkeeper/{__version__}",
    }


@pytest.mark.rules("K5")
async def test_without_a_token_there_is_no_authorization() -> None:
    async with scripted(says(as_json(SUNNY))) as (fake, port):
        await port.call(request())

    assert "authorization" not in fake.requests[0].headers


async def test_the_labels_of_an_answer_arrive() -> None:
    labelled = {**SUNNY, "class": "secret", "untrusted": True}

    assert await answer_to(says(as_json(labelled))) == ToolAnswer(
        status=AnswerStatus.RESULT, text="sunny", data_class=DataClass.SECRET, untrusted=True
    )


async def test_separators_of_lines_in_a_result_arrive_unchanged() -> None:
    text = "a\u2028b\u2029c\x85d\r\ne"

    assert (await answer_to(says(as_json({**SUNNY, "content": text})))).text == text


@pytest.mark.rules("K4")
async def test_proxies_and_logins_of_the_environment_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with scripted(says(as_json(SUNNY))) as (fake, port):
        assert await port.call(request()) == SUNNY_ANSWER

    assert "authorization" not in fake.requests[0].headers


@pytest.mark.rules("K4")
@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    moved = response(b"", "Location: /elsewhere", status=f"{status} Moved")
    async with scripted(says(moved)) as (fake, port):
        answer = await port.call(request())
        with pytest.raises(ToolPortFailure, match="redirects"):
            await port.list_tools()

    assert answer == failed(f"redirects (HTTP {status}), and redirects are not followed")
    assert [sent.line.split()[1] for sent in fake.requests] == ["/calls", "/tools"]


@pytest.mark.rules("K4")
async def test_a_cookie_of_one_answer_is_not_sent_with_the_next_call() -> None:
    cookie = as_json(SUNNY, "Set-Cookie: who=first-session; Path=/")
    async with scripted(says(cookie, keep=True)) as (fake, port):
        await port.call(request())
        await port.call(request())

    assert ["cookie" in sent.headers for sent in fake.requests] == [False, False]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (201, "answered with HTTP status 201"),
        (204, "answered with HTTP status 204"),
        (400, "answered with HTTP status 400"),
        (401, "refuses our token (HTTP 401)"),
        (403, "refuses our token (HTTP 403)"),
        (404, "answered with HTTP status 404"),
        (503, "answered with HTTP status 503"),
        (599, "answered with HTTP status 599"),
    ],
)
async def test_any_other_status_is_a_failure_whatever_the_body_says(status: int, fault: str) -> None:
    async with routed() as (router, port):
        router.post("/calls").respond(status, json=SUNNY)
        router.get("/tools").respond(status, json={"tools": []})

        assert await port.call(request()) == failed(fault)
        with pytest.raises(ToolPortFailure) as failure:
            await port.list_tools()

    assert str(failure.value) == f"the tool port {fault}"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "answered with something that is not JSON"),
        (b"Internal error", "answered with something that is not JSON"),
        (b'{"status": "result", "content": "\xff"}', "answered with invalid UTF-8"),
        (b'{"status": "result"}', "answered with a result that has no content"),
        (b'{"status": "result", "content": 1, "class": "top"}', "answered with a class that is not known"),
        (b"[" * 500_000, "answered with something that is not JSON"),
    ],
    ids=short,
)
async def test_a_body_that_is_no_answer_is_a_failure(body: bytes, fault: str) -> None:
    assert await answer_to(says(response(body))) == failed(fault)


def untrusted_certificate() -> httpx.ConnectError:
    key = ConnectionKey("port.test", 443, True, True, None, None, None)
    error = httpx.ConnectError("secret")
    error.__cause__ = aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError())
    return error


@pytest.mark.rules("K5")
@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (httpx.ConnectError("secret"), "can't be reached"),
        (untrusted_certificate(), "has a certificate that is not trusted"),
        (httpx.ReadError("secret"), "closed the connection before its answer was whole"),
        (httpx.RemoteProtocolError("secret"), "did not answer in HTTP"),
        (httpx.UnsupportedProtocol("secret"), "could not be asked"),
        (httpx.InvalidURL("secret"), "could not be asked"),
        (ValueError("secret"), "could not be asked"),
        (RuntimeError("secret"), "could not be asked"),
        (TimeoutError("secret"), "did not answer within 10 s"),
    ],
)
async def test_a_failure_is_told_in_words_that_give_nothing_away(error: Exception, fault: str) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    async with httpx.AsyncClient(transport=httpx.MockTransport(fail), base_url="http://port.test") as client:
        assert await ToolPortHttp(client).call(request()) == failed(fault)


async def test_a_port_that_is_not_there_is_a_failure() -> None:
    async with ScriptedPort(says(b"")) as gone:
        url = gone.url
    async with build_tool_client(url, None) as client:
        port = ToolPortHttp(client)
        assert await port.call(request()) == failed("can't be reached")
        with pytest.raises(ToolPortFailure, match=r"^the tool port can't be reached$"):
            await port.list_tools()


async def test_a_client_that_was_closed_is_a_failure() -> None:
    async with scripted(says(as_json(SUNNY))) as (_, port):
        pass

    assert await port.call(request()) == failed("could not be asked")


@pytest.mark.parametrize(
    "parts",
    [(), (b"HTTP/1.1 200 OK\r\nContent-Le",), (response(b'{"status": "result", ', length=False),)],
    ids=["before the head", "in the head", "in the body"],
)
async def test_a_port_that_hangs_is_left_after_the_time_of_the_tool(parts: tuple[bytes, ...]) -> None:
    async with scripted(says_then_hangs(*parts)) as (fake, port):
        assert await port.call(request(timeout_ms=50)) == failed("did not answer within 0.05 s")
        await asyncio.wait_for(fake.left.wait(), BOUND_S)


async def test_the_time_of_a_tool_is_total_though_bytes_keep_coming() -> None:
    async def drip(fake: ScriptedPort, writer: asyncio.StreamWriter) -> bool:
        await fake.send(writer, response(b"", length=False))
        while True:
            await fake.send(writer, b" ")
            # Only the pace: without it the answer would reach its cap first.
            await asyncio.sleep(0.005)

    async with scripted(drip) as (fake, port):
        assert await port.call(request(timeout_ms=100)) == failed("did not answer within 0.1 s")
        await asyncio.wait_for(fake.left.wait(), BOUND_S)


@pytest.mark.rules("X3")
async def test_a_list_that_does_not_come_is_one_clear_failure() -> None:
    async with scripted(says_then_hangs(), list_timeout_s=0.05) as (_, port):
        with pytest.raises(ToolPortFailure, match=r"^the tool port did not answer within 0\.05 s$"):
            await port.list_tools()


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"", "closed the connection before its answer was whole"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", "closed the connection before its answer was whole"),
        (response(json.dumps(SUNNY).encode())[:-1], "closed the connection before its answer was whole"),
        (
            response(b"3\r\nabc\r\n", "Transfer-Encoding: chunked", length=False),
            "closed the connection before its answer was whole",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "did not answer in HTTP"),
        (b"\x00\x01\x02\x03" * 100, "did not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n", "did not answer in HTTP"),
        (b"HTTP/1.1 two OK\r\n\r\n", "did not answer in HTTP"),
    ],
    ids=short,
)
async def test_half_an_answer_is_a_failure(sent: bytes, fault: str) -> None:
    assert await answer_to(says(sent)) == failed(fault)


async def test_a_call_is_never_sent_twice() -> None:
    # The second call goes out on the connection of the first, and that connection dies.
    async with scripted(says_in_turn([as_json(SUNNY), None])) as (fake, port):
        assert await port.call(request()) == SUNNY_ANSWER
        assert await port.call(request()) == failed("closed the connection before its answer was whole")

    assert len(fake.requests) == 2


async def test_arguments_that_are_no_json_are_a_failure_and_are_not_sent() -> None:
    async with scripted(says(as_json(SUNNY))) as (fake, port):
        for value in (float("nan"), "half \ud800"):
            answer = await port.call(request(arguments={"a": value}))
            assert answer == ToolAnswer(status=AnswerStatus.FAILED, text="the arguments can't be written as JSON")

    assert fake.requests == []


async def test_a_cancel_leaves_the_port_at_once() -> None:
    for parts in ((), (response(b'{"status": "result", ', length=False),)):
        async with scripted(says_then_hangs(*parts)) as (fake, port):
            call = asyncio.create_task(port.call(request()))
            await asyncio.wait_for(fake.arrived.wait(), BOUND_S)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.wait_for(fake.left.wait(), BOUND_S)


async def test_hundreds_of_calls_can_be_in_flight() -> None:
    everyone = asyncio.Barrier(120)

    async def together(fake: ScriptedPort, writer: asyncio.StreamWriter) -> bool:
        async with asyncio.timeout(BOUND_S):
            await everyone.wait()
        return await says(as_json(SUNNY))(fake, writer)

    async with scripted(together) as (_, port):
        answers = await asyncio.gather(*(port.call(request()) for _ in range(120)))

    assert answers == [SUNNY_ANSWER] * 120


@pytest.mark.rules("X2")
async def test_a_packed_answer_is_unpacked() -> None:
    packed = gzip.compress(json.dumps(SUNNY).encode())

    assert await answer_to(says(response(packed, "Content-Encoding: gzip"))) == SUNNY_ANSWER


@pytest.mark.rules("X2")
@pytest.mark.parametrize(
    ("body", "encoding", "fault"),
    [
        (b"\x0b", "br", "packed its answer in a way that was not offered"),
        (b"{}", "gzip, gzip", "packed its answer in a way that was not offered"),
        (b"{}", "gzip", "packed its answer wrongly"),
        (gzip.compress(b"{}")[:-4], "gzip", "packed its answer wrongly: the end is missing"),
    ],
    ids=["brotli", "twice", "not at all", "half"],
)
async def test_an_answer_that_can_not_be_unpacked_is_a_failure(body: bytes, encoding: str, fault: str) -> None:
    assert await answer_to(says(response(body, f"Content-Encoding: {encoding}"))) == failed(fault)


def gzip_bomb(beginning: bytes, mebibytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    parts = [packer.compress(beginning), *(packer.compress(b"a" * MIB) for _ in range(mebibytes))]
    return b"".join([*parts, packer.flush()])


BEGINNING = b'{"status": "result", "class": "public", "untrusted": false, "content": "'


@pytest.mark.rules("X2")
async def test_a_gzip_bomb_is_cut_within_bounded_memory() -> None:
    bomb = gzip_bomb(BEGINNING, 100)
    async with scripted(says(response(bomb, "Content-Encoding: gzip"))) as (_, port):
        tracemalloc.start()
        answer = await port.call(request())
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert len(bomb) < 200_000
    assert (answer.status, answer.cut) == (AnswerStatus.RESULT, True)
    assert answer.text == "a" * (MIB - len(BEGINNING))
    assert peak_bytes < 8 * MIB


@pytest.mark.rules("X2")
@pytest.mark.parametrize("lines", [(), ("Transfer-Encoding: chunked",)], ids=["until it closes", "in chunks"])
async def test_an_answer_without_end_is_cut_and_not_read_further(lines: tuple[str, ...]) -> None:
    part = b"a" * 65_536
    chunk = b"10000\r\n" + part + b"\r\n" if lines else part
    first = b"%x\r\n%s\r\n" % (len(BEGINNING), BEGINNING) if lines else BEGINNING
    endless = says_over_and_over(response(first, *lines, length=False), chunk, times=800)
    async with scripted(endless) as (fake, port):
        tracemalloc.start()
        answer = await port.call(request())
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        await asyncio.wait_for(fake.left.wait(), BOUND_S)

    assert answer == ToolAnswer(
        status=AnswerStatus.RESULT,
        text="a" * (MIB - len(BEGINNING)),
        data_class=DataClass.PUBLIC,
        untrusted=False,
        cut=True,
    )
    # What the sockets between the two hold comes on top of what was read.
    assert fake.sent_bytes < 25 * MIB
    assert peak_bytes < 8 * MIB


@pytest.mark.rules("X2")
async def test_an_answer_of_exactly_the_cap_is_whole() -> None:
    whole = json.dumps({**SUNNY, "content": "a" * 100}).encode()
    for spare, cut in ((0, False), (-1, True)):
        async with scripted(says(response(whole)), max_body_bytes=len(whole) + spare) as (_, port):
            assert (await port.call(request())).cut is cut


@pytest.mark.rules("X2", "X3")
async def test_a_list_that_is_too_large_is_one_clear_failure() -> None:
    endless = says_over_and_over(response(b'{"tools": [', length=False), b" " * 65_536, times=800)
    async with scripted(endless) as (fake, port):
        with pytest.raises(ToolPortFailure, match=r"^the tool port answered with a list of more than 1048576 bytes$"):
            await port.list_tools()
        await asyncio.wait_for(fake.left.wait(), BOUND_S)

    assert fake.sent_bytes < 25 * MIB


RAW = st.lists(
    st.binary(max_size=40)
    | st.sampled_from(
        [
            *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 ", b"HTTP/1.0 200\r\n", b"\r\n", b"\r\n\r\n", b"Location: //[\r\n"),
            *(b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Transfer-Encoding: chunked\r\n", b"5\r\n"),
            *(b"Content-Encoding: gzip\r\n", b"Content-Encoding: \xff\r\n", b'{"status": "result", "content": "'),
            *(b"HTTP/1.1 302 Found\r\n", b"HTTP/1.1 101 Switching\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b'"}'),
        ]
    )
).map(b"".join)


@pytest.mark.rules("X1", "X2")
def test_any_bytes_of_a_port_make_an_answer() -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(RAW | RAW.map(lambda body: b"HTTP/1.1 200 OK\r\n\r\n" + body))
    def check(sent: bytes) -> None:
        answer = runner.run(answer_to(says(sent), timeout_ms=20_000))
        answer.text.encode()
        assert "did not answer within" not in answer.text

    with asyncio.Runner() as runner:
        check()
