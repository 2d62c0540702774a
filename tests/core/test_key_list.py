"""K3, K5: a file of keys is read as it was written, and says what is wrong with it, and no more."""

from __future__ import annotations

import json
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.api_keys import ApiKey, fault_of_name
from service.core.callers import Scope
from service.core.ids import OwnerId
from service.core.key_list import read_keys, write_keys
from tests.core.made_keys import CI, CI_TEXT, KEYS, MADE_AT, PHONE

pytestmark = pytest.mark.rules("K3", "K5")

NAMES = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True).filter(lambda name: fault_of_name(name) is None)
KEY_LISTS = st.lists(
    st.builds(
        ApiKey,
        id=st.from_regex(r"[a-z2-7]{8}", fullmatch=True),
        name=NAMES,
        owner=NAMES.map(OwnerId),
        scopes=st.frozensets(st.sampled_from(Scope), min_size=1),
        hash=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
        created_at=st.datetimes(timezones=st.just(UTC)),
    ),
    max_size=5,
    unique_by=(lambda key: key.id, lambda key: key.name, lambda key: key.hash),
).map(tuple)


@given(KEY_LISTS)
def test_what_is_written_is_read_as_it_was(keys: tuple[ApiKey, ...]) -> None:
    text = write_keys(keys)

    assert read_keys(text) == keys
    assert write_keys(read_keys(text)) == text


def test_the_file_is_for_people_too() -> None:
    assert write_keys(KEYS[1:]) == (
        "{\n"
        '  "version": 1,\n'
        '  "keys": [\n'
        "    {\n"
        f'      "id": "{PHONE.id}",\n'
        '      "name": "phone",\n'
        '      "owner": "ci",\n'
        '      "scopes": [\n'
        '        "approve"\n'
        "      ],\n"
        f'      "sha256": "{PHONE.hash}",\n'
        '      "created_at": "2030-01-02T09:30:00Z"\n'
        "    }\n"
        "  ]\n"
        "}\n"
    )


def test_a_time_of_another_zone_is_the_same_moment() -> None:
    eastern = MADE_AT.astimezone(timezone(timedelta(hours=5.5)))
    text = write_keys(KEYS).replace("2030-01-02T09:30:00Z", eastern.isoformat())

    assert read_keys(text) == KEYS


FILE: dict[str, Any] = json.loads(write_keys(KEYS))


def with_phone(**changed: object) -> str:
    """Give a file whose second entry is another."""
    first, second = FILE["keys"]
    return json.dumps({**FILE, "keys": [first, second | changed]})


