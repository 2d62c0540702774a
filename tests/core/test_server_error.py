"""What llama-server says when it refuses (L3); in mid-stream the same objects come, see test_completion.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.core.errors import ContextFull, ErrorKind, UpstreamHttp
from service.core.server_error import MAX_MESSAGE_CHARACTERS, failure_in_stream, failure_of_status
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.rules("L3")

NOT_JSON = "[json.exception.parse_error.101] parse error at line 1, column 15"


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("bad_history_arguments_500", 500, "Failed to parse tool call arguments as JSON"),
        ("bad_json", 400, NOT_JSON),
        ("bad_json.b10434", 500, NOT_JSON),
        ("loading_chat", 503, "llama-server answered 503: Loading model"),
        ("loading_health", 503, "llama-server answered 503: Loading model"),
        ("not_found", 404, "llama-server answered 404: File Not Found"),
        ("unauthorized", 401, "llama-server answered 401: Invalid API Key"),
    ],
)
def test_a_recorded_refusal_keeps_its_status_and_text(name: str, status: int, says: str) -> None:
    exchange = recorded(name)

    failure = failure_of_status(exchange.status, exchange.body.decode())

    assert isinstance(failure, UpstreamHttp)
    assert (failure.kind, failure.status) == (ErrorKind.UPSTREAM_HTTP, status)
    assert says in failure.message


@pytest.mark.parametrize("name", ["context_full", "context_full.b10434"])
def test_a_recorded_full_context_is_one_with_its_counts(name: str) -> None:
    failure = failure_of_status(400, recorded(name).body.decode())

    assert isinstance(failure, ContextFull)
    assert (failure.status, failure.prompt_tokens, failure.context_tokens) == (400, 1499, 512)
    assert failure.message.startswith("request (1499 tokens) exceeds the available context size (512 tokens)")


@pytest.mark.parametrize("status", [400, 413, 500, 503])
def test_a_full_context_is_known_by_its_type_whatever_the_status(status: int) -> None:
    failure = failure_of_status(status, json.dumps({"error": {"type": "exceed_context_size_error"}}))

    assert isinstance(failure, ContextFull)
    assert (failure.status, failure.prompt_tokens, failure.context_tokens) == (status, None, None)


@pytest.mark.parametrize("count", [-1, 1.5, "9", True, 10**20, None])
def test_counts_that_are_none_are_not_told(count: Any) -> None:
    error = {"type": "exceed_context_size_error", "message": "full", "n_prompt_tokens": count, "n_ctx": count}
    failure = failure_of_status(400, json.dumps({"error": error}))

    assert isinstance(failure, ContextFull)
    assert (failure.prompt_tokens, failure.context_tokens) == (None, None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "(no text)"),
        ("  \n", "(no text)"),
        ("<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        ('{"error":"plain"}', "plain"),
        ('{"error":{"code":500}}', '{"code": 500}'),
        ('{"error":{"message":7}}', '{"message": 7}'),
        ('{"error":[1]}', "[1]"),
        ('{"error":null}', '{"error":null}'),
        ('{"error":{"message":"half \\ud83d"}}', "half \ufffd"),
        ('{"detail":"nope"}', '{"detail":"nope"}'),
        ("[1]", "[1]"),
        ('{"error":{"message":"cut', '{"error":{"message":"cut'),
        ("[" * 100_000, "[" * MAX_MESSAGE_CHARACTERS),
    ],
)
def test_any_other_body_is_shown_as_far_as_it_can_be(body: str, said: str) -> None:
    assert failure_of_status(502, body).message == f"llama-server answered 502: {said}"


def test_a_long_message_is_cut() -> None:
    message = failure_in_stream("x" * 100_000).message

    assert message == "llama-server broke off: " + "x" * MAX_MESSAGE_CHARACTERS


@pytest.mark.parametrize("code", [99, 600, "500", True, None, 500.0])
def test_a_code_that_is_no_status_is_not_taken(code: Any) -> None:
    assert failure_in_stream({"code": code, "message": "x"}).status is None


def test_an_error_nested_without_end_is_not_shown() -> None:
    error: Any = []
    for _ in range(100_000):
        error = [error]

    assert failure_in_stream(error).message.endswith("(an error nested too deeply to be shown)")
