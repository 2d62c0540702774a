"""Events to hold against their schemas: of runs, of a real llama-server, and of logs of earlier versions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import jsonschema_rs
from structlog.testing import capture_logs

from docs.event_scenes import TURN_SCENES
from docs.event_scenes import play as play_scene
from docs.reading_scenes import READING_SCENES
from service.codec import encode_reading_record, encode_record
from service.core.errors import ErrorKind
from service.core.ids import ReadingId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.reading.records import AnswerGiven, GateSet, ReadingEntry, ReadingOutcome, ReadingRecord, RunEnd
from service.core.records import ApprovalDecided, DecisionSignature, Entry, TurnError
from service.core.usage import UsageTotals
from service.web.openapi import openapi_document
from service.web.schemas.events import READING_EVENT, TURN_EVENT
from tests.adapters.log_sql.old_databases import ENDED, UNFINISHED, database_of
from tests.conversations.driver import play
from tests.conversations.generator import made
from tests.fakes.clock import START

DOCUMENT = openapi_document()
SCHEMAS: JsonObject = DOCUMENT["components"]["schemas"]
RECORDINGS = sorted((Path(__file__).parents[1] / "dashboard/recordings").glob("*.sse"))

_SEED = 12
_CONVERSATIONS = 60

Event = JsonObject


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """Give what judges a value by a schema of the document."""
    return judge_of({"$ref": f"#/components/schemas/{name}"})


def judge_of(schema: JsonObject) -> jsonschema_rs.Draft202012Validator:
    """Give what judges a value by a schema that refers to those of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def faults(events: Sequence[Event]) -> list[str]:
    """Say what is wrong with events, each by the schema of its union and by that of its own kind."""
    found: list[str] = []
    for event in events:
        for name in (_union_of(event), kind_of(event)):
            found += [f"{name}: {fault.message}: {event}" for fault in validator(name).iter_errors(event)]
    return found


def _union_of(event: Event) -> str:
    return READING_EVENT if "reading" in event and "session" not in event else TURN_EVENT


def kind_of(event: Event) -> str:
    """Name the schema of an event's own kind, as the document's discriminator does."""
    mapping: dict[str, str] = SCHEMAS[_union_of(event)]["discriminator"]["mapping"]
    return mapping[event["type"]].rpartition("/")[2]


def events_in(stream: bytes) -> list[Event]:
    """Read the events of a stream."""
    return [json.loads(line.removeprefix(b"data: ")) for line in stream.split(b"\n") if line.startswith(b"data: ")]


@cache
def of_scenes() -> list[Event]:
    """Give all events of the turns and readings that the page of events is made from."""
    return [event for scene in (*TURN_SCENES, *READING_SCENES) for event in events_in(b"".join(play_scene(scene)))]


@cache
def of_a_real_server() -> list[Event]:
    """Give all events of the recorded streams of a real llama-server."""
    return [event for file in RECORDINGS for event in events_in(file.read_bytes())]


@cache
def of_conversations() -> list[Event]:
    """Give the records of generated conversations: limits, people, restarts, full disks, lost servers."""
    with capture_logs():
        played = [asyncio.run(play(made(_SEED, number))) for number in range(_CONVERSATIONS)]
    return [
        {**json.loads(encode_record(entry)), "pos": pos}
        for conversation in played
        for session in conversation.sessions
        for entry, pos in zip(session.entries, session.positions, strict=True)
    ]


def in_rare_forms() -> list[Event]:
    """Give records with the fields that none of the others has."""
    signature = DecisionSignature(key="ann", value="c2lnbmVk")
    decided = ApprovalDecided(call=1, approved=True, digest="sha256:00", by="ann", signature=signature)
    entry = Entry(session=SessionId("ses_1"), turn=TurnId("trn_1"), seq=1, time=START, record=decided)
    error = TurnError(kind=ErrorKind.UPSTREAM_HTTP, message="It failed.", status=500)
    of_reading: tuple[ReadingRecord, ...] = (
        GateSet(level=1, document=1, chunk=1, update=False, exit=True, exit_refused=True),
        AnswerGiven(level=1, content="In the", memory="00", truncated=True),
        RunEnd(
            level=1, outcome=ReadingOutcome.FAILED, error=error, chunks_seen=0, chunks_used=0, calls=1,
            exits_refused=1, final_memory_sha=None, usage=UsageTotals(),
        ),
    )  # fmt: skip
    entries = [ReadingEntry(reading=ReadingId("rdg_1"), seq=1, time=START, record=record) for record in of_reading]
    bodies = [encode_record(entry), *map(encode_reading_record, entries)]
    return [{**json.loads(body), "pos": 1} for body in bodies]


def of_old_logs(folder: Path) -> list[Event]:
    """Give the records that earlier versions have written."""
    return [event for dump in (*ENDED, *UNFINISHED) for event in _stored(dump, folder)]


def _stored(dump: Path, folder: Path) -> Iterator[Event]:
    folder = folder / dump.stem
    folder.mkdir()
    path = database_of(dump, folder).removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        for body, pos in connection.execute("SELECT body, pos FROM records"):
            yield {**json.loads(body), "pos": pos}
    connection.close()


def examples() -> dict[str, Event]:
    """Give one event of each kind, by the name of its schema."""
    found: dict[str, Event] = {}
    for event in of_scenes():
        found.setdefault(kind_of(event), event)
    return found
