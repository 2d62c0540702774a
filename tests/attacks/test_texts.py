"""The attack set is what it says it is: many texts, of each kind, and each can be obeyed."""

from __future__ import annotations

from collections import Counter

from tests.attacks.attack import ATTACKS, TOOL_OF_KIND


def test_there_are_texts_of_each_kind_and_no_text_is_there_twice() -> None:
    kinds = Counter(attack.kind for attack in ATTACKS)

    assert len(ATTACKS) >= 36
    assert kinds.keys() == TOOL_OF_KIND.keys()
    assert min(kinds.values()) >= 4
    assert len({attack.text for attack in ATTACKS}) == len(ATTACKS)


def test_the_words_that_are_obeyed_stand_in_what_the_tool_gives() -> None:
    assert [attack.name for attack in ATTACKS if attack.order not in attack.shown] == []
