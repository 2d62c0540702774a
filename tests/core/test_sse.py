"""Where lines end, what a line means, and how much of it is kept."""

import pytest

from service.core.errors import ModelFailure
from service.core.sse import SseComment, SseDecoder, SseError, SseEvent, SseItem, decoded
from tests.core.stream_cuts import same_for_all_cuts

pytestmark = pytest.mark.rules("L4")


def decode(pieces: list[bytes]) -> list[SseItem]:
    """Read as a stream of a completion is: what is plain takes the short way."""
    decoder = SseDecoder()
    found: list[SseItem] = []
    for piece in pieces:
        payloads = decoder.plain_payloads(piece)
        found += decoder.feed(piece) if payloads is None else [SseEvent(decoded(payload)) for payload in payloads]
    return found


def items(data: bytes) -> list[SseItem]:
    """Read in every way, also with the beginning of another event behind it, which adds nothing."""
    found = same_for_all_cuts(decode, data)
    assert same_for_all_cuts(decode, data + b"data: begun") == found
    return found


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_a_line_ends_at_lf_cr_and_crlf(end: bytes) -> None:
    stream = end.join([b"data: one", b"", b": ping", b"data: two", b"data: three", b"", b""])

    assert items(stream) == [SseEvent("one"), SseComment("ping"), SseEvent("two\nthree")]


def test_line_ends_may_be_mixed() -> None:
    assert items(b"data: a\rdata: b\r\ndata: c\n\rdata: d\r\r") == [SseEvent("a\nb\nc"), SseEvent("d")]


def test_a_cr_at_the_end_of_a_chunk_completes_its_line_at_once() -> None:
    decoder = SseDecoder()

    assert list(decoder.feed(b"data: a\r\r")) == [SseEvent("a")]
    assert list(decoder.feed(b"\ndata: b\n\n")) == [SseEvent("b")]


def test_an_event_has_a_name_until_its_end() -> None:
    assert items(b"event: error\ndata: 1\n\ndata: 2\n\n") == [SseEvent("1", "error"), SseEvent("2")]
    assert items(b"event: x\n\ndata: 1\n\n") == [SseEvent("1")]


def test_data_lines_are_joined_and_lose_one_space_only() -> None:
    assert items(b"data:  two\ndata:none\ndata\ndata:\n\n") == [SseEvent(" two\nnone\n\n")]


def test_an_event_without_data_is_none() -> None:
    assert items(b"\n\nid: 4\nretry: 10\nfoo: bar\nevent\n\n\n") == []


def test_an_event_with_empty_data_is_one() -> None:
    assert items(b"data:\n\n") == [SseEvent("")]


def test_comments_are_items() -> None:
    assert items(b":\n\n: ping\n\n:ping\n\n") == [SseComment(""), SseComment("ping"), SseComment("ping")]
    assert items(b":  a b \n") == [SseComment(" a b ")]


def test_the_error_lines_of_old_builds_are_items_before_their_event_ends() -> None:
    assert items(b'error: {"code":500}\n') == [SseError('{"code":500}')]


def test_an_event_that_the_stream_does_not_end_is_dropped() -> None:
    assert items(b"data: whole\n\ndata: not whole\n") == [SseEvent("whole")]


def test_a_byte_order_mark_is_ignored_at_the_beginning_only() -> None:
    mark = "\ufeff".encode()

    assert items(mark + b"data: a\n\n" + mark + b"data: b\n\ndata: " + mark + b"\n\n") == [
        SseEvent("a"),
        SseEvent("\ufeff"),
    ]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x00", "\ud55c", "😀"])
def test_other_separators_and_odd_characters_stay_inside_their_line(character: str) -> None:
    assert items(f"data: a{character}b\n\n".encode()) == [SseEvent(f"a{character}b")]


def test_invalid_utf8_becomes_the_replacement_character() -> None:
    assert items(b"data: a\xffb\xc3\n\ndata: \xe2\x82\n\n") == [SseEvent("a\ufffdb\ufffd"), SseEvent("\ufffd")]


def read_capped(pieces: list[bytes]) -> tuple[list[SseItem], str | None]:
    """Read with small caps: the items, and what the failure says."""
    decoder = SseDecoder(max_line_bytes=20, max_event_bytes=30)
    found: list[SseItem] = []
    try:
        for piece in pieces:
            for item in decoder.feed(piece):
                found.append(item)  # noqa: PERF402 - what came before the failure counts
    except ModelFailure as failure:
        return found, f"{failure.kind}: {failure.message}"
    return found, None


@pytest.mark.parametrize("length", [19, 20])
def test_a_line_up_to_the_cap_is_read(length: int) -> None:
    line = b"data: ".ljust(length, b"x")

    assert same_for_all_cuts(read_capped, line + b"\n\n") == ([SseEvent(line[6:].decode())], None)


@pytest.mark.parametrize("end", [b"\n\n", b""], ids=["with its end", "without"])
def test_a_line_over_the_cap_is_a_protocol_failure(end: bytes) -> None:
    stream = b"data: 1\n\n" + b":".ljust(21, b"x") + end

    found, message = same_for_all_cuts(read_capped, stream)

    assert found == [SseEvent("1")]
    assert message == "protocol: llama-server sent a line of more than 20 bytes"


def test_a_line_without_end_is_given_up_before_it_is_stored() -> None:
    with pytest.raises(ModelFailure, match="more than 1048576 bytes"):
        decode([b"x" * 65_536] * 17)
    assert decode([b"x" * 65_536] * 16) == []


@pytest.mark.parametrize(
    ("lines", "fits"), [([10, 10, 8], True), ([10, 10, 9], False)], ids=["at the cap", "one above"]
)
def test_the_data_of_one_event_is_capped_with_its_line_ends(lines: list[int], fits: bool) -> None:
    stream = b"".join(b"data: " + b"x" * length + b"\n" for length in lines) + b"\n"

    found, message = same_for_all_cuts(read_capped, stream + b"data: 2\n\n")

    joined = SseEvent("\n".join("x" * length for length in lines))
    said = None if fits else "protocol: llama-server sent an event of more than 30 bytes"
    assert (found, message) == ([joined, SseEvent("2")] if fits else [], said)
