"""A body as it arrives: unpacked, and never more of it than the cap."""

import gzip
import tracemalloc
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.capped_body import CappedBody, ReadBody, UnreadableBody

# A loaded machine is no reason to fail.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.rules("X2")


def bytewise(data: bytes) -> list[bytes]:
    return [data[place : place + 1] for place in range(len(data))]


def read(encoding: str, chunks: Iterable[bytes], cap_bytes: int = 1_000) -> tuple[bytes, bool]:
    body = CappedBody(encoding, cap_bytes)
    for chunk in chunks:
        body.feed(chunk)
        if body.is_cut:
            break
    read_body = body.finish()
    return read_body.content, read_body.cut


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_a_plain_body_is_given_as_it_came(encoding: str) -> None:
    assert read(encoding, [b"Gr\xc3", b"\xbc\xc3\x9fe"]) == ("Grüße".encode(), False)
    assert read(encoding, []) == (b"", False)


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP"])
def test_a_packed_body_is_unpacked_however_it_is_split(encoding: str) -> None:
    packed = gzip.compress(b"some text " * 50)

    assert read(encoding, [packed]) == (b"some text " * 50, False)
    assert read(encoding, bytewise(packed)) == (b"some text " * 50, False)


def test_a_packed_body_of_several_members_is_read_to_its_end() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")

    assert read("gzip", [packed]) == (b"one two", False)
    assert read("gzip", bytewise(packed)) == (b"one two", False)


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "identity, gzip", "x"])
def test_an_encoding_that_was_not_offered_is_refused(encoding: str) -> None:
    with pytest.raises(UnreadableBody, match="not offered"):
        CappedBody(encoding, 10)


@pytest.mark.parametrize(
    "packed",
    [b"plain text", gzip.compress(b"text") + b"garbage", zlib.compress(b"text")],
    ids=["not packed", "garbage behind", "zlib"],
)
def test_a_body_that_is_packed_wrongly_is_refused(packed: bytes) -> None:
    with pytest.raises(UnreadableBody, match="packed its answer wrongly"):
        read("gzip", [packed])


@pytest.mark.parametrize("missing", [1, 8, 20])
def test_a_packed_body_without_its_end_is_refused(missing: int) -> None:
    with pytest.raises(UnreadableBody, match="the end is missing"):
        read("gzip", [gzip.compress(b"some text")[:-missing]])


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize(("size", "cut"), [(999, False), (1_000, False), (1_001, True), (5_000, True)])
def test_a_body_is_cut_where_it_is_larger_than_the_cap(encoding: str, size: int, cut: bool) -> None:
    body = b"x" * size
    sent = gzip.compress(body) if encoding else body

    assert read(encoding, [sent]) == (body[:1_000], cut)
    assert read(encoding, bytewise(sent)) == (body[:1_000], cut)


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_bomb_is_unpacked_to_the_cap_and_no_further(encoding: str) -> None:
    content = bytes(20_000_000)
    bomb = gzip.compress(content) if encoding else content
    body = CappedBody(encoding, 1_000)
    tracemalloc.start()
    body.feed(bomb)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 200_000
    assert body.finish() == ReadBody(content=bytes(1_000), cut=True)


def test_packed_bytes_that_hold_nothing_count_as_well() -> None:
    # Empty members unpack to nothing for ever.
    empty = gzip.compress(b"")
    body = CappedBody("gzip", 1_000)
    fed = 0
    while not body.is_cut:
        body.feed(empty)
        fed += len(empty)

    assert fed <= 1_000 + len(empty)
    assert body.finish() == ReadBody(content=b"", cut=True)


@UNHURRIED
@given(st.sampled_from(["", "gzip"]), st.lists(st.binary()), st.integers(0, 50))
def test_any_bytes_give_a_body_within_the_cap_or_are_refused(
    encoding: str, chunks: list[bytes], cap_bytes: int
) -> None:
    try:
        content, cut = read(encoding, chunks, cap_bytes)
    except UnreadableBody:
        return
    assert len(content) <= cap_bytes
    assert encoding or content == b"".join(chunks)[:cap_bytes]
    assert encoding or cut is (len(b"".join(chunks)) > cap_bytes)
