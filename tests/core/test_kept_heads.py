"""S3: heads as lines that people keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.chain import Head
from service.core.ids import SessionId
from service.core.kept_heads import head_line, read_heads

pytestmark = pytest.mark.rules("S3")

HEADS = st.tuples(
    st.sampled_from([SessionId("ses_a"), SessionId("ses_b")]),
    st.builds(Head, seq=st.integers(1, 10**17), hash=st.binary(min_size=32, max_size=32)),
)


@given(heads=st.lists(HEADS))
def test_heads_are_read_as_they_were_written(heads: list[tuple[SessionId, Head]]) -> None:
    kept = read_heads(head_line(session, head) for session, head in heads)

    read = [
        (session, seq, hash_) for session, by_seq in kept.items() for seq, those in by_seq.items() for hash_ in those
    ]
    assert sorted(read) == sorted({(session, head.seq, head.hash) for session, head in heads})


def test_a_line_has_three_words() -> None:
    assert head_line(SessionId("ses_a"), Head(seq=7, hash=bytes(range(32)))) == (
        "ses_a 7 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    )


def test_empty_lines_comments_and_other_line_ends_do_not_count() -> None:
    assert read_heads(["\n", "# of Monday\n", f"ses_a 1 {'0' * 64}\r\n", "  \n"]) == {"ses_a": {1: {bytes(32)}}}


@pytest.mark.parametrize(
    "line",
    ["ses_a", f"ses_a 0 {'0' * 64}", f"ses_a 1 {'0' * 63}", f"ses_a 1 {'0' * 64} x", f"ses_a -1 {'0' * 64}", "{}"],
)
def test_a_line_that_is_no_head_is_named_by_its_number(line: str) -> None:
    with pytest.raises(ValueError, match="line 3 is no head"):
        read_heads(["", f"ses_a 1 {'0' * 64}", line])
