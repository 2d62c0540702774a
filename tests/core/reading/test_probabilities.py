"""How sure the model was of a gate and of a draft answer, by the probabilities of the tokens (R2, R11)."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.completion_events import TokenProbability
from service.core.reading.probabilities import member_probability, text_probability
from tests.core.told_tokens import completed, token
from tests.recordings.exchanges import recorded

Tokens = list[TokenProbability]

FRONT, BACK = token('{"update":'), token("}")
WAYS: dict[str, Tokens] = {
    "one token": [FRONT, token("true", 0.6, {"false": 0.2}), BACK],
    "with the space": [FRONT, token(" true", 0.6, {" false": 0.2}), BACK],
    "with what follows": [FRONT, token(" true,", 0.6, {" false,": 0.2}), token(' "a": 1}')],
    "with the end": [FRONT, token("true}", 0.6, {"false}\n": 0.2})],
    "with the colon": [token('{"update"'), token(": true", 0.6, {": false": 0.2, ": ": 0.1}), BACK],
    "with the name": [token("{"), token('"update": true', 0.6, {'"update": false': 0.2, '"true": 1': 0.1}), BACK],
    "all in one": [token('{"update":true}', 0.6, {'{"update":false}': 0.2, '{"exit":true}': 0.1})],
    "in two": [FRONT, token(" t", 0.6, {" f": 0.2}), token("rue", 0.9, {"ree": 0.1}), BACK],
    "in letters": [FRONT, *[token(letter, 0.6, {"f": 0.2}) for letter in "true"], BACK],
    "behind a line end": [FRONT, token("\n  "), token("true", 0.6, {"false": 0.2}), BACK],
    "in several spellings": [FRONT, token(" true", 0.3, {"true": 0.2, "\ttru": 0.1, " false": 0.15, "f": 0.05}), BACK],
    "beside what is neither": [FRONT, token(" true", 0.3, {" False": 0.2, " {": 0.3, " ": 0.1, " false": 0.1}), BACK],
    "beside longer words": [FRONT, token("true", 0.6, {"false": 0.2, "falsehood": 0.1, "trueish": 0.1}), BACK],
    "cut off behind it": [FRONT, token("true", 0.6, {"false": 0.2})],
    "cut off in a text": [FRONT, token("true", 0.6, {"false": 0.2}), token(', "memory": "It is so')],
    "behind spaces": [token(' {\n "update" : '), token("true", 0.6, {"false": 0.2}), token("\n }\n")],
}


@pytest.mark.rules("R2")
@pytest.mark.parametrize("tokens", WAYS.values(), ids=WAYS.keys())
def test_a_gate_is_as_likely_as_its_share_of_both_values_however_it_is_cut_into_tokens(tokens: Tokens) -> None:
    assert member_probability(tokens, "update") == pytest.approx(0.75)


@pytest.mark.rules("R2")
def test_the_probability_is_of_the_value_that_was_written_also_when_the_other_is_likelier() -> None:
    assert member_probability([FRONT, token(" false", 0.1, {" true": 0.3}), BACK], "update") == pytest.approx(0.25)


@pytest.mark.rules("R2")
def test_a_token_that_is_not_among_its_alternatives_counts_all_the_same() -> None:
    drawn = TokenProbability(text=b"true", logprob=math.log(0.1), alternatives=((b"false", math.log(0.3)),))

    assert member_probability([FRONT, drawn, BACK], "update") == pytest.approx(0.25)


@pytest.mark.rules("R2", "R4")
def test_text_that_looks_like_a_gate_is_none() -> None:
    traps = [
        token('{"note": {"exit": '), token("true", 0.5, {"false": 0.5}), token('}, "list": [{"exit": true}],'),
        token('"memory": "'), token('\\"exit\\": '), token("true", 0.5, {"false": 0.5}),
        token(', {\\"exit\\":true}", "exit":'),
        token(" false", 0.6, {" true": 0.2}), token("}"),
    ]  # fmt: skip

    assert member_probability(traps, "exit") == pytest.approx(0.75)
    assert member_probability(traps[:-2], "exit") is None


@pytest.mark.rules("R2")
@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "{}", "[]", '[{"update": true}]', "true", '"update": true', 'So: {"update": true}',
        '{"exit": true}', '{"update": "true"}', '{"update": null}', '{"update": 1}', '{"update": {"update": true}}',
        '{"update": tru', '{"update":', '{"update"', '{"up', '{"update": True}', "{'update': true}",
        '{1: 2, "update": true}', '{"update": true, "update": true}', '{"a" "update": true}', '{,"update": true}',
        '{"update": }',
    ],
)  # fmt: skip
def test_where_no_such_gate_was_written_there_is_no_probability(text: str) -> None:
    assert member_probability([token(letter, 0.9) for letter in text], "update") is None
    assert member_probability([token(text, 0.9)], "update") is None


@pytest.mark.rules("R2")
def test_bytes_that_are_no_text_and_no_tokens_at_all_have_no_probability() -> None:
    broken = TokenProbability(text=b"\xff", logprob=0.0)

    assert member_probability([], "update") is None
    assert member_probability([FRONT, token("true"), token(', "memory": "'), broken, token('"}')], "update") is None


@pytest.mark.rules("R2")
def test_where_the_other_value_is_not_told_a_gate_is_at_least_so_sure_or_its_probability_is_not_given() -> None:
    sure = token(" true", 0.995, {" {": 0.001})
    unsure = token(" true", 0.5, {" {": 0.2})
    unlikely = token(" true", 0.01, {" {": 0.9, " [": 0.08})
    last_is_rare = token(" true", 0.5, {" {": 0.2, " [": 0.0001})

    assert member_probability([FRONT, sure, BACK], "update") == pytest.approx(0.995 / 0.999)
    assert member_probability([FRONT, unsure, BACK], "update") is None
    assert member_probability([FRONT, unlikely, BACK], "update") is None
    assert member_probability([FRONT, last_is_rare, BACK], "update") == pytest.approx(0.5 / 0.5008)


@pytest.mark.rules("R2")
def test_without_alternatives_only_a_sure_gate_has_a_probability() -> None:
    def alone(probability: float) -> Tokens:
        return [FRONT, TokenProbability(text=b"true", logprob=math.log(probability)), BACK]

    assert member_probability(alone(0.999), "update") == pytest.approx(0.999)
    assert member_probability(alone(0.9), "update") is None


@pytest.mark.rules("R2")
def test_a_gate_of_which_the_server_told_nothing_or_the_impossible_has_no_probability() -> None:
    impossible = TokenProbability(text=b"true", logprob=-3.4e38, alternatives=((b"false", -0.1),))

    assert member_probability([FRONT, token("true", None), BACK], "update") is None
    assert member_probability([FRONT, impossible, BACK], "update") is None


@st.composite
def cut_objects(draw: st.DrawFn) -> tuple[Tokens, bool]:
    """A step's object in tokens cut anywhere, each as likely as another with the values changed."""
    update, exits = draw(st.booleans()), draw(st.booleans())
    memory = draw(st.sampled_from(["", '"memory": "so ä \\"exit\\": true {", ', '"memory": "😀 \\\\", ']))
    space = draw(st.sampled_from(["", " ", "\n  "]))
    words = {True: "true", False: "false"}
    whole = f'{{"update":{space}{words[update]},{space}{memory}"exit":{space}{words[exits]}}}'.encode()
    cuts = sorted(draw(st.sets(st.integers(1, len(whole) - 1), max_size=12)))
    start = whole.rindex(words[exits].encode())
    tokens: Tokens = []
    for a, b in pairwise([0, *cuts, len(whole)]):
        text = whole[a:b]
        others: tuple[tuple[bytes, float], ...] = ()
        if a <= start < b:
            others = ((text, math.log(0.6)), (text[: start - a] + words[not exits].encode(), math.log(0.2)))
        tokens.append(TokenProbability(text=text, logprob=math.log(0.6), alternatives=others))
    return tokens, exits


