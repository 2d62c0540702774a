"""The page of events: what each is, read off its schema, and an example out of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from docs import event_scenes as turns
from docs import reading_scenes as readings
from docs.event_scenes import Frames, Scene
from service.core.json_types import JsonObject
from service.web.schemas.events import (
    READING_RECORDS,
    READING_SIGNALS,
    TURN_RECORDS,
    TURN_SIGNALS,
    EventKind,
    event_schemas,
)
from service.web.sse import OPENING

Example = tuple[str, Scene]
"""The type of an event, and the scene that it is taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Events that belong together."""

    title: str
    says: str = ""
    of_readings: bool = False
    examples: Sequence[Example] = field(default=())


GROUPS = (
    Group(
        title="A turn",
        examples=(
            ("session_created", turns.plain),
            ("turn_queued", turns.queued),
            ("queued", turns.queued),
            ("user", turns.plain),
            ("turn_finished", turns.tools),
            ("resumed", turns.restarted),
        ),
    ),
    Group(
        title="Steps",
        says="A step is one completion of the model, with the calls that it asks for.",
        examples=(
            ("waiting", turns.waited),
            ("progress", turns.plain),
            ("reasoning", turns.plain),
            ("content", turns.plain),
            ("assistant", turns.tools),
            ("usage", turns.plain),
            ("thinking_capped", turns.capped),
            ("attempt", turns.retried),
            ("retrying", turns.retried),
        ),
    ),
    Group(
        title="Tools",
        says="The state of a call is its last record.",
        examples=(
            ("tool_call_started", turns.tools),
            ("tool_result", turns.tools),
            ("handoff_started", turns.handoff),
            ("handoff_returned", turns.handoff),
        ),
    ),
    Group(
        title="Approvals",
        says="[howto/approve-tools.md](howto/approve-tools.md) tells how to decide.",
        examples=(("approval_requested", turns.approval), ("approval_decided", turns.approval)),
    ),
    Group(
        title="The context",
        examples=(("summary", turns.compacted), ("cache_loss", turns.cache_lost)),
    ),
    Group(
        title="Streams",
        says="These tell of the stream itself.",
        examples=(
            ("partial", turns.joined),
            ("resync", turns.beyond),
            ("shutting_down", turns.restarted),
            ("session_deleted", turns.deleted),
            ("store_error", turns.disk_full),
        ),
    ),
    Group(
        title="Readings",
        says=(
            "The stream of a reading has events of its own; they carry `reading` in place of `session` and `turn`. "
            "[readings.md](readings.md) tells what a reading is."
        ),
        of_readings=True,
        examples=(
            ("reading_created", readings.read),
            ("reading_planned", readings.read),
            ("chunk_started", readings.read),
            ("content", readings.read),
            ("gate", readings.measured),
            ("evidence", readings.read),
            ("memory", readings.read),
            ("budget_exceeded", readings.too_long),
            ("parse_failed", readings.no_json),
            ("retrying", readings.no_json),
            ("usage", readings.read),
            ("progress", readings.read),
            ("answer", readings.read),
            ("run_end", readings.read),
            ("queued", readings.queued),
            ("waiting", readings.waited),
            ("partial", readings.joined),
            ("resync", readings.beyond),
            ("shutting_down", readings.stopped),
            ("store_error", readings.disk_full),
        ),
    ),
)

HEAD = """\
# Events

Made from the schemas of the events and from turns that are run, by `make docs`; don't edit it here.

All that happens in a turn is told by events, as server-sent events. This is the whole stream of a short turn, as the
answer of `POST /sessions/{{id}}/turns`:

```
{stream}
```

- An event with an `id` is a **record**. It stays in the log, in the order of its `seq`, and is in each stream of its
  turn, of its session and of all sessions. The others are **signals**: they are shown while they are news, and not
  kept.
- The `id` is the record's `pos`. A client that was cut off asks again with the last one that it has seen, as
  `Last-Event-ID` or `?after=`: it gets all records behind it, then `partial` with the text of the step in flight, then
  what comes. Nothing is missing and nothing comes twice ([howto/call-it-from-code.md](howto/call-it-from-code.md)).
- `data` is one line of JSON. A line that begins with `:` is a comment, sent when nothing else was for some time;
  `retry` says how many milliseconds to wait before coming back.
- Later versions may add fields, types of events and values of those fields that have a list of them. Pass over what
  you don't know.
- Text comes in pieces with an `offset`, counted in code points of that step's text. The `assistant` record has all of
  it once more.
- The stream of a turn ends behind `turn_finished`. That of a POST also ends behind `approval_requested`: when the calls
  are decided, the answer to the last decision goes on with the turn.

