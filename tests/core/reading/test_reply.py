"""What counts as a reply about a chunk, and what doesn't (R3, R4)."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.reading.reply import CandidateCut, Gates, NotParsed, read_reply

pytestmark = [pytest.mark.rules("R4")]


def test_both_forms_are_read_with_white_space_around_or_not() -> None:
    assert read_reply('{"update": false, "exit": true}', "stop") == Gates(update=False, candidate=None, exit=True)
    said = ' \n{"update":true,"memory":"So \\"it\\" is.","exit":false}\n'
    assert read_reply(said, "stop") == Gates(update=True, candidate='So "it" is.', exit=False)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "true",
        "update: true, exit: false",
        'Sure: {"update": false, "exit": false}',
        '{"update": false, "exit": false} That is all.',
        '```json\n{"update": false, "exit": false}\n```',
        '{"update": false, "exit": false}{"update": true, "memory": "x", "exit": false}',
        '[{"update": false, "exit": false}]',
        '{"update": "false", "exit": false}',
        '{"update": 0, "exit": 0}',
        '{"update": null, "exit": false}',
        '{"update": false}',
        '{"exit": false}',
        '{"update": true, "exit": false}',
        '{"update": true, "memory": null, "exit": false}',
        '{"update": true, "memory": ["a"], "exit": false}',
        '{"update": true, "memory": " \\n", "exit": false}',
        '{"update": true, "memory": "\\ud800", "exit": false}',
        '{"update": false, "memory": "kept all the same", "exit": false}',
        '{"update": false, "exit": false, "sure": true}',
        '{"update": false, "update": true, "memory": "x", "exit": false}',
        '{"update": false, "exit": false, "exit": true}',
        '{"Update": false, "Exit": false}',
        '{"gates": {"update": false, "exit": false}}',
        '{"update": NaN, "exit": false}',
        "[" * 100_000,
        "9" * 10_000,
    ],
    ids=lambda said: said[:40],
)
def test_anything_else_is_not_parsed(said: str) -> None:
    assert isinstance(read_reply(said, "stop"), NotParsed)


@pytest.mark.rules("R3")
def test_a_reply_that_ran_out_of_tokens_is_cut_only_within_a_candidate() -> None:
    assert read_reply('{"update": true, "memory": "It goes', "length") == CandidateCut()
    assert read_reply(' {\n"update" : true ,"memory":"', "length") == CandidateCut()
    assert isinstance(read_reply('{"update": true, "memory": "It goes', "stop"), NotParsed)
    assert isinstance(read_reply('{"update": true', "length"), NotParsed)
    assert isinstance(read_reply('{"update": false, "exit"', "length"), NotParsed)
    assert isinstance(read_reply('I say {"update": true, "memory": "It goes', "length"), NotParsed)
    # Whole in spite of it: the last token that it may write was the last that it had to.
    assert isinstance(read_reply('{"update": false, "exit": true}', "length"), Gates)


@pytest.mark.rules("R11")
def test_a_draft_is_read_where_it_was_asked_for_and_nowhere_else() -> None:
    drafted = '{"update": false, "exit": false, "answer": "Rome"}'
    assert read_reply(drafted, "stop", with_draft=True) == Gates(update=False, candidate=None, exit=False, draft="Rome")
    assert isinstance(read_reply(drafted, "stop"), NotParsed)
    assert isinstance(read_reply('{"update": false, "exit": false}', "stop", with_draft=True), NotParsed)


@given(st.text(), st.sampled_from(["stop", "length", "content_filter"]), st.booleans())
def test_no_text_makes_it_fail(said: str, finish_reason: str, with_draft: bool) -> None:
    read_reply(said, finish_reason, with_draft=with_draft)


def test_ten_thousand_damaged_replies_give_no_gate_that_was_not_written_whole() -> None:
    draw = random.Random(7)
    wholes = ['{"update": false, "exit": false}', '{"update": true, "memory": "the key", "exit": true}']
    for _ in range(10_000):
        characters = list(draw.choice(wholes))
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(characters))
            match draw.randrange(3):
                case 0:
                    del characters[place]
                case 1:
                    characters.insert(place, draw.choice('{}[]":,tfn0 \\x'))
                case _:
                    characters[place] = draw.choice('{}[]":,tfn0 \\x')
            if not characters:
                characters = ["x"]
        said = "".join(characters)
        reply = read_reply(said, draw.choice(["stop", "length"]))
        if isinstance(reply, Gates):
            members = json.loads(said)
            assert (reply.update, reply.exit) == (members["update"], members["exit"])
            assert members["update"] is True or members["update"] is False