def without(field: str) -> str:
    first, second = FILE["keys"]
    return json.dumps({**FILE, "keys": [first, {name: value for name, value in second.items() if name != field}]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is no JSON (line 1, column 1)"),
        ('{"version": 1,\n "keys": [}', "it is no JSON (line 2, column 11)"),
        ("\ufeff{}", "it is no JSON (line 1, column 1)"),
        ("[" * 100_000, "it is no JSON that can be read"),
        ("9" * 5000, "it is no JSON that can be read"),
        ("[]", "it is no JSON object"),
        ("{}", "it lacks version, keys"),
        ('{"version": 1}', "it lacks keys"),
        (json.dumps(FILE | {"version": 2}), "it has another version than 1, the only one that this Turnkeeper knows"),
        (json.dumps(FILE | {"version": True}), "it has another version than 1"),
        (json.dumps(FILE | {"version": 1.0}), "it has another version than 1"),
        (json.dumps({"version": 2, "users": []}), "it has another version than 1"),
        (json.dumps(FILE | {"salt": 1}), 'it has a field "salt" that is unknown'),
        (json.dumps(FILE | {CI_TEXT: 1}), "it has a field that is unknown"),
        (json.dumps(FILE | {"keys": {}}), "keys is no list"),
        (json.dumps(FILE | {"keys": [1]}), "entry 1 is no JSON object"),
        ('{"version": 1, "keys": [], "keys": []}', 'a field "keys" stands twice in one object'),
        (f'{{"{CI_TEXT}": 1, "{CI_TEXT}": 1}}', "a field stands twice in one object"),
        (without("sha256"), 'entry 2 ("phone") lacks sha256'),
        (without("name"), "entry 2 lacks name"),
        (with_phone(expires="never"), 'entry 2 ("phone") has a field "expires" that is unknown'),
        (with_phone(name="a b"), "name of entry 2 can't be used: it must be 1 to 64 characters of"),
        (with_phone(name=CI_TEXT), "name of entry 2 can't be used: it looks like a key or a hash"),
        (with_phone(name=7), "name of entry 2 is no text"),
        (with_phone(owner=""), 'owner of entry 2 ("phone") can\'t be used: it must be'),
        (with_phone(owner=CI.hash), 'owner of entry 2 ("phone") can\'t be used: it looks like'),
        (with_phone(id="short"), 'id of entry 2 ("phone") must be 8 characters of a-z and 2-7'),
        (with_phone(sha256=CI_TEXT), 'sha256 of entry 2 ("phone") must be 64 hex digits in small letters'),
        (with_phone(sha256=PHONE.hash.upper()), 'sha256 of entry 2 ("phone") must be 64 hex digits'),
        (with_phone(sha256=PHONE.hash + "\n"), 'sha256 of entry 2 ("phone") must be 64 hex digits'),
        (with_phone(sha256=None), 'sha256 of entry 2 ("phone") must be 64 hex digits'),
        (with_phone(scopes=[]), 'scopes of entry 2 ("phone") must be a list of some of turns, approve, admin'),
        (with_phone(scopes="turns"), 'scopes of entry 2 ("phone") must be a list'),
        (with_phone(scopes=["all"]), 'entry 2 ("phone") has a scope "all" that is none of turns, approve, admin'),
        (with_phone(scopes=[CI_TEXT]), 'entry 2 ("phone") has a scope that is none of'),
        (with_phone(scopes=[["turns"]]), 'entry 2 ("phone") has a scope that is none of'),
        (with_phone(scopes=["turns", "turns"]), 'entry 2 ("phone") has a scope twice'),
        (with_phone(created_at="2030-01-02T09:30:00"), 'created_at of entry 2 ("phone") must be a time like'),
        (with_phone(created_at="0001-01-01T00:00:00+14:00"), 'created_at of entry 2 ("phone") must be a time like'),
        (with_phone(created_at=0), 'created_at of entry 2 ("phone") must be a time like'),
        (with_phone(name="ci"), 'entry 2 ("ci") has the name of entry 1'),
        (with_phone(id=CI.id), 'entry 2 ("phone") has the id of entry 1'),
        (with_phone(sha256=CI.hash), 'entry 2 ("phone") has the sha256 of entry 1'),
    ],
)
def test_what_is_wrong_in_a_file_is_told_in_one_line_without_a_key_or_a_hash(text: str, said: str) -> None:
    fault = fault_of(text) or ""

    assert fault.startswith(said)
    assert "\n" not in fault
    assert "  " not in fault
    assert not [secret for key in KEYS for secret in (key.hash, key.hash.upper()) if secret in fault]
    assert CI_TEXT[12:] not in fault


def fault_of(text: str) -> str | None:
    try:
        read_keys(text)
    except ValueError as fault:
        return str(fault)
    return None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=70)
    | st.sampled_from([CI_TEXT, CI.hash]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=70), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from([None, "version", *FILE["keys"][0]]), st.sampled_from([CI_TEXT, CI.hash, "more"]) | st.text(), JSON
)
def test_no_fault_gives_a_secret_away(replaced: str | None, added: str, value: object) -> None:
    entry = {**FILE["keys"][0]}
    file: dict[str, object] = {"version": 1, "keys": [entry]}
    (file if replaced == "version" else entry)[replaced or added] = value

    fault = fault_of(json.dumps(file)) or ""

    assert "\n" not in fault
    assert CI_TEXT not in fault
    assert CI.hash not in fault
