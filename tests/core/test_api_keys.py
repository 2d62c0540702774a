"""K3, K5: what a key looks like, whose was presented, and what is kept of one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.api_keys import (
    LONGEST_PRESENTED,
    RANDOM_BYTES,
    ApiKey,
    caller_of,
    fault_of_name,
    hash_of,
    new_key,
)
from service.core.callers import Caller, Scope
from service.core.ids import OwnerId
from service.core.key_list import write_keys
from tests.core.made_keys import CI, CI_TEXT, KEYS, MADE_AT, PHONE_TEXT

pytestmark = pytest.mark.rules("K3", "K5")


def test_a_key_is_told_by_its_beginning_and_holds_its_id_and_256_random_bits() -> None:
    assert re.fullmatch(r"tk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}", CI_TEXT)
    assert CI_TEXT.startswith(f"tk_{CI.id}_")
    texts = {new_key_text(bytes(at) + b"\1" + bytes(RANDOM_BYTES - at - 1)) for at in range(RANDOM_BYTES)}
    assert len(texts) == RANDOM_BYTES


def new_key_text(random_bytes: bytes) -> str:
    return new_key(
        name="a", owner=OwnerId("a"), scopes=frozenset(Scope), random_bytes=random_bytes, created_at=MADE_AT
    )[1]


def test_of_a_key_only_its_hash_is_kept() -> None:
    assert CI.hash == hash_of(CI_TEXT)
    assert CI_TEXT[12:] not in write_keys(KEYS)
    assert CI.hash not in repr(CI)


def test_the_holder_of_a_key_is_found_with_its_owner_and_its_scopes() -> None:
    assert caller_of(KEYS, CI_TEXT) == Caller(name="ci", owner=OwnerId("ci"), scopes=frozenset({Scope.TURNS}))
    assert caller_of(KEYS, PHONE_TEXT) == Caller(name="phone", owner=OwnerId("ci"), scopes=frozenset({Scope.APPROVE}))


@pytest.mark.parametrize(
    "presented",
    [
        "",
        "tk_",
        CI.hash,
        CI.id,
        CI.name,
        CI_TEXT[:-1],
        CI_TEXT + "=",
        CI_TEXT + "\n",
        " " + CI_TEXT,
        CI_TEXT.upper(),
        CI_TEXT.replace("tk_", "tk\uff3f"),
        "\ud800",
        "é" * LONGEST_PRESENTED,
        "a" * (1024 * 1024),
    ],
    ids=lambda text: f"{len(text)} characters",
)
def test_nothing_but_a_key_lets_anybody_in(presented: str) -> None:
    assert caller_of(KEYS, presented) is None


@given(st.text() | st.text(st.characters(codec="ascii")) | st.text().map(CI_TEXT[:-1].__add__))
def test_no_text_lets_anybody_in_but_a_key(presented: str) -> None:
    assume(presented not in (CI_TEXT, PHONE_TEXT))

    assert caller_of(KEYS, presented) is None


def test_without_keys_nobody_is_let_in() -> None:
    assert caller_of((), CI_TEXT) is None
    assert caller_of((), "") is None


class CountingKeys:
    """Notes how many keys were looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[ApiKey]:
        for key in KEYS:
            self.looked_at += 1
            yield key


@pytest.mark.parametrize("presented", [CI_TEXT, PHONE_TEXT, "tk_wrong"])
def test_each_key_is_looked_at_wherever_the_right_one_stands(presented: str) -> None:
    keys = CountingKeys()

    caller_of(keys, presented)

    assert keys.looked_at == 2


def test_what_is_longer_than_any_key_is_refused_before_it_is_looked_at() -> None:
    keys = CountingKeys()

    caller_of(keys, "a" * (LONGEST_PRESENTED + 1))

    assert keys.looked_at == 0


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "x" * 64, "tk_ci", "0" * 63])
def test_names_that_can_be_used(name: str) -> None:
    assert fault_of_name(name) is None


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "é", "a\n", "a/b", "\u202e", CI_TEXT, CI.hash])
def test_names_that_can_not_be_used_are_not_told(name: str) -> None:
    fault = fault_of_name(name)

    assert fault is not None
    assert not name or name not in fault
