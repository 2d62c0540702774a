"""What a child hands over is taken for what it is, and anything else is noticed."""

import io

import pytest

from service.adapters.documents.frames import HEADER, MAX_FRAME_BYTES, BrokenFrame, FrameKind, parse_header, write_frame

pytestmark = [pytest.mark.rules("R1")]


@pytest.mark.parametrize("kind", FrameKind)
def test_a_frame_comes_back_as_it_was_written(kind: FrameKind) -> None:
    out = io.BytesIO()
    write_frame(out, kind, b"payload")

    assert parse_header(out.getvalue()[: HEADER.size]) == (kind, 7)
    assert out.getvalue()[HEADER.size :] == b"payload"


@pytest.mark.parametrize("header", [HEADER.pack(b"X", 1), HEADER.pack(b"T", MAX_FRAME_BYTES + 1)])
def test_a_frame_that_no_child_of_ours_writes_is_broken(header: bytes) -> None:
    with pytest.raises(BrokenFrame):
        parse_header(header)
