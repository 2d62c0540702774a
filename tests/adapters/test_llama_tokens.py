"""Tokens as llama-server tells them: how many a text has, and how likely those of an answer were (R1, R2)."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx
import pytest
import respx

from service.adapters.llama.token_list import listed_tokens
from service.core.completion_events import Completion
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from tests.adapters.llama_routes import mocked
from tests.adapters.scripted_llama import llama_at, scripted
from tests.core.told_tokens import completed
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.anyio

ASK = CompletionRequest(messages=({"role": "user", "content": "Hi"},), max_tokens=16, logprobs=True)
ANSWER = recorded("gates_with_probabilities")
MEBIBYTE = 1024 * 1024
TROUBLES: list[tuple[Exception, ErrorKind]] = [
    (httpx.ConnectError("refused"), ErrorKind.CONNECT),
    (TimeoutError(), ErrorKind.CONNECT),
]


async def answered(request: CompletionRequest) -> Completion:
    async with scripted([ANSWER.raw]) as server, llama_at(server.url) as llama:
        *_, completion = [item async for item in llama.stream(request)]
    assert isinstance(completion, Completion)
    return completion


@pytest.mark.rules("R2")
async def test_an_answer_has_the_probabilities_of_its_tokens_when_they_are_asked_for() -> None:
    asked = await answered(ASK)
    without = await answered(replace(ASK, logprobs=False))

    assert asked == completed(ANSWER.body)
    assert len(asked.tokens) == 21
    assert without == replace(asked, tokens=())


@pytest.mark.rules("R1")
async def test_a_text_is_counted_as_it_would_be_within_a_prompt(router: respx.MockRouter) -> None:
    counting = router.post("/tokenize").respond(200, content=recorded("tokenize").body)
    async with mocked(router) as llama:
        assert await llama.count_text("Grüße 😀, <|im_end|> world") == 10

    sent: httpx.Request = counting.calls.last.request
    assert json.loads(sent.content) == {
        "content": "Grüße 😀, <|im_end|> world", "add_special": False, "parse_special": True,
    }  # fmt: skip


@pytest.mark.rules("R1")
async def test_half_a_surrogate_pair_is_counted_as_a_replacement_character(router: respx.MockRouter) -> None:
    counting = router.post("/tokenize").respond(200, json={"tokens": [1]})
    async with mocked(router) as llama:
        assert await llama.count_text("a\ud83d") == 1

    assert json.loads(counting.calls.last.request.content)["content"] == "a\ufffd"


@pytest.mark.rules("R1")
async def test_a_text_of_a_mebibyte_with_a_token_for_each_byte_is_counted(router: respx.MockRouter) -> None:
    numbers = b",".join([b"151643"] * MEBIBYTE)
    counting = router.post("/tokenize").respond(200, content=b'{"tokens":[' + numbers + b"]}")
    async with mocked(router) as llama:
        assert await llama.count_text("\x01" * MEBIBYTE) == MEBIBYTE

    assert json.loads(counting.calls.last.request.content)["content"] == "\x01" * MEBIBYTE


@pytest.mark.rules("R1")
async def test_an_answer_that_is_longer_than_such_a_text_can_have_is_a_failure(router: respx.MockRouter) -> None:
    router.post("/tokenize").respond(200, content=b'{"tokens":[' + b",".join([b"151643"] * (2 * MEBIBYTE)) + b"]}")
    async with mocked(router) as llama:
        with pytest.raises(ModelFailure, match="more than") as caught:
            await llama.count_text("x")
    assert caught.value.kind is ErrorKind.PROTOCOL


LISTS: list[tuple[bytes, int | None]] = [
    (b'{"tokens":[]}', 0),
    (b'{"tokens":[ ]}', 0),
    (b'{"tokens":[7]}', 1),
    (b'{ "tokens" : [ 7, 8,\n 9 ] }', 3),
    (b'{"model":"m","tokens":[7,8],"count":2}', 2),
    (b"", None),
    (b"{}", None),
    (b"[1,2]", None),
    (b'{"tokens":3}', None),
    (b'{"tokens":null}', None),
    (b'{"tokens":[1,2', None),
    (b'{"tokens":[1,,2]}', None),
    (b'{"tokens":[,1]}', None),
    (b'{"tokens":[1,]}', None),
    (b'{"tokens":[,]}', None),
    (b'{"tokens":["1"]}', None),
    (b'{"tokens":[[1],2]}', None),
    (b'{"tokens":[{"id":1,"piece":"a"}]}', None),
    (b"\xff\xfe", None),
]


@pytest.mark.rules("R1")
@pytest.mark.parametrize(("answer", "count"), LISTS)
async def test_the_numbers_of_a_list_are_counted_and_nothing_else(
    router: respx.MockRouter, answer: bytes, count: int | None
) -> None:
    assert listed_tokens(answer) == count

    router.post("/tokenize").respond(200, content=answer)
    async with mocked(router) as llama:
        if count is not None:
            assert await llama.count_text("x") == count
        else:
            with pytest.raises(ModelFailure, match="without a list of tokens") as caught:
                await llama.count_text("x")
            assert caught.value.kind is ErrorKind.PROTOCOL


@pytest.mark.rules("R1")
async def test_a_server_that_is_away_or_refuses_counts_no_text(router: respx.MockRouter) -> None:
    route = router.post("/tokenize")
    async with mocked(router) as llama:
        for trouble, kind in TROUBLES:
            route.mock(side_effect=trouble)
            with pytest.raises(ModelFailure) as caught:
                await llama.count_text("x")
            assert caught.value.kind is kind
        route.respond(404, json={"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}})
        with pytest.raises(UpstreamHttp, match="File Not Found"):
            await llama.count_text("x")
