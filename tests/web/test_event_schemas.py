"""Every event has a schema in the OpenAPI document, and what is sent is as its schema says (H6, section 4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
from fastapi.openapi.utils import get_openapi

from service.core.completion_events import WaitReason
from service.core.json_types import JsonObject
from service.core.reading.records import ReadingRecord
from service.core.reading.signals import ReadingSignal
from service.core.records import CacheLossReason, Limit, Outcome, Record, ResultStatus
from service.core.signals import Signal
from service.web.app import create_app
from service.web.schemas.events import (
    READING_EVENT,
    READING_RECORDS,
    READING_SIGNALS,
    SESSION_RECORD,
    TURN_EVENT,
    TURN_RECORDS,
    TURN_SIGNALS,
    event_schemas,
)
from service.web.schemas.events.words import ALL_WORDS
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.web import event_samples
from tests.web.event_samples import DOCUMENT, SCHEMAS, Event, examples, faults, judge_of, kind_of, validator
from tests.web.serving import settings_with
from tests.web.test_whole_way import served_house

pytestmark = pytest.mark.rules("H6")

KINDS = [kind.name for kind in (*TURN_RECORDS, *TURN_SIGNALS, *READING_RECORDS, *READING_SIGNALS)]
UNIONS = {TURN_EVENT: Record | Signal, SESSION_RECORD: Record, READING_EVENT: ReadingRecord | ReadingSignal}


@pytest.mark.parametrize("union", UNIONS)
def test_each_record_and_each_signal_has_a_schema_and_each_schema_is_of_one(union: str) -> None:
    mapping = SCHEMAS[union]["discriminator"]["mapping"]

    assert sorted(mapping) == sorted(kind.type for kind in get_args(UNIONS[union]))
    assert [{"$ref": target} for target in mapping.values()] == SCHEMAS[union]["oneOf"]
    for name, target in mapping.items():
        schema = SCHEMAS[target.rpartition("/")[2]]
        assert schema["properties"]["type"]["const"] == name


def test_no_schema_of_an_event_or_of_a_part_is_without_use() -> None:
    named = json.dumps(DOCUMENT)

    assert [name for name in event_schemas() if f'"#/components/schemas/{name}"' not in named] == []


def test_each_event_and_each_field_is_explained_and_nothing_else_is() -> None:
    told = {name: schema for name, schema in event_schemas().items() if "properties" in schema}
    said: set[str] = set()
    for name, schema in told.items():
        assert schema["title"] == name
        assert schema["description"].endswith((".", ")"))
        fields = {field: member for field, member in schema["properties"].items() if field != "type"}
        assert all(member["description"] for member in fields.values()), name
        said |= {member["description"] for member in fields.values()}

    assert [word for words in ALL_WORDS.values() for word in words.fields.values() if word not in said] == []


def test_answers_and_events_mean_the_same_by_the_same_name() -> None:
    of_events = event_schemas()
    routes = create_app(settings_with()).routes
    of_answers = get_openapi(title="", version="", routes=routes)["components"]["schemas"]

    both = (of_events.keys() & of_answers.keys()) - {SESSION_RECORD}
    assert {name: of_events[name] for name in both} == {name: of_answers[name] for name in both}
    assert {"Outcome", "Limit", "ErrorKind", "DataClass", "ReadingOutcome"} < both


def test_what_runs_emit_is_as_the_schemas_say_and_no_kind_of_event_is_missing() -> None:
    events = event_samples.of_scenes()

    assert faults(events) == []
    every = {target for union in UNIONS for target in SCHEMAS[union]["discriminator"]["mapping"].values()}
    assert {f"#/components/schemas/{kind_of(event)}" for event in events} == every


def test_the_streams_of_a_real_llama_server_are_as_the_schemas_say() -> None:
    events = event_samples.of_a_real_server()

    assert len(events) > 1000
    assert faults(events) == []


@pytest.mark.rules("S6")
def test_logs_of_earlier_versions_are_as_the_schemas_say(tmp_path: Path) -> None:
    events = event_samples.of_old_logs(tmp_path)

    assert {"session", "reading"} <= {name for event in events for name in event}
    assert faults(events) == []


def test_whatever_becomes_of_a_conversation_its_records_are_as_the_schemas_say() -> None:
    events = event_samples.of_conversations()

    assert faults(events) == []
    assert {event["status"] for event in events if event["type"] == "tool_result"} == set(ResultStatus)
    ended = [event for event in events if event["type"] == "turn_finished"]
    assert {event["outcome"] for event in ended} == set(Outcome)
    assert {event["limit"] for event in ended if "limit" in event} == set(Limit)
    assert any(event["truncated"] for event in events if event["type"] == "tool_result")


def test_each_field_is_seen_and_one_that_may_be_left_out_is_seen_without() -> None:
    rare = event_samples.in_rare_forms()
    common = [*event_samples.of_scenes(), *event_samples.of_a_real_server(), *event_samples.of_conversations()]
    assert faults(rare) == []
    given: dict[str, set[str]] = {}
    lacking: dict[str, set[str]] = {}
    for event in [*common, *rare]:
        name = kind_of(event)
        properties = set(SCHEMAS[name]["properties"])
        given.setdefault(name, set()).update(event)
        lacking.setdefault(name, set()).update(properties - set(event))

    for name, fields in given.items():
        properties, required = set(SCHEMAS[name]["properties"]), set(SCHEMAS[name]["required"])
        assert fields - properties == set(), name
        assert properties - fields == set(), name
        assert lacking[name] == properties - required, name


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_without_a_field_that_is_always_there_is_refused(kind: str) -> None:
    event = examples()[kind]

    for field in SCHEMAS[kind]["required"]:
        assert not validator(kind).is_valid({name: value for name, value in event.items() if name != field}), field


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_of_another_type_or_with_a_value_that_is_not_in_its_list_is_refused(kind: str) -> None:
    for place, event in spoiled(examples()[kind]):
        assert not validator(kind).is_valid(event), place


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_a_later_version_adds_is_passed_over(kind: str) -> None:
    assert validator(kind).is_valid({**examples()[kind], "colour": {"of": ["a", "later", "version"]}})


def spoiled(event: Event) -> Iterator[tuple[str, Event]]:
    """Give an event again and again with one of its values replaced by one of a type that no field has."""
    for path in _places(event):
        copy = deepcopy(event)
        inner: Any = copy
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = _WRONG
        yield ".".join(map(str, path)), copy


# No field is a list of lists of these, and no list of values has it.
_WRONG = [[True], "no such value"]
# Raw JSON that is not ours.
_FREE = ("sampling", "response_format")


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = [(name, inner) for name, inner in value.items() if name not in _FREE]  # pyright: ignore[reportUnknownVariableType]
    elif isinstance(value, list):
        items = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType]
    for step, inner in items:
        yield (*path, step)
        yield from _places(inner, (*path, step))


ENUMS: dict[str, tuple[str, Callable[[JsonObject], str]]] = {
    "TurnFinishedRecord": ("outcome", lambda event: event["outcome"]),
    "ToolResultRecord": ("status", lambda event: event["status"]),
    "AttemptRecord": ("kind", lambda event: event["kind"]),
    "CacheLossRecord": ("reason", lambda event: event["reason"]),
    "RetryingSignal": ("reason", lambda event: event["reason"]),
    "WaitingSignal": ("reason", lambda event: event["reason"]),
    "ReadingWaitingSignal": ("reason", lambda event: event["reason"]),
    "ReadingRunEndRecord": ("outcome", lambda event: event["outcome"]),
}


@pytest.mark.parametrize("kind", ENUMS)
def test_a_word_that_is_none_of_the_list_is_refused(kind: str) -> None:
    field, value = ENUMS[kind]
    event = examples()[kind]

    assert validator(kind).is_valid(event)
    assert not validator(kind).is_valid({**event, field: f"{value(event)}_"})


def test_lists_of_words_are_those_of_the_core() -> None:
    lists = {"CacheLossReason": CacheLossReason, "ResultStatus": ResultStatus, "WaitReason": WaitReason}

    assert {name: SCHEMAS[name]["enum"] for name in lists} == {
        name: [word.value for word in words] for name, words in lists.items()
    }


RECORDS = DOCUMENT["paths"]["/sessions/{session}/records"]["get"]["responses"]["200"]["content"]


@pytest.mark.anyio
async def test_pages_and_exports_of_records_are_as_the_document_says() -> None:
    script = [Play(reasoning="Hm.", calls=(call("weather"),)), ask_for(call("gone"), call("weather", "{")), say("Dry.")]
    house = House(ScriptedLlama(*script), TablePort(spec("weather")))
    session = await house.session()
    await house.run(session)
    async with served_house(house) as service:
        page = (await service.http.get(f"/sessions/{session}/records")).json()
        lines = await service.http.get(f"/sessions/{session}/records", headers={"Accept": "application/x-ndjson"})

    exported: list[Event] = [json.loads(line) for line in lines.content.splitlines()]
    of_page, of_line = (judge_of(RECORDS[kind]["schema"]) for kind in ("application/json", "application/x-ndjson"))
    assert [fault.message for fault in of_page.iter_errors(page)] == []
    assert [fault.message for record in exported for fault in of_line.iter_errors(record)] == []
    assert page["items"] == exported
    assert len(exported) > 10
    assert not of_page.is_valid({**page, "items": [{**page["items"][0], "type": "unheard_of"}]})
    assert not of_line.is_valid({**exported[-1], "outcome": "unheard_of"})


STREAMS = {
    ("/sessions/{session}/turns", "post"): TURN_EVENT,
    ("/sessions/{session}/turns/{turn}/decisions", "post"): TURN_EVENT,
    ("/sessions/{session}/turns/{turn}/events", "get"): TURN_EVENT,
    ("/sessions/{session}/events", "get"): TURN_EVENT,
    ("/events", "get"): TURN_EVENT,
    ("/readings", "post"): READING_EVENT,
    ("/readings/{reading}/events", "get"): READING_EVENT,
}


def test_each_route_that_streams_names_the_schema_of_its_events() -> None:
    found = {
        (path, method): answer["content"]["text/event-stream"]["schema"]["properties"]
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        for answer in operation["responses"].values()
        if "text/event-stream" in answer.get("content", {})
    }

    assert {route: members["data"]["contentSchema"]["$ref"].rpartition("/")[2] for route, members in found.items()} == (
        STREAMS
    )
    for route, members in found.items():
        assert members["event"]["enum"] == list(SCHEMAS[STREAMS[route]]["discriminator"]["mapping"])