`openapi/openapi.json` has a schema for each, named as in the headings below: `TurnEvent` is any event of a turn,
`SessionRecord` any record of a session (the items of `GET /sessions/{{id}}/records`, too), `ReadingEvent` any event of
a reading.

Each event has these fields; those that the tables below name come on top.

| field | in | what it is |
|---|---|---|
{envelope}

The examples have a field a line, so that they can be read; on the wire an event is one line.
"""


def events_page() -> str:
    """Write the page; the turns and readings are run for it."""
    schemas = event_schemas()
    played = {scene: turns.play(scene) for group in GROUPS for _, scene in group.examples}
    stream = (OPENING + b"".join(played[turns.plain][1:])).decode().rstrip()
    envelope = "\n".join(_envelope_rows(schemas))
    lines = [HEAD.format(stream=stream, envelope=envelope)]
    for group in GROUPS:
        lines += [f"## {group.title}", "", *([group.says, ""] if group.says else [])]
        for kind, scene in group.examples:
            lines += _event(_kind_of(kind, group), schemas, played[scene])
    lines += _parts(schemas)
    return "\n".join(lines)


def _kind_of(name: str, group: Group) -> EventKind:
    kinds = (*READING_RECORDS, *READING_SIGNALS) if group.of_readings else (*TURN_RECORDS, *TURN_SIGNALS)
    (found,) = (kind for kind in kinds if kind.type == name)
    return found


_RULES = re.compile(r" \([A-Z]\d[^)]*\)")
_ENVELOPE = ("type", "session", "turn", "reading", "seq", "pos", "time")


def _envelope_rows(schemas: JsonObject) -> Iterator[str]:
    yield "| `type` | all | What kind of event it is; the `event` of the frame says the same. |"
    record, of_reading = schemas["UserRecord"]["properties"], schemas["ReadingCreatedRecord"]["properties"]
    for name in _ENVELOPE[1:]:
        where = {"session": "turns", "turn": "turns", "reading": "readings"}.get(name, "records")
        yield f"| `{name}` | {where} | {(record.get(name) or of_reading[name])['description']} |"


def _event(kind: EventKind, schemas: JsonObject, frames: Frames) -> Iterator[str]:
    schema = schemas[kind.name]
    yield f"### `{kind.type}` ({kind.name})"
    yield ""
    yield schema["description"]
    yield ""
    own = {name: told for name, told in schema["properties"].items() if name not in _ENVELOPE}
    yield from _fields(own, schemas)
    yield "```"
    yield _example(kind, frames)
    yield "```"
    yield ""


def _fields(own: JsonObject, schemas: JsonObject) -> Iterator[str]:
    if not own:
        return
    yield "| field | type | what it is |"
    yield "|---|---|---|"
    for name, told in own.items():
        yield f"| `{name}` | {_type_of(told, schemas)} | {told['description']} |"
    yield ""


def _type_of(told: JsonObject, schemas: JsonObject) -> str:
    if "anyOf" in told:
        return " or ".join(_type_of(kind, schemas) for kind in told["anyOf"])
    if "$ref" in told:
        name = told["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in told:
        return ", ".join(f"`{value}`" for value in told["enum"])
    if told["type"] == "array":
        return f"list of {_type_of(told['items'], schemas)}"
    return "time" if told.get("format") == "date-time" else str(told["type"])


def _example(kind: EventKind, frames: Frames) -> str:
    """Show a frame with each field on a line of its own, those first that all have."""
    found = next(frame.decode() for frame in frames if f"event: {kind.type}\n".encode() in frame)
    head, _, data = found.rstrip().partition("data: ")
    event = json.loads(data)
    names = sorted(event, key=lambda name: _ENVELOPE.index(name) if name in _ENVELOPE else len(_ENVELOPE))
    members = [f"  {json.dumps(name)}: {_compact(event[name])}" for name in names]
    return f"{head}data: {{\n" + ",\n".join(members) + "\n}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parts(schemas: JsonObject) -> Iterator[str]:
    kinds = {kind.name for kind in (*TURN_RECORDS, *TURN_SIGNALS, *READING_RECORDS, *READING_SIGNALS)}
    parts = {name: schema for name, schema in schemas.items() if name not in kinds and "oneOf" not in schema}
    yield "## Parts"
    yield ""
    yield "What the fields above are made of, and the values that they may have."
    yield ""
    for name in sorted(parts):
        schema = parts[name]
        yield f"### {name}"
        yield ""
        yield _RULES.sub("", schema["description"])
        yield ""
        if "properties" in schema:
            yield from _fields(schema["properties"], schemas)
        else:
            yield ", ".join(f"`{one}`" for one in schema["enum"])
            yield ""
