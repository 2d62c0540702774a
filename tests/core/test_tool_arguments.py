"""The model's raw arguments: an object that fits the schema, or words that say why not."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.labels import DataClass
from service.core.records import ResultStatus
from service.core.result_text import CallOutcome
from service.core.tool_arguments import (
    ECHO_CHARACTERS,
    MAX_ARGUMENT_LEVELS,
    SHOWN_NAMES,
    ArgumentChecker,
    shown_arguments,
)
from service.core.tool_port import ToolSpec

# A loaded machine is no reason to fail.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.rules("T10")


def spec(name: str, parameters: dict[str, Any] | None = None) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters=parameters or {})


WEATHER = spec(
    "weather",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 500},
            "days": {"type": "integer", "minimum": 1},
            "places": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)
FREE = spec("free")
CHECKER = ArgumentChecker([WEATHER, FREE])


def refused(name: str, raw: str, status: ResultStatus = ResultStatus.BAD_ARGUMENTS) -> str:
    outcome = CHECKER.check(name, raw)
    assert isinstance(outcome, CallOutcome)
    assert outcome.status is status
    assert (outcome.data_class, outcome.untrusted, outcome.cut) == (DataClass.PUBLIC, False, False)
    assert "\n" not in outcome.text
    return outcome.text


def short(value: object) -> str:
    return repr(value)[:40]


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"city": "Lima"}', {"city": "Lima"}),
        ('  {"city": "Lima", "days": 2}\n', {"city": "Lima", "days": 2}),
        ('{"city": "\u2028\u2029\x85 \\ud83d\\ude00"}', {"city": "\u2028\u2029\x85 😀"}),
        ('{"city": "Lima", "days": 2.0}', {"city": "Lima", "days": 2.0}),
        ('{"city": "Lima", "days": ' + "9" * 400 + "}", {"city": "Lima", "days": int("9" * 400)}),
    ],
    ids=short,
)
def test_arguments_that_fit_the_schema_are_given_as_they_are(raw: str, arguments: dict[str, Any]) -> None:
    assert CHECKER.check("weather", raw) == arguments


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "are empty"),
        (" \n", "are empty"),
        ("{", "are not JSON"),
        ('{"city": "Lima"', "are not JSON"),
        ('{"city": "Lima"} and more', "are not JSON"),
        ('{"city": "two\nlines"}', "are not JSON"),
        ("{'city': 'Lima'}", "are not JSON"),
        ("\ufeff{}", "are not JSON"),
        ("null", "must be a JSON object, not null"),
        ("[]", "must be a JSON object, not an array"),
        ('"{}"', "must be a JSON object, not a string"),
        ("true", "must be a JSON object, not a boolean"),
        ("7", "must be a JSON object, not a number"),
        ("7.5", "must be a JSON object, not a number"),
        ('{"city": "a", "city": "a"}', 'have the key "city" twice in one object'),
        ('{"a": [{"b": {"c\\n": 1, "c\\n": 2}}]}', 'have the key "c\\n" twice in one object'),
        ('{"a": NaN}', "hold NaN, which is not JSON"),
        ('{"a": [Infinity]}', "hold Infinity, which is not JSON"),
        ('{"a": -Infinity}', "hold -Infinity, which is not JSON"),
        ('{"a": 1e999}', "hold the number 1e999, which is too large"),
        ('{"a": ' + "9" * 5000 + "}", "hold a number of too many digits"),
        ('{"a": "\\ud800"}', "hold half of a surrogate pair"),
        ('{"a": [{"\\udc00": 1}]}', "hold half of a surrogate pair"),
        ('{"a": "\ud800"}', "hold half of a surrogate pair"),
        (nested(MAX_ARGUMENT_LEVELS + 1), "are nested more than 64 levels deep"),
        (nested(200_000), "are nested more than 64 levels deep"),
        ('{"a":' + "[" * 200_000, "are nested more than 64 levels deep"),
    ],
    ids=short,
)
@pytest.mark.parametrize("name", ["free", "no_such_tool"])
def test_what_is_no_usable_object_is_refused_with_the_reason(name: str, raw: str, reason: str) -> None:
    # Bad arguments come before an unknown tool (T6).
    assert f"{name} was not run: its arguments {reason}" in refused(name, raw)


def test_arguments_may_be_nested_as_deep_as_the_bound() -> None:
    assert CHECKER.check("free", nested(MAX_ARGUMENT_LEVELS)) == json.loads(nested(MAX_ARGUMENT_LEVELS))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"city": 5}', 'at /city: 5 is not of type "string"'),
        ('{"city": "Lima", "days": 0}', "at /days: 0 is less than the minimum of 1"),
        ('{"city": "Lima", "places": ["a", null]}', 'at /places/1: null is not of type "string"'),
        ("{}", '"city" is a required property'),
        ('{"days": 0, "unit": "C"}', '"city" is a required property'),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_words_of_the_validator(raw: str, reason: str) -> None:
    text = refused("weather", raw)

    assert text.startswith("weather was not run: its arguments do not fit the tool's schema: ")
    assert reason in text
    assert text.endswith(f" They were: {raw}")


def test_several_faults_are_told_at_once_but_never_many() -> None:
    raw = json.dumps({"city": "Lima", "places": list(range(100))})
    text = refused("weather", raw)

    assert [f"/places/{place}:" in text for place in range(5)] == [True, True, True, False, False]


def test_long_arguments_are_refused_with_the_first_fault() -> None:
    raw = json.dumps({"city": "Lima", "places": list(range(100_000))})
    text = refused("weather", raw)

    assert "at /places/0: 0 is not of type" in text
    assert "/places/1:" not in text
    assert len(text) < 600


@pytest.mark.parametrize(
    "raw",
    [
        "x" * 1_000_000,
        "\x00" * 1_000_000,
        '{"city": 5, "' + "k" * 1_000_000 + '": "' + "v" * 1_000_000 + '"}',
        '{"places": {"' + "k" * 2_000 + '": 5}}',
        '{"' + "k" * 10_000 + '": 1, "' + "k" * 10_000 + '": 2}',
        "[" * 1_000_000,
    ],
    ids=["noise", "zeros", "long members", "long key", "long twice", "deep"],
)
def test_the_refusal_of_any_noise_is_short(raw: str) -> None:
    assert len(refused("weather", raw)) < 3_000
    assert len(refused("x" * 100_000, "[]")) < 500


@pytest.mark.rules("P4")
def test_the_refusal_quotes_the_first_characters_of_the_raw_text() -> None:
    echoed = "é" * ECHO_CHARACTERS

    assert refused("weather", echoed).endswith(f" They were: {echoed}")
    assert refused("weather", echoed + "b").endswith(f" They were: {echoed}…")


@pytest.mark.rules("K5")
def test_hidden_characters_of_the_raw_text_are_made_visible() -> None:
    raw = '{"a":\t"\x00\x1b[31m\u202e\u2028\x85\u200b\ud800\U000e0041ä😀"\r\n'

    assert refused("weather", raw).endswith(
        ' They were: {"a":\\t"\\u0000\\u001b[31m\\u202e\\u2028\\u0085\\u200b\\ud800\\U000e0041ä😀"\\r\\n'
    )


def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    assert refused("wether", "{}", ResultStatus.UNKNOWN_TOOL) == (
        'There is no tool named "wether". The tools are: weather, free.'
    )


def test_an_unknown_tool_in_a_session_without_tools_is_told_so() -> None:
    outcome = ArgumentChecker([]).check("weather", "{}")

    assert outcome == CallOutcome(
        status=ResultStatus.UNKNOWN_TOOL,
        text='There is no tool named "weather". There are no tools in this session.',
    )


@pytest.mark.parametrize(
    ("count", "end"),
    [(SHOWN_NAMES, ", t49."), (SHOWN_NAMES + 1, ", t49, … and 1 more."), (900, ", t49, … and 850 more.")],
)
def test_at_most_fifty_known_tools_are_named(count: int, end: str) -> None:
    outcome = ArgumentChecker([spec(f"t{number}") for number in range(count)]).check("x", "{}")

    assert isinstance(outcome, CallOutcome)
    assert outcome.text.endswith(end)


def test_the_name_of_an_unknown_tool_is_shown_on_one_short_line() -> None:
    assert 'named "two\\nlines".' in refused("two\nlines", "{}", ResultStatus.UNKNOWN_TOOL)
    assert f'named "{"x" * 64}…".' in refused("x" * 65, "{}", ResultStatus.UNKNOWN_TOOL)


def test_a_stored_schema_that_can_not_be_compiled_refuses_the_call() -> None:
    outcome = ArgumentChecker([spec("old", {"type": "colour"})]).check("old", "{}")

    assert isinstance(outcome, CallOutcome)
    assert outcome.status is ResultStatus.BAD_ARGUMENTS
    assert "can't be checked: the tool's schema is not valid" in outcome.text


def test_a_pattern_that_backtracks_without_end_is_given_up() -> None:
    checker = ArgumentChecker([spec("slow", {"properties": {"a": {"pattern": "^(?=(a+)+b)"}}})])

    assert isinstance(checker.check("slow", json.dumps({"a": "a" * 5_000})), CallOutcome)


@pytest.mark.rules("P4")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (' {"city":  "Lima"}', ' {"city":  "Lima"}'),
        ('{"days": "not of the schema"}', '{"days": "not of the schema"}'),
        ("", "{}"),
        ("[]", "{}"),
        ('{"a": 1, "a": 1}', "{}"),
        ('{"a": NaN}', "{}"),
    ],
)
def test_the_prompt_shows_the_raw_text_of_an_object_and_an_empty_one_for_the_rest(raw: str, shown: str) -> None:
    assert shown_arguments(raw) == shown


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["city", "days", "places"]) | st.text(), inner),
)


@UNHURRIED
@given(st.sampled_from(["weather", "free", "other"]), st.text() | ANYTHING.map(json.dumps))
def test_no_raw_text_is_an_exception(name: str, raw: str) -> None:
    checked = CHECKER.check(name, raw)

    if isinstance(checked, CallOutcome):
        checked.text.encode()
    else:
        assert json.loads(shown_arguments(raw)) == checked
