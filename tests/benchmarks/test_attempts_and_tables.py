"""Attempts are bounded and judged; tables show a row for each rival, whatever came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from benchmarks.reading.attempts import Attempt, Outcome, attempt, not_run
from benchmarks.reading.failures import AttemptFailed, DoesNotFit
from benchmarks.reading.placing import Span
from benchmarks.reading.report import JSON_FILE, MARKDOWN_FILE, write
from benchmarks.reading.rivals.rival import RivalAnswer
from benchmarks.reading.spent import Meter, Spent
from benchmarks.reading.summary import cost_table, kind_table, notes
from benchmarks.reading.tasks import Kind, Task, make_task
from benchmarks.reading.texts import WordListText

pytestmark = [pytest.mark.anyio]

COST = Spent(calls=2, evaluated_tokens=1500, cached_tokens=30, output_tokens=9)
TASK = make_task(Kind.NEEDLE, seed=1, words=100, source=WordListText())
NEEDLE = TASK.evidence[0]


class ScriptedRival:
    """Spends something, then answers, fails, or waits for ever where it has neither."""

    name = "scripted"

    def __init__(self, then: RivalAnswer | Exception | None) -> None:
        self._then = then

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        meter.add(COST)
        if self._then is None:
            await anyio.sleep_forever()
        if isinstance(self._then, RivalAnswer):
            return self._then
        raise self._then or AssertionError


def hand_clock() -> Iterator[float]:
    yield from (10.0, 12.5)


async def tried(then: RivalAnswer | Exception | None, task: Task = TASK, bound_s: float = 30) -> Attempt:
    return await attempt(ScriptedRival(then), task, bound_s=bound_s, clock=hand_clock().__next__)


async def test_an_answer_is_judged_and_its_cost_kept() -> None:
    done = await tried(RivalAnswer(text=f"It is {TASK.answers[0]}."))

    assert (done.outcome, done.right, done.misled) == (Outcome.ANSWERED, True, False)
    assert (done.spent, done.seconds, done.evidence_used) == (COST, 2.5, None)


@pytest.mark.parametrize(
    ("then", "outcome"),
    [(AttemptFailed("broken"), Outcome.FAILED), (DoesNotFit("9 tokens"), Outcome.DOES_NOT_FIT)],
)
async def test_what_fails_keeps_its_cost_and_its_reason(then: Exception, outcome: Outcome) -> None:
    done = await tried(then)

    assert (done.outcome, done.right, done.note, done.spent) == (outcome, False, str(then), COST)


async def test_a_rival_that_never_answers_is_ended_by_the_bound() -> None:
    done = await tried(None, bound_s=0)

    assert (done.outcome, done.right, done.note) == (Outcome.TIMED_OUT, False, "no answer within 0 s")


@pytest.mark.parametrize(
    ("parts", "share"),
    [
        ([], 0),
        ([(NEEDLE.start, NEEDLE.end)], 1),
        ([(0, NEEDLE.end - 1)], 0),
        ([(NEEDLE.start + 1, NEEDLE.end)], 0),
        ([(NEEDLE.start + 5, NEEDLE.end + 9), (0, NEEDLE.start + 5)], 1),
        ([(0, NEEDLE.start + 5), (NEEDLE.start + 6, NEEDLE.end)], 0),
    ],
)
async def test_evidence_is_used_when_the_chosen_parts_hold_all_of_its_bytes(
    parts: list[tuple[int, int]], share: float
) -> None:
    spans = tuple(Span(document=0, start=start, end=end) for start, end in parts)
    done = await tried(RivalAnswer(text="", relied_on=spans))

    assert done.evidence_used == share


async def test_parts_of_another_document_hold_no_evidence() -> None:
    done = await tried(RivalAnswer(text="", relied_on=(Span(document=1, start=0, end=10_000),)))

    assert done.evidence_used == 0


async def test_no_share_of_evidence_is_told_where_there_is_none_to_find() -> None:
    absent = make_task(Kind.ABSENT, seed=1, words=100, source=WordListText())
    done = await tried(RivalAnswer(text="not found", relied_on=()), absent)

    assert done.right
    assert done.evidence_used is None
    assert done.text_used == 0


async def test_the_share_of_the_text_that_was_chosen_is_told() -> None:
    length = len(TASK.documents[0].text.encode())
    half = Span(document=0, start=0, end=length // 2)
    rest = Span(document=0, start=length // 2, end=length)

    assert (await tried(RivalAnswer(text="", relied_on=(half, rest, half)))).text_used == 1
    assert (await tried(RivalAnswer(text="", relied_on=(half,)))).text_used == pytest.approx(0.5, abs=0.01)
    assert (await tried(RivalAnswer(text=""))).text_used is None


def attempts() -> list[Attempt]:
    def one(rival: str, kind: Kind, outcome: Outcome = Outcome.ANSWERED, **other: object) -> Attempt:
        return Attempt(rival=rival, task=f"{kind}-1", kind=kind, outcome=outcome, **other)  # pyright: ignore[reportArgumentType]

    return [
        one("winner", Kind.NEEDLE, right=True, spent=COST, seconds=1.25, evidence_used=1.0, text_used=0.25),
        one("loser", Kind.NEEDLE, misled=True, spent=COST, seconds=2.0),
        one("too long", Kind.NEEDLE, Outcome.DOES_NOT_FIT, note="9 tokens"),
        not_run("absent", TASK, "no address"),
        one("winner", Kind.ABSENT, Outcome.FAILED, spent=COST, seconds=1.0, note="broken"),
        one("loser", Kind.ABSENT, spent=COST, seconds=2.0),
        one("too long", Kind.ABSENT, Outcome.DOES_NOT_FIT, note="9 tokens"),
        not_run("absent", TASK, "no address"),
    ]


def cells(table: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_each_rival_has_a_row_also_one_that_loses_or_was_not_tried() -> None:
    rows = cells(cost_table(attempts()))

    assert rows["winner"] == ["1 of 2", "1 of 2 (50%)", "0", "4", "3,000", "60", "18", "2.2", "100%", "25%"]
    assert rows["loser"] == ["2 of 2", "0 of 2 (0%)", "1", "4", "3,000", "60", "18", "4.0", "-", "-"]
    assert rows["too long"] == ["0 of 2", *["-"] * 9]
    assert rows["absent"] == ["0 of 2", *["-"] * 9]


def test_right_answers_are_told_by_kind() -> None:
    rows = cells(kind_table(attempts()[:7]))

    assert rows["rival"] == ["needle", "absent"]
    assert rows["winner"] == ["1 of 1", "-"]
    assert rows["loser"] == ["0 of 1", "0 of 1"]


def test_lines_of_a_table_are_equally_long() -> None:
    assert len({len(line) for line in cost_table(attempts()).splitlines()}) == 1


def test_each_attempt_without_an_answer_has_a_note() -> None:
    assert notes(attempts())[:2] == [
        "too long, needle-1: does not fit: 9 tokens",
        f"absent, {TASK.id}: not run: no address",
    ]
    assert len(notes(attempts())) == 5


def test_figures_are_written_as_json_and_markdown(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    write(folder, {"model": "small", "chunk_tokens": 400}, [TASK], attempts())
    figures = json.loads((folder / JSON_FILE).read_text(encoding="utf-8"))
    page = (folder / MARKDOWN_FILE).read_text(encoding="utf-8")

    assert figures["settings"] == {"model": "small", "chunk_tokens": 400}
    assert figures["tasks"][0]["answers"] == list(TASK.answers)
    assert figures["tasks"][0]["evidence"] == [{"document": 0, "start": NEEDLE.start, "end": NEEDLE.end}]
    assert [row["rival"] for row in figures["rivals"]] == ["winner", "loser", "too long", "absent"]
    assert len(figures["attempts"]) == 8
    assert cost_table(attempts()) in page
    assert kind_table(attempts()) in page
    assert "- chunk tokens: 400" in page
    assert "- too long, needle-1: does not fit: 9 tokens" in page
