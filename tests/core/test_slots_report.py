"""What `/slots` tells, whatever a build leaves out, and when a prompt moves on (L2, L4)."""

from __future__ import annotations

import pytest

from service.core.json_types import JsonObject, JsonValue
from service.core.slots_report import PromptPlace, SlotsReport, read_slots

FRESH: JsonObject = {"id": 0, "n_ctx": 2048, "speculative": False, "is_processing": False}
USED: JsonObject = {**FRESH, "id_task": 7, "n_prompt_tokens": 300, "n_prompt_tokens_processed": 300}
WORKING: JsonObject = {
    **USED,
    "id": 1,
    "is_processing": True,
    "id_task": 9,
    "n_prompt_tokens_processed": 128,
    "next_token": [{"n_decoded": 0}],
}


@pytest.mark.rules("L2")
@pytest.mark.parametrize(
    ("answer", "report"),
    [
        ([FRESH, FRESH], SlotsReport(works=False)),
        ([USED, FRESH], SlotsReport(works=False)),
        ([], SlotsReport(works=False)),
        (
            [FRESH, WORKING],
            SlotsReport(works=True, prompts=(PromptPlace(slot=1, task=9, processed=128),)),
        ),
        ([{"is_processing": True}], SlotsReport(works=True)),
        ([{"is_processing": True, "id": 1}], SlotsReport(works=True)),
        (
            [{"is_processing": True, "id": 0, "n_prompt_tokens_processed": 5, "id_task": -1}],
            SlotsReport(works=True, prompts=(PromptPlace(slot=0, task=None, processed=5),)),
        ),
        # One that says so is enough, whatever stands beside it.
        ([7, {}, {"is_processing": True}], SlotsReport(works=True)),
    ],
    ids=["fresh", "used", "none", "working", "bare", "without counts", "without task", "among others"],
)
def test_the_slots_tell_whether_one_works(answer: JsonValue, report: SlotsReport) -> None:
    assert read_slots(answer) == report


@pytest.mark.rules("L2")
@pytest.mark.parametrize(
    "answer",
    [None, {}, {"slots": [FRESH]}, "[]", 7, [7], [FRESH, None], [{}], [{"is_processing": 1}], [FRESH, {"id": 1}]],
    ids=repr,
)
def test_an_answer_that_does_not_tell_the_state_of_each_slot_tells_nothing(answer: JsonValue) -> None:
    assert read_slots(answer) is None


def place(processed: int, *, slot: int = 0, task: int | None = 4) -> PromptPlace:
    return PromptPlace(slot=slot, task=task, processed=processed)


def report(*prompts: PromptPlace) -> SlotsReport:
    return SlotsReport(works=bool(prompts), prompts=prompts)


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    ("then", "now", "moved"),
    [
        (report(place(128)), report(place(256)), True),
        (report(place(128, task=None)), report(place(129, task=None)), True),
        (report(place(10, slot=1), place(5)), report(place(6), place(10, slot=1)), True),
        (report(place(128)), report(place(128)), False),
        (report(place(128)), report(place(64)), False),
        (report(place(128)), report(), False),
        (report(), report(place(128)), False),
        (report(place(128)), report(place(256, task=5)), False),
        (report(place(128)), report(place(256, slot=1)), False),
    ],
    ids=["on", "no task", "one of two", "still", "back", "gone", "new", "another task", "another slot"],
)
def test_a_prompt_moves_on_when_the_same_task_in_the_same_slot_is_further(
    then: SlotsReport, now: SlotsReport, moved: bool
) -> None:
    assert now.prompt_moved_since(then) is moved
