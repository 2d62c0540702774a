"""Records and signals as JSON and back: the only place where they change form (S3, S6).

A record's body is the record as the API shows it, without `pos`: keys sorted, no white space, UTF-8. It is
encoded once, when it is appended; `pos` is spliced into the same bytes when it is shown, so what a follower sees
live and what is replayed later are the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache, lru_cache, partial
from types import NoneType, UnionType
from typing import Any, NewType, Union, cast, get_args, get_origin, get_type_hints

import msgspec

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
from service.core.signals import ContentDelta, ReasoningDelta, Signal
from service.ports import StoredReadingRecord, StoredRecord

RECORD_TYPES: dict[str, type[Record]] = {kind.type: kind for kind in get_args(Record)}
"""Record classes of sessions by the `type` that their JSON carries."""

READING_RECORD_TYPES: dict[str, type[ReadingRecord]] = {kind.type: kind for kind in get_args(ReadingRecord)}
"""Record classes of readings, likewise."""

JSON_NAME = {"data_class": "class"}
"""Names that differ in JSON: `class` is a keyword in Python and the word of the API."""

LEFT_OUT_BY_DEFAULT: dict[type, frozenset[str]] = {
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
"""Fields that the API marks with `?`: left out while they hold their default."""


class UnreadableRecord(StoreFailure):
    """A stored body is not a record that this version knows."""


def encode_record(entry: Entry) -> bytes:
    """Encode a record with its envelope: the body that is stored and hashed (S3)."""
    return _in_envelope(entry, {"session": entry.session, "turn": entry.turn})


def _in_envelope(entry: Entry | ReadingEntry, whose: JsonObject) -> bytes:
    members = to_json(entry.record) | whose
    members["type"] = entry.record.type
    members["seq"] = entry.seq
    members["time"] = format_time(entry.time)
    return _SORTING_WRITER.encode(members).encode()


def decode_record(body: bytes) -> Entry:
    """Decode a stored body.

    Raises:
        UnreadableRecord: it is no JSON, of an unknown type, or lacks what its type needs.
    """
    try:
        members = cast(JsonObject, msgspec.json.decode(body))
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


class Said(msgspec.Struct):
    """What an `assistant` record says, and at which step."""

    step: int
    reasoning: str
    content: str


_SAID = msgspec.json.Decoder(Said)


def decode_said(body: bytes) -> Said:
    """Decode what the stored body of an `assistant` says, and nothing more of it.

    Raises:
        UnreadableRecord: it is no JSON, or lacks that.
    """
    try:
        return _SAID.decode(body)
    except msgspec.DecodeError as error:
        raise UnreadableRecord(f"a stored record can't be read: {error!r}") from error


def encode_reading_record(entry: ReadingEntry) -> bytes:
    """Encode a reading's record with its envelope: the body that is stored and hashed (S3)."""
    return _in_envelope(entry, {"reading": entry.reading})


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
    if isinstance(signal, ContentDelta | ReasoningDelta):
        # One for each token and reader: written out, it takes a tenth of the way over a dictionary.
        text = msgspec.json.encode(signal.text)
        whose = _whose(session, turn)
        return b'{"type":"%s",%s,"step":%d,"text":%s,"offset":%d}' % (
            signal.type.encode(), whose, signal.step, text, signal.offset,
        )  # fmt: skip
    return _WRITER.encode({"type": signal.type, "session": session, "turn": turn, **to_json(signal)}).encode()


@lru_cache(maxsize=1024)
def _whose(session: SessionId | None, turn: TurnId | None) -> bytes:
    return f'"session":{_WRITER.encode(session)},"turn":{_WRITER.encode(turn)}'.encode()


def encode_reading_signal(reading: ReadingId, signal: ReadingSignal) -> bytes:
    """Encode a signal of a reading as clients see it."""
    return _WRITER.encode({"type": signal.type, "reading": reading, **to_json(signal)}).encode()


def format_time(moment: datetime) -> str:
    """Write a time as RFC 3339 in UTC with microseconds."""
    # Our clock's times are in UTC already, and each record has one.
    at = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Read a time that `format_time` wrote."""
    return datetime.fromisoformat(text).astimezone(UTC)


def to_json(value: object) -> JsonObject:
    """Turn a value of the core (a dataclass) into JSON members, with the API's names."""
    return _to_json(value)


def _to_json(value: object) -> Any:
    writer = _writer_of(type(value))
    return value if writer is None else writer(value)


# Looked up once for each type: a record has dozens of values, and a turn half a dozen records.
@cache
def _writer_of(kind: type[Any]) -> Callable[[Any], JsonValue] | None:
    """Choose how values of a type are written; None for those that JSON has as they are."""
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, datetime):
        return format_time
    if kind is tuple:
        return lambda value: [_to_json(item) for item in value]
    if not is_dataclass(kind):
        return None
    may_be_left_out = LEFT_OUT_BY_DEFAULT.get(kind, frozenset())
    members = tuple(
        (
            field.name,
            JSON_NAME.get(field.name, field.name),
            field.default if field.name in may_be_left_out else MISSING,
        )
        for field in fields(kind)
    )
    return partial(_write_members, members)


def _write_members(members: tuple[tuple[str, str, object], ...], value: object) -> JsonObject:
    written: JsonObject = {}
    for attribute, name, left_out in members:
        member: object = getattr(value, attribute)
        if left_out is MISSING or member != left_out:
            # As `_to_json` does it, without a call for each member.
            write = _writer_of(type(member))
            written[name] = member if write is None else write(member)
    return written


def from_json(target: type[Any], members: JsonObject) -> object:
    """Build a dataclass or a struct of the core from JSON members; members that it doesn't know are passed over.

    Raises:
        KeyError: a member without a default is missing.
        TypeError: a member has another type than the field.
        ValueError: either of them, in a struct.
    """
    if issubclass(target, msgspec.Struct):
        return msgspec.convert(members, target)
    arguments: dict[str, object] = {}
    for attribute, name, read, required in _readers_of(target):
        if name in members:
            arguments[attribute] = read(members[name])
        elif required:
            raise KeyError(name)
    return target(**arguments)


@cache
def _readers_of(target: type) -> tuple[tuple[str, str, Callable[[JsonValue], object], bool], ...]:
    hints = get_type_hints(target)
    return tuple(
        (
            field.name,
            JSON_NAME.get(field.name, field.name),
            _reader_of(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(target)
    )


@cache
def _reader_of(hint: Any) -> Callable[[JsonValue], object]:
    """Choose how values of a type are read."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        (other,) = (member for member in get_args(hint) if member is not NoneType)
        read = _reader_of(other)
        return lambda value: None if value is None else read(value)
    if origin is tuple:
        read_item = _reader_of(get_args(hint)[0])
        return lambda value: tuple(read_item(item) for item in value)
    if isinstance(hint, NewType):
        return _reader_of(hint.__supertype__)
    if is_dataclass(hint):
        return lambda value: from_json(cast(type, hint), _checked(dict, value))
    if hint is datetime:
        return lambda value: parse_time(_checked(str, value))
    if hint is float:
        return float
    if origin is None and issubclass(hint, Enum):
        return hint
    return partial(_checked, origin or hint)


def _checked(expected: type, value: JsonValue) -> Any:
    # bool is an int in Python, but not in JSON.
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise TypeError(f"expected {expected.__name__}, found {type(value).__name__}")
    return value


# Made once: `json.dumps` makes an encoder at each call, which costs more than a small text's encoding.
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_SORTING_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True)
