"""What answers with no stream: refusals of llama-server, and servers that are none (L3)."""

from __future__ import annotations

import asyncio

import pytest

from service.adapters.llama import LlamaTimes
from service.core.errors import ContextFull, ErrorKind, UpstreamHttp
from tests.adapters.llama_streamed import failure_of, shown
from tests.adapters.scripted_llama import (
    BOUND_S,
    Step,
    answer,
    http_chunk,
    llama_at,
    never,
    scripted,
)
from tests.recordings.exchanges import names, recorded

pytestmark = pytest.mark.anyio

RAW = {name: recorded(name).raw for name in names()}


@pytest.mark.rules("L3")
@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("bad_history_arguments_500", 500, "Failed to parse tool call arguments"),
        ("bad_json", 400, "parse error"),
        ("loading_chat", 503, "Loading model"),
        ("not_found", 404, "File Not Found"),
        ("unauthorized", 401, "Invalid API Key"),
    ],
)
async def test_a_recorded_refusal_is_a_failure_with_status_and_text(name: str, status: int, says: str) -> None:
    failure = await failure_of([RAW[name]])

    assert isinstance(failure, UpstreamHttp)
    assert (failure.kind, failure.status) == (ErrorKind.UPSTREAM_HTTP, status)
    assert says in failure.message


@pytest.mark.rules("L3")
async def test_a_prompt_that_is_too_long_is_a_full_context_with_its_counts() -> None:
    failure = await failure_of([RAW["context_full"]])

    assert isinstance(failure, ContextFull)
    assert (failure.status, failure.prompt_tokens, failure.context_tokens) == (400, 1499, 512)


@pytest.mark.rules("L3", "L8")
async def test_of_an_endless_refusal_only_so_much_is_read() -> None:
    head = b"HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n"
    script = [head, *[http_chunk(b"x" * 1024)] * 50, never]
    async with scripted(script) as server, llama_at(server.url, max_error_body=2_500) as llama:
        failure = (await shown(llama)).failure
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()

    assert failure is not None
    assert failure.message == "llama-server answered 502: " + "x" * 2_500


@pytest.mark.rules("L3")
@pytest.mark.parametrize("last", [[never], []], ids=["silent", "lost"])
async def test_of_a_refusal_that_does_not_end_is_shown_what_came(last: list[Step]) -> None:
    head = b"HTTP/1.1 500 Error\r\nContent-Length: 1000\r\n\r\n"

    failure = await failure_of([head + b"half a text", *last], LlamaTimes(answer_ms=50))

    assert failure.message == "llama-server answered 500: half a text"


@pytest.mark.rules("K4")
async def test_a_redirect_is_not_followed() -> None:
    async with scripted([answer(302, b"", "Location: /elsewhere")], [RAW["plain"]]) as server:
        async with llama_at(server.url) as llama:
            failure = (await shown(llama)).failure
        assert len(server.requests) == 1

    assert isinstance(failure, UpstreamHttp)
    assert failure.status == 302


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ([b"SSH-2.0-OpenSSH_9\r\n"], "does not speak HTTP"),
        ([answer(200, b"<h1>Hello</h1>")], "the answer was application/json, not a stream of events"),
    ],
    ids=["no HTTP", "no stream"],
)
async def test_another_server_at_the_address_is_told_apart(script: list[Step], says: str) -> None:
    failure = await failure_of(script)

    assert failure.kind is ErrorKind.PROTOCOL
    assert says in failure.message
