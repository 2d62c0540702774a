"""What typed lines mean in a chat, and what a session's records say in brief."""

from __future__ import annotations

import pytest

from service.cli.chat_commands import Command, Unknown, help_lines, meaning_of
from service.cli.chat_history import LOG_SHOWN, TURNS_SHOWN, last_turn, log_lines, turns_in_brief
from service.cli.chat_text import GrowingText
from service.core.json_types import JsonObject

pytestmark = [pytest.mark.rules("D2")]

USAGE = dict.fromkeys(
    ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens", "completions", "tool_calls"), 0
)


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("Hello ", "Hello"),
        ("", ""),
        ("/quit", Command.QUIT),
        (" /log ", Command.LOG),
        ("//quit", "/quit"),
        ("/of no kind", Unknown(name="of no kind")),
        ("/Quit", Unknown(name="Quit")),
        ("a/b", "a/b"),
    ],
)
def test_commands_are_told_from_messages(line: str, meaning: Command | Unknown | str) -> None:
    assert meaning_of(line) == meaning


def test_the_help_names_each_command() -> None:
    assert [line.split()[0] for line in help_lines()[:-1]] == [f"/{command}" for command in Command]


def record(kind: str, seq: int, **members: object) -> JsonObject:
    time = "2030-01-02T09:30:00.000000Z"
    return {"type": kind, "seq": seq, "session": "ses_1", "turn": f"trn_{seq // 10}", "time": time, **members}


def a_turn(number: int, answer: str | None = "Yes.", outcome: str = "answered") -> list[JsonObject]:
    end = {"steps": 1, "usage": USAGE, "totals": {}, "truncated": False, "content": answer}
    return [
        record("user", 10 * number, content=f"Question {number}\nmore", options={}),
        record("turn_finished", 10 * number + 1, outcome=outcome, **end),
    ]


def test_the_last_turns_are_shown_in_brief() -> None:
    records = [one for number in range(1, 6) for one in a_turn(number)] + a_turn(6, "\n".join("abcdefghi"), "cancelled")

    lines = [note.text for note in turns_in_brief(records)]

    assert TURNS_SHOWN == 3
    assert lines == [
        *("> Question 4", "Yes.", "> Question 5", "Yes.", "> Question 6"),
        *("a", "b", "c", "d", "e", "f", "… and 3 lines more", "(it ended with cancelled)"),
    ]


def test_a_turn_that_is_not_at_its_end_is_the_last_one_but_is_not_in_the_brief() -> None:
    records = [*a_turn(1), record("user", 20, content="Still going", options={})]

    asked = last_turn(records)

    assert asked is not None
    assert (asked.turn, asked.content) == ("trn_2", "Still going")
    assert len(turns_in_brief(records)) == 2
    assert last_turn([]) is None


@pytest.mark.rules("K5")
def test_the_log_is_a_line_for_each_of_the_last_records() -> None:
    call = {"call": 1, "tool_call_id": "c1", "name": "clock", "arguments": '{"a":\n1}'}
    records = [
        *(record("usage", seq) for seq in range(1, 20)),
        record("tool_call_started", 20, **call),
        record("of a \x1b later version", 21),
        record("user", 22, content="x" * 500, options={}),
        {},
    ]

    lines = [note.text for note in log_lines(records)]

    assert len(lines) == LOG_SHOWN
    assert lines[-4] == '    20  2030-01-02T09:30:00  tool_call_started   clock {"a":\\n1}'
    assert all(line.isprintable() and len(line) <= 120 for line in lines)


def test_a_text_takes_what_is_new_of_each_piece() -> None:
    text = GrowingText()

    assert text.grow("abc", 0) == (False, "abc")
    assert text.grow("bcd", 1) == (False, "d")
    assert text.become("abcdef") == (False, "ef")
    assert text.grow("xyz", 0) == (True, "xyz")
    assert text.become("no") == (True, "no")
    assert text.tokens == 1
