"""When two requests with one key ask for the same (H3)."""

from __future__ import annotations

import pytest

from service.core.request_key import body_hash

pytestmark = pytest.mark.rules("H3")


@pytest.mark.parametrize(
    "other",
    [
        b'{"b":[1,2.5,null],"a":"\\u00fc"}',
        '{ "a" : "ü",\n"b": [1, 2.50, null] }'.encode(),
        '{"a":"x","a":"ü","b":[1.0,2.5,null]}'.encode(),
    ],
)
def test_white_space_order_of_keys_and_spelling_make_no_other_request(other: bytes) -> None:
    assert body_hash(other) == body_hash('{"a":"ü","b":[1,2.5,null]}'.encode())


@pytest.mark.parametrize(
    "other", [b'{"a":2}', b'{"a":"1"}', b'{"a":true}', b'{"a":1,"b":null}', b"", b"null", b"{", b"[" * 100_000]
)
def test_another_value_is_another_request(other: bytes) -> None:
    assert body_hash(other) != body_hash(b'{"a":1}')


def test_a_missing_body_is_like_null_and_what_is_no_json_counts_by_its_bytes() -> None:
    assert body_hash(b"") == body_hash(b" ") == body_hash(b"null")
    assert body_hash(b"{") == body_hash(b"{")
    assert body_hash(b"{") != body_hash(b"{ ")
    assert body_hash(b'{"a":1e400}') != body_hash(b'{"a":1}')
