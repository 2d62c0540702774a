"""The file of API keys as text: strict JSON, whose faults are told in one line that gives nothing secret away (K3, K5).

Pure. Above: whoever reads and writes the file. Below: `api_keys`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from service.core.api_keys import ApiKey, fault_of_name
from service.core.callers import Scope
from service.core.ids import OwnerId

VERSION = 1

_FILE_FIELDS = ("version", "keys")
_KEY_FIELDS = ("id", "name", "owner", "scopes", "sha256", "created_at")
_ID = re.compile(r"[a-z2-7]{8}")
_HASH = re.compile(r"[0-9a-f]{64}")
# What is longer, or looks otherwise, may be a key or a hash that somebody put in the wrong place.
_TOLD = re.compile(r"[A-Za-z0-9_.-]{1,20}")


def write_keys(keys: Iterable[ApiKey]) -> str:
    """Write the text of a file with these keys."""
    entries = [
        {
            "id": key.id,
            "name": key.name,
            "owner": key.owner,
            "scopes": [scope.value for scope in Scope if scope in key.scopes],
            "sha256": key.hash,
            "created_at": format_created(key.created_at),
        }
        for key in keys
    ]
    return json.dumps({"version": VERSION, "keys": entries}, indent=2) + "\n"


def format_created(moment: datetime) -> str:
    """Write a time as RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_keys(text: str) -> tuple[ApiKey, ...]:
    """Read the text of a file.

    Raises:
        ValueError: it is not exactly what `write_keys` writes; a clause names the entry, and tells no key and no hash.
    """
    file = _parsed(text)
    # Before the fields: those of another version are others.
    if "version" in file and not _is_version(file["version"]):
        raise ValueError(f"it has another version than {VERSION}, the only one that this Turnkeeper knows")
    _check_fields("it", file, _FILE_FIELDS)
    entries: object = file["keys"]
    if not isinstance(entries, list):
        raise ValueError("keys is no list")
    keys = [_key(f"entry {number}", entry) for number, entry in enumerate(cast(list[object], entries), start=1)]
    _check_unique(keys)
    return tuple(keys)


def _parsed(text: str) -> Mapping[str, object]:
    try:
        file: object = json.loads(text, object_pairs_hook=_without_repeats)
    except _Repeated:
        raise
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON that can be read") from None
    return _members("it", file)


class _Repeated(ValueError):
    """A field stands twice: which of them counts would be a guess."""


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    names = [name for name, _ in pairs]
    repeated = next(name for name in names if names.count(name) > 1)
    raise _Repeated(f"a field {_told(repeated)}stands twice in one object")


def _is_version(value: object) -> bool:
    return type(value) is int and value == VERSION


def _key(where: str, entry: object) -> ApiKey:
    members = _members(where, entry)
    name: object = members.get("name")
    if isinstance(name, str) and fault_of_name(name) is None:
        where = f'{where} ("{name}")'
    _check_fields(where, members, _KEY_FIELDS)
    return ApiKey(
        id=_matching(where, members, "id", _ID, "8 characters of a-z and 2-7"),
        name=_name(where, members, "name"),
        owner=OwnerId(_name(where, members, "owner")),
        scopes=_scopes(where, members["scopes"]),
        hash=_matching(where, members, "sha256", _HASH, "64 hex digits in small letters"),
        created_at=_moment(where, members["created_at"]),
    )


def _members(where: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no JSON object")
    return cast(dict[str, object], value)


def _check_fields(where: str, members: Mapping[str, object], fields: Sequence[str]) -> None:
    missing = [field for field in fields if field not in members]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    unknown = next((name for name in members if name not in fields), None)
    if unknown is not None:
        raise ValueError(f"{where} has a field {_told(unknown)}that is unknown")


def _matching(where: str, members: Mapping[str, object], field: str, form: re.Pattern[str], said: str) -> str:
    value = members[field]
    if not isinstance(value, str) or form.fullmatch(value) is None:
        raise ValueError(f"{field} of {where} must be {said}")
    return value


def _name(where: str, members: Mapping[str, object], field: str) -> str:
    value = members[field]
    if not isinstance(value, str):
        raise ValueError(f"{field} of {where} is no text")
    fault = fault_of_name(value)
    if fault is not None:
        raise ValueError(f"{field} of {where} can't be used: {fault}")
    return value


def _scopes(where: str, value: object) -> frozenset[Scope]:
    listed = cast(list[object], value) if isinstance(value, list) else []
    if not listed:
        raise ValueError(f"scopes of {where} must be a list of some of {', '.join(Scope)}")
    for scope in listed:
        if not isinstance(scope, str) or scope not in set(Scope):
            raise ValueError(f"{where} has a scope {_told(scope)}that is none of {', '.join(Scope)}")
    scopes = frozenset(Scope(cast(str, scope)) for scope in listed)
    if len(scopes) < len(listed):
        raise ValueError(f"{where} has a scope twice")
    return scopes


def _moment(where: str, value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"created_at of {where} must be a time like 2030-01-02T09:30:00Z")


def _check_unique(keys: Sequence[ApiKey]) -> None:
    for what, values in (
        ("name", [key.name for key in keys]),
        ("id", [key.id for key in keys]),
        ("sha256", [key.hash for key in keys]),
    ):
        first: dict[str, int] = {}
        for number, value in enumerate(values, start=1):
            if value in first:
                raise ValueError(f'entry {number} ("{keys[number - 1].name}") has the {what} of entry {first[value]}')
            first[value] = number


def _told(value: object) -> str:
    """Give a short word in quotes and a space, nothing of any other value."""
    return f'"{value}" ' if isinstance(value, str) and _TOLD.fullmatch(value) else ""