@pytest.mark.rules("R2")
@given(cut_objects())
def test_the_cuts_do_not_matter(cut: tuple[Tokens, bool]) -> None:
    tokens, _ = cut

    assert member_probability(tokens, "exit") == pytest.approx(0.75)


DRAFT = [token('{"memory":'), token(' "', 0.3)]


@pytest.mark.rules("R11")
@pytest.mark.parametrize(
    ("tokens", "probability"),
    [
        ([*DRAFT, token("In", 0.5), token(" Rome", 0.8), token('"', 0.9), token("}", 0.1)], 0.36),
        ([*DRAFT, token("In Rome", 0.5), token('"}', 0.9)], 0.45),
        ([token("{"), token('"memory": "In', 0.5), token(' Rome"', 0.9), token("}", 0.1)], 0.45),
        ([token('{"memory": "In Rome"}', 0.5)], 0.5),
        ([*DRAFT, token("In Rome", 0.5), token('"', 0.4, {'",': 0.3, '"}': 0.2, ".": 0.1}), BACK], 0.45),
        ([*DRAFT, token("In", 0.5), token(' Rome"}', 0.4, {' Rome",': 0.5, ' Bonn"}': 0.1})], 0.45),
        ([token('{"memory": '), token('""', 0.7), BACK], 0.7),
        ([token('{"a": "x", "memory": "', 0.1), token("y", 0.5), token('", "b": "z"}', 1.0)], 0.5),
    ],
    ids=["words", "one word", "with the name", "one token", "ends alike", "ends alike with text", "empty", "between"],
)
def test_a_text_is_as_likely_as_all_its_tokens_to_its_end(tokens: Tokens, probability: float) -> None:
    assert text_probability(tokens, "memory") == pytest.approx(probability)


