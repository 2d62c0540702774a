"""What `make record` gets from a real llama-server is what the recordings are."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.recordings.record import FOLDER, record

pytestmark = [pytest.mark.live]


@pytest.mark.rules("L4")
def test_a_recording_holds_the_bytes_of_a_whole_exchange(demo_llama: str) -> None:
    address = urlsplit(demo_llama)

    received = record((FOLDER / "plain.request").read_bytes(), address.hostname or "", address.port or 0)

    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"finish_reason":"length"' in received or b'"finish_reason":"stop"' in received
    assert received.endswith(b"0\r\n\r\n")
