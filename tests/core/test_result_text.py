"""How calls end, in the words and with the labels that the model and the log get."""

import pytest

from service.core.labels import DataClass
from service.core.records import ResultStatus
from service.core.result_text import (
    CUT_MARK,
    CallOutcome,
    cancelled,
    interrupted,
    not_run,
    outcome_of,
    over_tool_limit,
)
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolSpec

PUBLIC, INTERNAL, SECRET = DataClass


def spec(data_class: DataClass = PUBLIC, *, untrusted: bool = False) -> ToolSpec:
    return ToolSpec(name="t", description="", parameters={}, data_class=data_class, untrusted=untrusted)


STRICT = spec(SECRET, untrusted=True)


@pytest.mark.parametrize("text", ["18 °C", "", "  ", "line\u2028line\n", '{"a":1}'])
def test_a_result_is_given_to_the_model_as_it_is(text: str) -> None:
    answer = ToolAnswer(status=AnswerStatus.RESULT, text=text)

    assert outcome_of(answer, spec()) == CallOutcome(status=ResultStatus.OK, text=text)


@pytest.mark.rules("X6")
@pytest.mark.parametrize(
    ("of_spec", "of_answer", "expected"),
    [
        (PUBLIC, None, PUBLIC),
        (INTERNAL, None, INTERNAL),
        (PUBLIC, SECRET, SECRET),
        (SECRET, PUBLIC, SECRET),
        (INTERNAL, INTERNAL, INTERNAL),
        (INTERNAL, SECRET, SECRET),
    ],
)
def test_a_result_has_the_higher_class_of_spec_and_answer(
    of_spec: DataClass, of_answer: DataClass | None, expected: DataClass
) -> None:
    answer = ToolAnswer(status=AnswerStatus.RESULT, text="", data_class=of_answer)

    assert outcome_of(answer, spec(of_spec)).data_class is expected


@pytest.mark.rules("X6")
@pytest.mark.parametrize(
    ("of_spec", "of_answer", "expected"),
    [
        (False, None, False),
        (True, None, True),
        (False, True, True),
        (True, False, True),
        (False, False, False),
    ],
)
def test_a_result_is_untrusted_if_spec_or_answer_says_so(of_spec: bool, of_answer: bool | None, expected: bool) -> None:
    answer = ToolAnswer(status=AnswerStatus.RESULT, text="", untrusted=of_answer)

    assert outcome_of(answer, spec(untrusted=of_spec)).untrusted is expected


@pytest.mark.rules("X6")
@pytest.mark.parametrize(
    ("status", "text", "outcome"),
    [
        (AnswerStatus.FAILED, "no such city", (ResultStatus.FAILED, "The tool failed: no such city")),
        (AnswerStatus.FAILED, "", (ResultStatus.FAILED, "The tool failed.")),
        (AnswerStatus.DENIED, "not on a Sunday", (ResultStatus.DENIED, "The call was denied: not on a Sunday")),
        (AnswerStatus.DENIED, " \n", (ResultStatus.DENIED, "The call was denied.")),
    ],
)
def test_a_failure_and_a_denial_are_told_in_public_and_trusted_words(
    status: AnswerStatus, text: str, outcome: tuple[ResultStatus, str]
) -> None:
    answer = ToolAnswer(status=status, text=text, data_class=SECRET, untrusted=True)

    assert outcome_of(answer, STRICT) == CallOutcome(status=outcome[0], text=outcome[1])


def test_a_port_that_asks_for_an_approval_again_has_failed() -> None:
    answer = ToolAnswer(status=AnswerStatus.PENDING_APPROVAL, text="over 100 EUR")

    ended = outcome_of(answer, STRICT)

    assert ended.status is ResultStatus.FAILED
    assert ended.text == "The tool failed: the tool port asked for an approval although the call was approved"


@pytest.mark.rules("X2")
@pytest.mark.parametrize("status", [AnswerStatus.RESULT, AnswerStatus.FAILED, AnswerStatus.DENIED])
def test_the_end_of_a_text_says_that_more_of_it_was_not_read(status: AnswerStatus) -> None:
    outcome = outcome_of(ToolAnswer(status=status, text="beginning", cut=True), spec())

    assert outcome.cut
    assert outcome.text.endswith(f"beginning{CUT_MARK}")


@pytest.mark.rules("X6", "T5")
@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        (not_run("the turn ended"), ResultStatus.NOT_RUN, "The call was not run: the turn ended."),
        (over_tool_limit(8), ResultStatus.NOT_RUN, "limit on batches of tool calls was reached (tool_iterations: 8)"),
        (cancelled(), ResultStatus.CANCELLED, "it may have taken effect"),
        (interrupted(), ResultStatus.INTERRUPTED, "it is unknown whether the call ran"),
    ],
)
def test_what_the_service_says_itself_is_public_and_trusted(
    outcome: CallOutcome, status: ResultStatus, words: str
) -> None:
    assert words in outcome.text
    assert outcome == CallOutcome(status=status, text=outcome.text, limit=outcome.limit)