@pytest.mark.rules("R11")
@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [*DRAFT, token("In Rome")],
        [*DRAFT, token("In", None), token(' Rome"}')],
        [*DRAFT, token("In Rome"), token('"}', None)],
        [token('{"memory": true}')],
        [token('{"other": "memory"}')],
        [token('{"memory": "a", "memory": "a"}')],
    ],
    ids=["nothing", "cut off", "not told", "end not told", "no text", "other", "twice"],
)
def test_a_text_that_is_not_whole_or_not_told_has_no_probability(tokens: Tokens) -> None:
    assert text_probability(tokens, "memory") is None


@pytest.mark.rules("R11")
def test_what_is_not_told_outside_of_a_text_does_not_matter() -> None:
    tokens = [token('{"memory": "', None), token("Rome", 0.5), token('"', 0.8), token("}", None)]

    assert text_probability(tokens, "memory") == pytest.approx(0.4)


@pytest.mark.rules("R2", "R11")
def test_the_gates_and_the_memory_of_a_recorded_answer_have_the_servers_probabilities() -> None:
    tokens = completed(recorded("gates_with_probabilities").body).tokens
    of = {found.text: found for found in tokens}

    def share(written: bytes, other: bytes) -> float:
        sums = [
            sum(math.exp(p) for text, p in of[b" " + written].alternatives if text.strip() == word)
            for word in (written, other)
        ]
        return sums[0] / sum(sums)

    assert member_probability(tokens, "update") == pytest.approx(share(b"true", b"false"), abs=0.005)
    assert member_probability(tokens, "exit") == pytest.approx(share(b"false", b"true"), abs=0.005)
    said = math.exp(sum(of[word].logprob or 0 for word in (b"The", b" key", b" is", b" under", b" the", b" mat")))
    ends = [math.exp(p) for text, p in of[b'.",'].alternatives if text.startswith(b'."')]
    assert len(ends) > 1
    assert text_probability(tokens, "memory") == pytest.approx(said * sum(ends))


@pytest.mark.rules("R2")
def test_the_gates_of_a_recorded_useless_chunk_are_less_or_more_sure() -> None:
    tokens = completed(recorded("closed_gate_with_probabilities").body).tokens

    assert [found.text for found in tokens if found.text == b" false"] == [b" false"] * 2
    assert 0.5 < (member_probability(tokens, "update") or 0) < 1
    assert 0.5 < (member_probability(tokens, "exit") or 0) < 1
    assert text_probability(tokens, "memory") is None
