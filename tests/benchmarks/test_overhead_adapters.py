"""Requests are filled in, as JSON or as a form, and what a setup request gives is found."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs
from uuid import UUID

import pytest

from benchmarks.overhead.adapters import (
    ADAPTERS,
    Adapter,
    Address,
    Setup,
    measured_request,
    setup_request,
)

HERE = Address(host="127.0.0.1", port=8101)
NESTED = Adapter(
    path="/threads/{id}/{uuid}",
    body={
        "thread": "{uuid}",
        "run": "{uuid}",
        "said": ["{prompt}", {"text": "say {prompt}, {id}"}],
        "kept": [7, 0.5, True, None, "{other}", "{}"],
    },
)


def parts_of(request: bytes) -> tuple[list[str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), body


def test_all_places_of_a_body_and_of_its_path_are_filled() -> None:
    head, body = parts_of(measured_request(NESTED, HERE, prompt='a "quoted" {id}', saved="s-1"))
    sent = json.loads(body)

    assert re.fullmatch(r"POST /threads/s-1/[0-9a-f-]{36} HTTP/1\.1", head[0])
    assert sent["said"] == ['a "quoted" {id}', {"text": 'say a "quoted" {id}, s-1'}]
    assert sent["kept"] == [7, 0.5, True, None, "{other}", "{}"]
    assert UUID(sent["thread"]) != UUID(sent["run"])


def test_two_requests_have_uuids_of_their_own() -> None:
    first, second = (json.loads(parts_of(measured_request(NESTED, HERE, prompt=""))[1]) for _ in range(2))

    assert first["thread"] != second["thread"]


def test_the_head_tells_address_type_and_length() -> None:
    head, body = parts_of(measured_request(ADAPTERS["openai"], Address(host="::1", port=1, base="/v9"), prompt="é"))

    assert head[0] == "POST /v9/v1/chat/completions HTTP/1.1"
    assert {"Content-Type: application/json", "Connection: close", f"Content-Length: {len(body)}"} <= set(head)


def test_a_form_is_sent_as_one() -> None:
    adapter = Adapter(path="/runs", form={"message": "{prompt}", "stream": "true", "session": "{uuid}"})
    head, body = parts_of(measured_request(adapter, HERE, prompt="a b&c=d"))
    sent = parse_qs(body.decode())

    assert "Content-Type: application/x-www-form-urlencoded" in head
    assert (sent["message"], sent["stream"]) == (["a b&c=d"], ["true"])
    assert UUID(sent["session"][0])


def test_a_turn_is_asked_of_the_session_that_was_made_for_it() -> None:
    adapter = ADAPTERS["turns"]
    (setup,) = adapter.setup
    made = b'HTTP/1.1 201 Created\r\n\r\n{"id": "ses_01J-x", "owner": null}'

    assert parts_of(setup_request(setup, HERE, prompt="", saved=""))[0][0] == "POST /sessions HTTP/1.1"
    head, body = parts_of(measured_request(adapter, HERE, prompt="Hello", saved=setup.saved(made)))
    assert head[0] == "POST /sessions/ses_01J-x/turns HTTP/1.1"
    assert json.loads(body) == {"content": "Hello"}


def test_a_setup_that_gives_nothing_is_told_with_its_answer() -> None:
    with pytest.raises(ValueError, match=r"/threads answered without 'thread_id': b'HTTP/1\.1 500"):
        Setup(path="/threads", body={}, save="thread_id").saved(b"HTTP/1.1 500 Broken\r\n\r\n{}")
