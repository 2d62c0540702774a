"""Our own secrets are taken out of what others say (K5)."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from service.core.secret_masking import LEAST_CHARACTERS, MASK, SecretMasking
from tests.secrets.canaries import LLAMA_API_KEY, TOOL_PORT_TOKEN
from tests.secrets.search import canaries_in

pytestmark = pytest.mark.rules("K5")

BOTH = SecretMasking([LLAMA_API_KEY, TOOL_PORT_TOKEN])
WAYS = {
    "plain": LLAMA_API_KEY,
    "percent": quote(LLAMA_API_KEY, safe=""),
    "percent with slashes": quote(LLAMA_API_KEY),
    "json": json.dumps(LLAMA_API_KEY),
    "json with slashes escaped": json.dumps(LLAMA_API_KEY).replace("/", "\\/"),
    "json in json": json.dumps(json.dumps({"key": LLAMA_API_KEY})),
    "base64": b64encode(LLAMA_API_KEY.encode()).decode(),
    "base64 of a login": b64encode(f"ann:{LLAMA_API_KEY}".encode()).decode(),
    "base64 for addresses": urlsafe_b64encode(f"to:{LLAMA_API_KEY}!".encode()).decode(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_masked_however_it_is_written_and_the_rest_stays(way: str) -> None:
    masked = BOTH.masked(f"Invalid key: {WAYS[way]}, sorry")

    assert canaries_in(masked.encode()) == set()
    assert masked.startswith("Invalid key: ")
    assert MASK in masked
    assert masked.endswith(", sorry")


def test_each_of_several_secrets_is_masked_each_time() -> None:
    said = f"{LLAMA_API_KEY} {TOOL_PORT_TOKEN} {LLAMA_API_KEY}"

    assert BOTH.masked(said) == f"{MASK} {MASK} {MASK}"


@pytest.mark.parametrize("length", range(LEAST_CHARACTERS, len(LLAMA_API_KEY)))
def test_the_beginning_of_a_secret_where_the_text_was_cut_is_masked(length: int) -> None:
    assert BOTH.masked(f"Invalid key: {LLAMA_API_KEY[:length]}") == f"Invalid key: {MASK}"


@pytest.mark.parametrize("text", ["", "no", "Invalid key", "turn", "[secret]"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert BOTH.masked(text) == text
    assert SecretMasking().masked(text) == text


def test_a_secret_that_is_too_short_to_be_told_from_words_is_left() -> None:
    assert SecretMasking(["x" * (LEAST_CHARACTERS - 1)]).masked("xxxxxxxxxx") == "xxxxxxxxxx"
    assert SecretMasking(["x" * LEAST_CHARACTERS]).masked("a xxxxxxxx b") == f"a {MASK} b"
