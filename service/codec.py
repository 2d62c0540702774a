"""Records and signals as JSON and back: the only place where they change form (S3, S6).

A record's body is the record as the API shows it, without `pos`: keys sorted, no white space, UTF-8. It is
encoded once, when it is appended; `pos` is spliced into the same bytes when it is shown, so what a follower sees
live and what is replayed later are the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NewType, Union, cast, get_args, get_origin, get_type_hints

from service.core.errors import StoreFailure
from service.core.ids import ReadingId, SessionId, TurnId
from service.core.json_types import JsonObject, JsonValue
from service.core.reading.records import AnswerGiven, GateSet, ReadingEntry, ReadingRecord, RunEnd
from service.core.reading.signals import ReadingSignal
from service.core.records import (
    ApprovalDecided,
    Assistant,
    Entry,
    Record,
    SessionCreated,
    StepUsage,
    Summary,
    ToolResult,
    TurnError,
    TurnFinished,
    TurnOptions,
)
from service.core.signals import Signal
from service.ports import StoredReadingRecord, StoredRecord

RECORD_TYPES: dict[str, type[Record]] = {kind.type: kind for kind in get_args(Record)}
"""Record classes of sessions by the `type` that their JSON carries."""

READING_RECORD_TYPES: dict[str, type[ReadingRecord]] = {kind.type: kind for kind in get_args(ReadingRecord)}
"""Record classes of readings, likewise."""

# `class` is a keyword in Python and the word of the API.
_JSON_NAME = {"data_class": "class"}

# Fields that the API marks with `?`: left out while they hold their default.
_LEFT_OUT_BY_DEFAULT: dict[type, frozenset[str]] = {
    SessionCreated: frozenset({"parent", "fork", "data_class", "untrusted", "depth"}),
    Assistant: frozenset({"cut_calls"}),
    StepUsage: frozenset({"discarded", "estimated", "summary"}),
    ToolResult: frozenset({"fence", "limit"}),
    ApprovalDecided: frozenset({"arguments", "reason", "signature"}),
    Summary: frozenset({"fence"}),
    TurnFinished: frozenset({"limit", "error"}),
    TurnError: frozenset({"status"}),
    TurnOptions: frozenset({"response_format"}),
    GateSet: frozenset({"exit_refused", "draft", "draft_probability"}),
    AnswerGiven: frozenset({"truncated"}),
    RunEnd: frozenset({"error"}),
}


class UnreadableRecord(StoreFailure):
    """A stored body is not a record that this version knows."""


def encode_record(entry: Entry) -> bytes:
    """Encode a record with its envelope: the body that is stored and hashed (S3)."""
    members = to_json(entry.record)
    members["type"] = entry.record.type
    members["session"] = entry.session
    members["turn"] = entry.turn
    members["seq"] = entry.seq
    members["time"] = format_time(entry.time)
    return _dump(members, sort_keys=True)


def decode_record(body: bytes) -> Entry:
    """Decode a stored body.

    Raises:
        UnreadableRecord: it is no JSON, of an unknown type, or lacks what its type needs.
    """
    try:
        members = cast(JsonObject, json.loads(body))
        record_type = RECORD_TYPES[members["type"]]
        return Entry(
            session=SessionId(members["session"]),
            turn=None if members["turn"] is None else TurnId(members["turn"]),
            seq=members["seq"],
            time=parse_time(members["time"]),
            record=cast(Record, from_json(record_type, members)),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableRecord(f"a stored record can't be read: {error!r}") from error


def encode_reading_record(entry: ReadingEntry) -> bytes:
    """Encode a reading's record with its envelope: the body that is stored and hashed (S3)."""
    members = to_json(entry.record)
    members["type"] = entry.record.type
    members["reading"] = entry.reading
    members["seq"] = entry.seq
    members["time"] = format_time(entry.time)
    return _dump(members, sort_keys=True)


def decode_reading_record(body: bytes) -> ReadingEntry:
    """Decode a stored body of a reading.

    Raises:
        UnreadableRecord: it is no JSON, of an unknown type, or lacks what its type needs.
    """
    try:
        members = cast(JsonObject, json.loads(body))
        record_type = READING_RECORD_TYPES[members["type"]]
        return ReadingEntry(
            reading=ReadingId(members["reading"]),
            seq=members["seq"],
            time=parse_time(members["time"]),
            record=cast(ReadingRecord, from_json(record_type, members)),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableRecord(f"a stored record can't be read: {error!r}") from error


def encode_stored(stored: StoredRecord | StoredReadingRecord) -> bytes:
    """Encode a stored record as clients see it: its body with `pos` added."""
    return b'%s,"pos":%d}' % (stored.body[:-1], stored.pos)


def encode_signal(session: SessionId | None, turn: TurnId | None, signal: Signal) -> bytes:
    """Encode a signal as clients see it."""
    return _dump({"type": signal.type, "session": session, "turn": turn, **to_json(signal)})


def encode_reading_signal(reading: ReadingId, signal: ReadingSignal) -> bytes:
    """Encode a signal of a reading as clients see it."""
    return _dump({"type": signal.type, "reading": reading, **to_json(signal)})


def format_time(moment: datetime) -> str:
    """Write a time as RFC 3339 in UTC with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Read a time that `format_time` wrote."""
    return datetime.fromisoformat(text).astimezone(UTC)


def to_json(value: object) -> JsonObject:
    """Turn a value of the core (a dataclass) into JSON members, with the API's names."""
    return cast(JsonObject, _to_json(value))


def _to_json(value: object) -> JsonValue:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple):
        return [_to_json(item) for item in cast(tuple[object, ...], value)]
    if is_dataclass(value) and not isinstance(value, type):
        left_out = _LEFT_OUT_BY_DEFAULT.get(type(value), frozenset())
        return {
            _JSON_NAME.get(field.name, field.name): _to_json(member)
            for field in fields(value)
            if not ((member := getattr(value, field.name)) == field.default and field.name in left_out)
        }
    return value


def from_json(target: type, members: JsonObject) -> object:
    """Build a dataclass of the core from JSON members; members that it doesn't know are passed over.

    Raises:
        KeyError: a member without a default is missing.
        TypeError: a member has another type than the field.
    """
    hints = _hints(target)
    arguments: dict[str, object] = {}
    for field in fields(target):
        name = _JSON_NAME.get(field.name, field.name)
        if name in members:
            arguments[field.name] = _from_json(hints[field.name], members[name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise KeyError(name)
    return target(**arguments)


@cache
def _hints(target: type) -> dict[str, Any]:
    return get_type_hints(target)


def _from_json(hint: Any, value: JsonValue) -> object:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        if value is None:
            return None
        (hint,) = (member for member in get_args(hint) if member is not NoneType)
        return _from_json(hint, value)
    if origin is tuple:
        return tuple(_from_json(get_args(hint)[0], item) for item in value)
    if origin is dict:
        return _checked(dict, value)
    if isinstance(hint, NewType):
        return _from_json(hint.__supertype__, value)
    if is_dataclass(hint):
        return from_json(cast(type, hint), _checked(dict, value))
    if hint is datetime:
        return parse_time(_checked(str, value))
    if hint is float:
        return float(value)
    if issubclass(hint, Enum):
        return hint(value)
    return _checked(hint, value)


def _checked(expected: type, value: JsonValue) -> Any:
    # bool is an int in Python, but not in JSON.
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise TypeError(f"expected {expected.__name__}, found {type(value).__name__}")
    return value


def _dump(members: JsonObject, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, allow_nan=False)
    return text.encode()
