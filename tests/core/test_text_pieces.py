"""A text out of its pieces."""

from __future__ import annotations

import pytest

from service.core.text_pieces import TextPieces


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 5000])
def test_all_pieces_come_out_in_their_order(count: int) -> None:
    pieces = TextPieces()
    for number in range(count):
        pieces.add(f"{number},")

    text = "".join(f"{number}," for number in range(count))
    assert (pieces.text(), pieces.text(), bool(pieces)) == (text, text, count > 0)
    assert (pieces.take(), pieces.text(), bool(pieces)) == (text, "", False)
