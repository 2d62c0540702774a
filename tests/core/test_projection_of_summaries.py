"""What the prompt is behind a summary: a pure function of the log (C1, P2, P4, P8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.baseline import TemplateProfile
from service.core.projection import SHORTENED_BYTES, Projection, shortened
from service.core.records import Outcome, Record, Summary
from tests.core.test_projection import NO_SYSTEM, ONE_CALL, asked, created, ended, project, result, said, user
from tests.fakes.strict_prompt import check_prompt

pytestmark = pytest.mark.rules("C1")


def summary(covers: int, text: str = "They met.", **other: object) -> Summary:
    return Summary(covers=covers, text=text, tokens_before=9, tokens_after=1, **other)  # pyright: ignore[reportArgumentType]


SHOWN = "Summary of the conversation so far:\nThey met."
GOES_ON = f"{SHOWN}\n\nThe conversation goes on with this message:\n\n"
TWO_TURNS: list[Record] = [
    created("Be brief."),
    user("One"),
    said("1"),
    ended(Outcome.ANSWERED),
    user("Two"),
    said("2"),
    ended(Outcome.ANSWERED),
]


def contents(*records: Record) -> list[object]:
    return [message["content"] for message in project(*records)]


def test_between_turns_the_first_kept_message_stands_below_the_summary() -> None:
    assert contents(*TWO_TURNS, summary(4)) == ["Be brief.", f"{GOES_ON}Two", "2"]


@pytest.mark.rules("P4")
def test_where_all_is_covered_the_next_message_joins_the_summary() -> None:
    all_covered = [*TWO_TURNS, summary(7)]
    assert contents(*all_covered) == ["Be brief.", SHOWN]
    assert contents(*all_covered, user("Three")) == ["Be brief.", f"{GOES_ON}Three"]
    projection = Projection()
    for record in all_covered:
        projection.apply(record)
    assert projection.with_question("Three")[-1]["content"] == f"{GOES_ON}Three"
    assert projection.messages[-1]["content"] == SHOWN


def test_a_turn_that_ends_in_vain_behind_a_summary_closes_nothing_twice() -> None:
    assert contents(*TWO_TURNS, summary(7), ended(Outcome.CANCELLED)) == ["Be brief.", SHOWN]


RUNNING: list[Record] = [
    *TWO_TURNS,
    user("Dump"),
    said("", tool_calls=(asked(1),)),
    result(1, "one " * 200),
    said("", tool_calls=(asked(2),)),
    result(2, "two " * 200),
]


@pytest.mark.rules("P2")
def test_within_a_turn_its_message_stays_and_the_batches_behind_the_cut() -> None:
    shown = contents(*RUNNING, summary(10))
    assert shown == ["Be brief.", f"{GOES_ON}Dump", "", "two " * 200]
    assert contents(*RUNNING, summary(12)) == ["Be brief.", f"{GOES_ON}Dump"]


def test_a_later_summary_within_the_same_turn_keeps_its_message_again() -> None:
    more = [*RUNNING, summary(10), said("", tool_calls=(asked(3),)), result(3, "three"), summary(15, "More.")]
    assert contents(*more) == ["Be brief.", f"{GOES_ON.replace('They met.', 'More.')}Dump"]
    assert contents(*more, said("Done."), ended(Outcome.ANSWERED), user("Next"))[2:] == ["Done.", "Next"]


@pytest.mark.rules("P8")
def test_the_system_prompt_stands_above_the_summary_where_it_has_no_role() -> None:
    no_role = [created("Be brief.", NO_SYSTEM), *TWO_TURNS[1:]]
    assert contents(*no_role, summary(4)) == [f"Be brief.\n\n{GOES_ON}Two", "2"]
    assert contents(*no_role, summary(7), user("Three")) == [f"Be brief.\n\n{GOES_ON}Three"]


@pytest.mark.rules("P6")
def test_an_untrusted_summary_has_its_fences() -> None:
    shown = contents(*TWO_TURNS, summary(4, untrusted=True, fence="f" * 16))[1]
    assert f"<untrusted {'f' * 16}>\nThey met.\n</untrusted {'f' * 16}>" in str(shown)


@pytest.mark.parametrize("template", [None, ONE_CALL])
def test_shortened_results_show_head_tail_and_where_the_rest_is(template: TemplateProfile | None) -> None:
    records = [created("Be brief.", template), *RUNNING[1:], summary(0, "", shortened=(1,))]
    shown = contents(*records)
    assert shown[:6] == ["Be brief.", "One", "1", "Two", "2", "Dump"]
    assert len(str(shown[7]).encode()) <= SHORTENED_BYTES
    assert 'read_result {"call": 1, "offset": ' in str(shown[7])
    assert shown[9] == "two " * 200
    again = contents(*records, summary(0, "", shortened=(1, 2)))
    assert again[7] == shown[7]
    assert again[9] != shown[9]
    check_prompt(project(*records))


def test_a_result_that_was_cut_before_tells_of_its_whole_length() -> None:
    cut = replace(result(1, "x" * 400 + "y" * 400), truncated=True, original_bytes=60_000)
    short = shortened(cut).content
    kept = len(short.replace(short[short.index("\n[") : short.index("]\n") + 2], ""))
    assert f"[… {60_000 - kept} of 60000 bytes are left out here" in short


@pytest.mark.rules("C0")
def test_the_least_that_may_stand_before_a_message_is_head_and_summary() -> None:
    projection = Projection()
    for record in RUNNING:
        projection.apply(record)
    least = projection.with_all_summarised("They met.", "Next")
    assert [message["content"] for message in least] == ["Be brief.", f"{GOES_ON}Next"]


def test_a_projection_tells_what_it_is_made_of() -> None:
    projection = Projection()
    assert (projection.begun_with, projection.summary, projection.first_question) == (None, None, "")
    made = summary(4)
    for record in [*TWO_TURNS, made]:
        projection.apply(record)
    assert (projection.begun_with, projection.summary) == (TWO_TURNS[0], made)
    assert (projection.first_question, projection.in_turn) == ("One", False)
    assert [message["content"] for message in projection.head] == ["Be brief."]
    assert projection.with_summary(made) == projection.messages
