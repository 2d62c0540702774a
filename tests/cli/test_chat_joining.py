"""Which turns are shown to somebody who joins a session."""

from __future__ import annotations

from service.cli.chat_joining import TurnsToShow


def test_a_turn_that_waited_is_shown_also_when_it_has_ended_by_its_time() -> None:
    turns = TurnsToShow()
    turns.meet("trn_1", ["trn_2"])
    first = turns.next()

    turns.meet(None, [])

    assert (first, turns.next(), turns.next()) == ("trn_1", "trn_2", None)


def test_a_turn_is_shown_once_and_one_that_came_later_behind_the_others() -> None:
    turns = TurnsToShow()
    turns.meet("trn_1", ["trn_2"])
    first = turns.next()

    turns.meet("trn_2", ["trn_3"])

    assert [first, turns.next(), turns.next(), turns.next()] == ["trn_1", "trn_2", "trn_3", None]


def test_where_nothing_runs_there_is_nothing_to_show() -> None:
    turns = TurnsToShow()
    turns.meet(None, [])

    assert turns.next() is None
