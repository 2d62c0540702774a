"""What a fork takes with it (H10)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from service.core.baseline import Baseline
from service.core.forking import NothingToFork, before_turn, renumbered
from service.core.ids import SessionId, TurnId
from service.core.records import (
    Assistant,
    Entry,
    Outcome,
    Record,
    SessionCreated,
    SessionTotals,
    Summary,
    TurnFinished,
    TurnOptions,
    TurnQueued,
    User,
)
from service.core.usage import UsageTotals

pytestmark = pytest.mark.rules("H10")


def log(*told: tuple[str, Record]) -> list[Entry]:
    entries = [("", SessionCreated(agent=None, baseline=Baseline())), *told]
    return [
        Entry(
            session=SessionId("ses_1"),
            turn=TurnId(turn) if turn else None,
            seq=seq,
            time=datetime(2030, 1, 1, tzinfo=UTC),
            record=record,
        )
        for seq, (turn, record) in enumerate(entries, start=1)
    ]


def user(turn: str) -> tuple[str, Record]:
    return turn, User(content=turn, options=TurnOptions())


def queued(turn: str) -> tuple[str, Record]:
    return turn, TurnQueued(content=turn, options=TurnOptions())


def answer(turn: str) -> tuple[str, Record]:
    return turn, Assistant(step=1, content="Hi", reasoning="", finish_reason="stop")


def ended(turn: str) -> tuple[str, Record]:
    totals = SessionTotals()
    return turn, TurnFinished(outcome=Outcome.ANSWERED, steps=1, usage=UsageTotals(), totals=totals)


def seqs(entries: tuple[Entry, ...]) -> list[int]:
    return [entry.seq for entry in entries]


def test_the_turns_before_are_taken_whole() -> None:
    entries = log(user("a"), answer("a"), ended("a"), user("b"), answer("b"), ended("b"), user("c"))
    assert seqs(before_turn(entries, TurnId("a"))) == []
    assert seqs(before_turn(entries, TurnId("b"))) == [2, 3, 4]
    assert seqs(before_turn(entries, TurnId("c"))) == [2, 3, 4, 5, 6, 7]


def test_a_place_in_the_queue_goes_with_its_turn() -> None:
    entries = log(
        user("a"), queued("b"), queued("c"), queued("d"), answer("a"), ended("c"), ended("a"), user("b"), ended("b"),
        user("d"),
    )  # fmt: skip
    assert seqs(before_turn(entries, TurnId("b"))) == [2, 6, 8]
    assert seqs(before_turn(entries, TurnId("d"))) == [2, 3, 6, 8, 9, 10]


@pytest.mark.parametrize(("turn", "said"), [("x", "not a turn"), ("c", "not taken up")])
def test_a_turn_that_never_began_is_no_place(turn: str, said: str) -> None:
    with pytest.raises(NothingToFork, match=said):
        before_turn(log(user("a"), queued("c"), ended("c")), TurnId(turn))


def summary(turn: str, covers: int) -> tuple[str, Record]:
    return turn, Summary(covers=covers, text="s", tokens_before=9, tokens_after=1)


@pytest.mark.rules("C1")
def test_what_a_summary_covers_is_named_by_the_places_that_the_records_have_in_the_fork() -> None:
    entries = log(queued("z"), user("a"), queued("y"), summary("a", 4), summary("", 0), user("b"))
    copied = renumbered(before_turn(entries, TurnId("b")), SessionId("ses_2"))
    assert [(entry.session, entry.seq) for entry in copied] == [("ses_2", 2), ("ses_2", 3), ("ses_2", 4)]
    assert [entry.record.covers for entry in copied if isinstance(entry.record, Summary)] == [2, 0]


@pytest.mark.rules("C1")
def test_a_summary_of_what_was_not_copied_covers_the_beginning_alone() -> None:
    entries = log(queued("z"), summary("", 2), user("b"))
    (copied,) = renumbered(before_turn(entries, TurnId("b")), SessionId("ses_2"))
    assert isinstance(copied.record, Summary)
    assert copied.record.covers == 1
