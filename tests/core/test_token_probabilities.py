"""The probabilities of an answer's tokens, out of what llama-server tells with its chunks (R2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.completion_events import TokenProbability
from service.core.token_probabilities import MAX_TOKENS, TokenProbabilities
from tests.core.completion_outcome import content
from tests.core.told_tokens import completed, telling, telling_so, told
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.rules("R2")


def untold(text: str | bytes) -> TokenProbability:
    return TokenProbability(text=text.encode() if isinstance(text, str) else text, logprob=None)


def test_tokens_come_in_the_order_of_the_answer_with_what_else_could_have_stood_there() -> None:
    others = [told(" no", -0.1), told(" yes", -2.5), told(" maybe", -5)]
    done = completed(
        telling("It is", told("It", -0.25), told(" is", 0)), telling(" yes", told(" yes", -2.5, top_logprobs=others))
    )

    assert done.content == "It is yes"
    assert done.tokens == (
        TokenProbability(text=b"It", logprob=-0.25),
        TokenProbability(text=b" is", logprob=0.0),
        TokenProbability(text=b" yes", logprob=-2.5, alternatives=((b" no", -0.1), (b" yes", -2.5), (b" maybe", -5.0))),
    )


def test_tokens_that_were_not_asked_for_are_not_kept() -> None:
    assert completed(telling("Hi", told("Hi")), logprobs=False).tokens == ()


def test_where_the_server_tells_nothing_there_are_no_tokens() -> None:
    assert completed(content("Hi", " there")).tokens == ()


def test_tokens_of_a_thought_and_of_no_text_are_no_tokens_of_the_answer() -> None:
    stream = [
        telling(None, told("```"), role="assistant"),
        telling(None, told("hm"), reasoning_content="hm"),
        telling("Hi", told("Hi")),
        telling("", told("x")),
    ]

    assert completed(*stream).tokens == (TokenProbability(text=b"Hi", logprob=-0.5),)


def test_a_thought_in_tags_is_left_out_even_where_a_token_spans_its_end() -> None:
    parts = ("<think>", "why", "</think>Be", "cause")

    done = completed(*[telling(part, told(part)) for part in parts])

    assert (done.reasoning, done.content) == ("why", "Because")
    assert done.tokens == (untold("Be"), TokenProbability(text=b"cause", logprob=-0.5))


def test_a_thought_in_tags_that_ends_with_a_token_leaves_the_other_tokens_whole() -> None:
    done = completed(*[telling(part, told(part)) for part in ("<think>", "why", "</think>", "Be", "cause")])

    assert done.tokens == (
        TokenProbability(text=b"Be", logprob=-0.5),
        TokenProbability(text=b"cause", logprob=-0.5),
    )


def test_text_that_came_with_the_probability_of_its_last_token_only_keeps_the_rest_without_one() -> None:
    done = completed(telling("ab", told("b", -1)), telling("𓀀", told(b"\x80\x80", -2)))

    assert done.tokens == (
        untold("a"),
        TokenProbability(text=b"b", logprob=-1.0),
        untold("𓀀".encode()[:2]),
        TokenProbability(text=b"\x80\x80", logprob=-2.0),
    )


def test_a_whole_character_with_the_probability_of_its_last_part_has_none() -> None:
    parts = [told(b"\x80", -0.1), told(b"\x81", -3)]
    whole = [told("𓀀", -0.1), told("𓁀", -3)]
    done = completed(
        telling("𓀀", told("𓀀", -0.1, top_logprobs=parts)), telling("𓀀", told("𓀀", -0.1, top_logprobs=whole))
    )

    assert [found.logprob for found in done.tokens] == [None, -0.1]


def test_a_token_of_plain_letters_that_is_missing_among_its_alternatives_keeps_its_probability() -> None:
    others = [told("no", -2), told("so", -3)]

    assert completed(telling("yes", told("yes", -0.1, top_logprobs=others))).tokens[0].logprob == -0.1


def test_flags_are_no_bytes() -> None:
    assert completed(telling("\x01", told("x", bytes=[True])), telling("a", told("a"))).tokens[0] == untold("\x01")


def test_a_token_that_has_no_bytes_is_known_by_its_text() -> None:
    done = completed(telling("é", told("é", bytes=None)), telling("f", {"token": "f", "logprob": -1}))

    assert done.tokens == (
        TokenProbability(text="é".encode(), logprob=-0.5),
        TokenProbability(text=b"f", logprob=-1.0),
    )


def test_what_is_sure_is_not_more_than_sure() -> None:
    assert completed(telling("Hi", told("Hi", 1e-7))).tokens[0].logprob == 0.0


MALFORMED: list[Any] = [
    None,
    "x",
    [],
    {},
    {"content": None},
    {"content": {}},
    {"content": ["x"]},
    {"content": [None]},
    {"content": [told("no")]},
    {"content": [told("no"), told("no")]},
    {"content": [told("no")] * 300},
    *[{"content": [told(" yes", value)]} for value in (None, "x", True, float("nan"), float("-inf"), 0.5, 10**400)],
    *[{"content": [told(" yes", bytes=value)]} for value in ([256], [-1], ["n"], " yes", 7, [110] * 300)],
    {"content": [told("no", bytes=None, token=7)]},
    {"content": [told("x" * 300, bytes=None)]},
]


@pytest.mark.parametrize("logprobs", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_probabilities_are_left_out_and_the_answer_is_whole(logprobs: Any) -> None:
    done = completed(telling("Oh,", told("Oh,")), telling_so(" yes", logprobs))

    assert done.content == "Oh, yes"
    assert done.tokens == (TokenProbability(text=b"Oh,", logprob=-0.5), untold(" yes"))


@pytest.mark.parametrize(
    "alternatives",
    [None, "x", {}, [told("a")] * 33, [told("a"), None], [told("a"), told("b", None)], [told("a"), told("b", bytes=7)]],
)
def test_malformed_alternatives_are_left_out_all_together(alternatives: Any) -> None:
    done = completed(telling("a", told("a", top_logprobs=alternatives)))

    assert done.tokens == (TokenProbability(text=b"a", logprob=-0.5),)


def test_of_an_answer_with_very_many_tokens_none_are_kept() -> None:
    for count, kept in ((MAX_TOKENS, MAX_TOKENS), (MAX_TOKENS + 1, 0)):
        gathering = TokenProbabilities()
        for _ in range(count):
            gathering.take("a", {"content": [told("a")]})
        assert len(gathering.of("a" * count)) == kept
    gathering.take("b", {"content": [told("b")]})
    assert gathering.of("b") == ()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just("a"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "token", "bytes", "logprob", "top_logprobs"]), inner, max_size=4)
    ),
    max_leaves=12,
)
PIECES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
ENTRIES = st.builds(told, PIECES, st.floats(max_value=0), top_logprobs=st.lists(st.builds(told, PIECES), max_size=3))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(PIECES, ANYTHING | st.lists(ENTRIES | ANYTHING, max_size=3)), min_size=1, max_size=6))
def test_whatever_is_told_the_answer_is_the_same_and_its_tokens_joined_are_it(pieces: list[tuple[str, Any]]) -> None:
    stream = [telling_so(text, {"content": said} if isinstance(said, list) else said) for text, said in pieces]

    done = completed(*stream)

    assert done.content == completed(*stream, logprobs=False).content
    assert not done.tokens or b"".join(found.text for found in done.tokens) == done.content.encode()
    assert all(found.logprob is None or found.logprob <= 0 for found in done.tokens)


@pytest.mark.parametrize(
    ("name", "alternatives"),
    [("gates_with_probabilities", 20), ("closed_gate_with_probabilities", 20), ("probabilities_held_back", 2)],
)
def test_each_token_of_a_recorded_answer_is_told(name: str, alternatives: int) -> None:
    done = completed(recorded(name).body)

    assert b"".join(found.text for found in done.tokens).decode() == done.content
    assert {len(found.alternatives) for found in done.tokens} == {alternatives}
    assert set(json.loads(done.content)) <= {"update", "memory", "exit"}


def test_a_recorded_token_that_the_grammar_forced_has_the_models_own_probability() -> None:
    first = completed(recorded("probabilities_held_back").body).tokens[0]

    assert (first.text, round(first.logprob or 0)) == (b"{", -12)
    assert b"{" not in dict(first.alternatives)


def test_of_an_answer_without_text_there_are_no_tokens_and_one_without_text_is_no_token() -> None:
    gathered = TokenProbabilities()
    gathered.take("Hi", {"content": [told("Hi"), told("")]})

    assert gathered.of("Hi") == (TokenProbability(text=b"Hi", logprob=-0.5),)
    assert gathered.of("") == ()
