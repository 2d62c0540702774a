"""JSON of any text is one line for every reader, and the same JSON (H6)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.json_lines import one_line

pytestmark = pytest.mark.rules("H6")

LINE_ENDS = "\u2028\u2029\x85"


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize("end", LINE_ENDS)
def test_what_ends_a_line_for_some_readers_is_escaped(end: str) -> None:
    line = one_line(as_json({"a": f"one{end}two", f"b{end}": 1}))

    assert line.count(b"\\u%04x" % ord(end)) == 2
    assert end.encode() not in line
    assert json.loads(line) == {"a": f"one{end}two", f"b{end}": 1}


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from(f"{LINE_ENDS}a\\\n")))
def test_any_text_stays_what_it_is_on_one_line(text: str) -> None:
    line = one_line(as_json(text))

    assert json.loads(line) == text
    assert len(line.decode().splitlines()) == 1


def test_escapes_change_no_other_text() -> None:
    text = as_json("é\u2027\u202a…中\U0001f370\u0084\u0086")

    assert one_line(text) == text
