"""The schemas of events under their names in the OpenAPI document, and how a stream of them is described there.

OpenAPI 3.1 has no word for a stream's items. `schema` is used as 3.2 uses `itemSchema`: it describes one event as
EventSource shows it, with the JSON of `data` behind `contentSchema`. Most generators read no 3.2 yet, and 3.1 refuses
its `itemSchema`; the schemas themselves stay as they are on the day of the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from service.core.json_types import JsonObject
from service.web.schemas.events.derived import Schemas
from service.web.schemas.events.kinds import READING_RECORDS, READING_SIGNALS, TURN_RECORDS, TURN_SIGNALS, EventKind
from service.web.schemas.events.words import words_of
from service.web.schemas.reference import REF

TURN_EVENT = "TurnEvent"
SESSION_RECORD = "SessionRecord"
READING_EVENT = "ReadingEvent"

_OPEN = "Further fields and further values of `type` may come in later versions: pass over those that you don't know."

_UNIONS: dict[str, tuple[str, Sequence[EventKind]]] = {
    TURN_EVENT: ("What the stream of a turn, of a session or of all sessions brings.", (*TURN_RECORDS, *TURN_SIGNALS)),
    SESSION_RECORD: ("A record of a session's log.", TURN_RECORDS),
    READING_EVENT: ("What the stream of a reading brings.", (*READING_RECORDS, *READING_SIGNALS)),
}

# What may concern more than one session: in the stream of all of them these have no session.
_OF_STREAMS = frozenset({"resync", "shutting_down", "store_error"})


def event_schemas() -> dict[str, JsonObject]:
    """Give the schemas of all events and of what they are made of, by name."""
    schemas = Schemas()
    kinds = [kind for _, kinds in (_UNIONS[TURN_EVENT], _UNIONS[READING_EVENT]) for kind in kinds]
    events = {kind.name: _event(kind, schemas) for kind in kinds}
    unions = {name: _union(says, of) for name, (says, of) in _UNIONS.items()}
    return {**unions, **events, **schemas.found}


def streamed(union: str) -> JsonObject:
    """Describe a stream whose events are of this union: the schema is that of one event."""
    types = [kind.type for kind in _UNIONS[union][1]]
    ids = "With records only, the `pos` of the record: `Last-Event-ID` resumes behind it."
    return {
        "schema": {
            "type": "object",
            "description": "An event. A quiet stream gets a comment now and then.",
            "properties": {
                "event": {"type": "string", "enum": types, "description": "The event's `type`."},
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": {"$ref": REF.format(union)},
                    "description": "The event as JSON in one line.",
                },
                "id": {"type": "string", "pattern": "^[0-9]+$", "description": ids},
                "retry": {"type": "integer", "description": "Milliseconds to wait before coming back."},
            },
            "required": ["event", "data"],
        }
    }


def _union(says: str, kinds: Iterable[EventKind]) -> JsonObject:
    references = {kind.type: REF.format(kind.name) for kind in kinds}
    return {
        "description": f"{says} {_OPEN}",
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": "type", "mapping": references},
    }


def _event(kind: EventKind, schemas: Schemas) -> JsonObject:
    envelope = _envelope(kind)
    properties, required = schemas.members(kind.shape)
    durable = "A record: it stays in the log." if kind.is_record else "A signal: it is shown and not kept."
    return {
        "title": kind.name,
        "description": f"{words_of(kind.shape).says} {durable}",
        "type": "object",
        "properties": {**envelope, **properties},
        "required": [*envelope, *required],
    }


def _envelope(kind: EventKind) -> JsonObject:
    members: JsonObject = {"type": {"type": "string", "const": kind.type}}
    if kind.of_reading:
        members["reading"] = {"type": "string", "description": "The reading."}
    else:
        members["session"] = _id("The session.", "Null where it concerns all.", kind.type in _OF_STREAMS)
        members["turn"] = _id("The turn.", "Null where it is of no single turn.", True)
    if kind.is_record:
        members["seq"] = {"type": "integer", "minimum": 1, "description": "Its place in this log, without gaps."}
        members["pos"] = {"type": "integer", "minimum": 1, "description": "Its place in the store, always growing."}
        members["time"] = {"type": "string", "format": "date-time", "description": "When it was written, in UTC."}
    return members


def _id(says: str, when_null: str, may_be_null: bool) -> JsonObject:
    if not may_be_null:
        return {"type": "string", "description": says}
    return {"anyOf": [{"type": "string"}, {"type": "null"}], "description": f"{says} {when_null}"}
