"""A call that waits, laid out for a person: every character of it stands there, and none hides (A2, K5)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.cli.chat_question import is_itself, is_json_object, laid_out, question_lines
from service.core.approvals import digest_of
from service.core.ids import SessionId, TurnId
from service.core.records import PendingCall

pytestmark = [pytest.mark.rules("D2", "A2")]

RAW = '{"to": "Ann", "sum": 1.50, "tags": ["a", {}], "none": []}'
NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)


def pending(arguments: str = RAW, **other: object) -> PendingCall:
    session, turn = SessionId("ses_1"), TurnId("trn_1")
    call = PendingCall(
        session=session,
        turn=turn,
        call=3,
        tool_call_id="c3",
        name="pay",
        title="Pay a bill",
        arguments=arguments,
        digest=digest_of(session, turn, 3, "c3", "pay", arguments),
        reason="This tool always asks for an approval.",
        asked_at=NOON,
    )
    return replace(call, **other)  # pyright: ignore[reportArgumentType]


def test_the_arguments_are_laid_out_one_a_line() -> None:
    assert question_lines(pending(), RAW) == [
        "Pay a bill (pay) waits for your decision",
        "  why: This tool always asks for an approval.",
        "  arguments:",
        "    {",
        '      "to": "Ann",',
        '      "sum": 1.50,',
        '      "tags": [',
        '        "a",',
        "        {}",
        "      ],",
        '      "none": []',
        "    }",
    ]


def test_other_arguments_are_called_yours_and_an_end_of_the_time_is_told() -> None:
    lines = question_lines(pending(expires_at=NOON), "{}")

    assert lines[2:] == [
        "  counts as denied at: 2030-01-02 12:00:00 UTC",
        "  your arguments in place of the model's:",
        "    {}",
    ]


@pytest.mark.rules("K5")
def test_nothing_hides_in_it() -> None:
    evil = "\x1b[2J\u202e\x07\u2066\u200b"
    call = pending(f'{{"a": "{evil}"}}', name=evil, title=evil, reason=evil)

    assert all(line.isprintable() for line in question_lines(call, call.arguments))


def test_a_repeated_key_is_seen_and_so_is_a_number_as_it_was_written() -> None:
    assert laid_out('{"a":1,"a":1e3}') == ["{", '  "a": 1,', '  "a": 1e3', "}"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON)
def test_what_is_laid_out_is_the_same_json(value: object) -> None:
    assert json.loads("\n".join(laid_out(json.dumps(value)))) == value


@given(st.text(alphabet='{}[],:"\\ a1', max_size=40))
def test_what_is_no_json_loses_no_character_either(raw: str) -> None:
    def solid(text: str) -> str:
        return "".join(text.split())

    assert solid("".join(laid_out(raw))) == solid(raw)


def test_deep_arguments_are_laid_out_in_bounds() -> None:
    lines = laid_out("[" * 2000 + "]" * 2000)

    assert max(map(len, lines)) < 100


def test_a_digest_of_another_call_is_noticed() -> None:
    assert is_itself(pending())
    assert not is_itself(replace(pending(), arguments="{}"))
    assert not is_itself(replace(pending(), arguments="\ud800"))


@pytest.mark.parametrize(
    ("text", "fits"), [("{}", True), ("[]", False), ("{", False), ("[" * 9999, False), ("", False)]
)
def test_only_an_object_can_be_the_arguments(text: str, fits: bool) -> None:
    assert is_json_object(text) is fits
