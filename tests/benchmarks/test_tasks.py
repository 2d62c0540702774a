"""Tasks: the same seed gives the same bytes, and the evidence lies where it is said to lie."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

import pytest

from benchmarks.reading.placing import Placed, Span, place
from benchmarks.reading.tasks import Kind, Task, make_task, make_tasks
from benchmarks.reading.texts import WordListText

SOURCE = WordListText()
SEEDS = range(20)


def made(kind: Kind, seed: int = 1, depth: float | None = None) -> Task:
    return make_task(kind, seed=seed, words=1500, source=SOURCE, depth=depth)


def at(task: Task, span: Span) -> str:
    return task.documents[span.document].text.encode()[span.start : span.end].decode()


def bytes_of(tasks: list[Task]) -> bytes:
    return json.dumps([asdict(task) for task in tasks]).encode()


def test_the_same_seed_gives_the_same_bytes_in_each_python() -> None:
    tasks = make_tasks(6, seed=7, words=300, source=SOURCE)

    assert bytes_of(tasks) == bytes_of(make_tasks(6, seed=7, words=300, source=SOURCE))
    assert (
        hashlib.sha256(bytes_of(tasks)).hexdigest()
        == "95fcd307c57aa1b7855c603fa20f0231dfbd5e5d84152a8017169a9a4f418f45"
    )


def test_another_seed_gives_other_tasks() -> None:
    texts = {make_task(Kind.NEEDLE, seed=seed, words=300, source=SOURCE).documents[0].text for seed in SEEDS}

    assert len(texts) == len(SEEDS)


def test_runs_with_neighbouring_seeds_share_no_task() -> None:
    ids = [task.id for seed in range(3) for task in make_tasks(12, seed=seed, words=50, source=SOURCE)]

    assert len(set(ids)) == len(ids)


def test_kinds_come_in_turn() -> None:
    tasks = make_tasks(8, seed=1, words=50, source=SOURCE)

    assert [task.kind for task in tasks] == [*Kind, Kind.NEEDLE, Kind.ABSENT]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", SEEDS)
def test_evidence_is_a_whole_sentence_and_the_last_one_holds_the_answer(kind: Kind, seed: int) -> None:
    task = made(kind, seed)
    said = [at(task, span) for span in task.evidence]

    assert len(task.documents[0].text.split()) >= 1500
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in said)
    assert [answer in said[-1] for answer in task.answers] == [True] * len(task.answers)
    assert bool(said) == bool(task.answers) == (kind is not Kind.ABSENT)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_answer_stands_nowhere_but_in_the_evidence(kind: Kind, seed: int) -> None:
    task = made(kind, seed)

    assert [task.documents[0].text.count(answer) for answer in task.answers] == [1] * len(task.answers)
    assert not any(answer in task.query for answer in task.answers)


@pytest.mark.parametrize("depth", [0.0, 0.1, 0.5, 0.99, 1.0])
def test_a_needle_lies_at_the_depth_that_was_asked_for(depth: float) -> None:
    task = made(Kind.NEEDLE, depth=depth)

    assert abs(task.evidence[0].start / len(task.documents[0].text.encode()) - depth) < 0.02


def test_needles_lie_at_all_depths_when_none_is_asked_for() -> None:
    tasks = [made(Kind.NEEDLE, seed) for seed in range(100)]
    fifths = {task.evidence[0].start * 5 // len(task.documents[0].text) for task in tasks}

    assert fifths == {0, 1, 2, 3, 4}


def test_nothing_in_the_text_of_an_absent_needle_speaks_of_what_is_asked() -> None:
    task = made(Kind.ABSENT)
    names = [word.strip("?") for word in task.query.split()[1:] if word[0].isupper()]

    assert len(names) == 1
    assert names[0].lower() not in task.documents[0].text.lower()
    assert task.evidence == task.distractors == task.answers == ()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("kind", "forwards"), [(Kind.TWO_HOPS, True), (Kind.TWO_HOPS_BACKWARDS, False)])
def test_two_hops_stand_in_the_order_of_their_kind_with_text_between(kind: Kind, forwards: bool, seed: int) -> None:
    task = made(kind, seed)
    first, second = task.evidence
    city = at(task, first).removesuffix(".").split()[-1]
    person = at(task, first).split()[0]

    assert person in task.query
    assert city not in task.query
    assert city in at(task, second)
    assert person not in at(task, second)
    assert (first.end + 100 < second.start) if forwards else (second.end + 100 < first.start)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_value_that_counts_stands_later_than_the_one_that_it_replaces(seed: int) -> None:
    task = made(Kind.SUPERSEDED, seed)
    (old,), (new,) = task.distractors, task.evidence

    assert old.end < new.start
    assert task.decoys[0] in at(task, old)
    assert task.decoys[0] not in at(task, new)
    assert "now" in at(task, new)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_injection_stands_beside_the_evidence_and_apart_from_it(seed: int) -> None:
    task = made(Kind.INJECTION, seed)
    (injected,), (needle,) = task.distractors, task.evidence
    gap = max(injected.start - needle.end, needle.start - injected.end)

    assert 1 <= gap <= 2
    assert all(decoy in at(task, injected) and decoy not in at(task, needle) for decoy in task.decoys)


def test_injections_are_orders_and_outputs_of_a_gate_on_both_sides_of_the_evidence() -> None:
    tasks = [made(Kind.INJECTION, seed) for seed in range(60)]
    injected = [at(task, task.distractors[0]) for task in tasks]
    gates = [json.loads(text) for text in injected if text.startswith("{")]

    assert {gate["update"] for gate in gates} == {True, False}
    assert all(gate["exit"] is True for gate in gates)
    assert any(text.startswith("Reader, stop here") for text in injected)
    assert {task.distractors[0].start < task.evidence[0].start for task in tasks} == {True, False}


def test_offsets_are_bytes_where_the_text_is_more_than_ascii() -> None:
    text, (first, second) = place(
        ["Äpfel und Öl.", "Ein Satz.", "Über alles."],
        frozenset({0, 2}),
        [Placed(sentence="Später.", depth=1.0), Placed(sentence="Früher.", depth=0.5)],
    )

    assert text == "Äpfel und Öl. Ein Satz.\n\nFrüher. Über alles. Später."
    assert text.encode()[first.start : first.end].decode() == "Später."
    assert text.encode()[second.start : second.end].decode() == "Früher."
