"""`docs/events.md` shows what a run gives: an example of each event, and a whole stream as it is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs.event_scenes import StillClock
from service.core.json_types import JsonObject
from service.web.schemas.events import READING_RECORDS, READING_SIGNALS, TURN_RECORDS, TURN_SIGNALS
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama
from tests.web.event_samples import examples, kind_of, of_scenes, validator
from tests.web.test_whole_way import served_house

pytestmark = pytest.mark.rules("H6")

PAGE = (Path(__file__).parents[2] / "docs/events.md").read_text(encoding="utf-8")
KINDS = (*TURN_RECORDS, *TURN_SIGNALS, *READING_RECORDS, *READING_SIGNALS)
HEADING = re.compile(r"`(\w+)` \((\w+)\)")


def shown() -> list[tuple[str, str, str, JsonObject]]:
    """Give what the page shows of each event: its type, the name of its schema, the head of the frame and its data."""
    found: list[tuple[str, str, str, JsonObject]] = []
    for section in PAGE.split("\n### ")[1:]:
        heading = HEADING.match(section)
        if heading is not None:
            frame = section.split("```\n")[1]
            head, _, data = frame.partition("data: ")
            found.append((heading[1], heading[2], head, json.loads(data)))
    return found


def test_each_event_is_shown_once() -> None:
    told = [(kind, name) for kind, name, _, _ in shown()]

    assert sorted(told) == sorted((kind.type, kind.name) for kind in KINDS)


def test_each_example_is_an_event_of_a_run_and_as_its_schema_says() -> None:
    run = of_scenes()

    for kind, name, head, event in shown():
        assert (event["type"], kind_of(event)) == (kind, name)
        assert [fault.message for fault in validator(name).iter_errors(event)] == []
        assert event in run, name
        assert f"event: {kind}\n" in head
        assert ("pos" in event) == (f"id: {event.get('pos')}\n" in head)


def test_each_field_is_in_the_table_of_its_event() -> None:
    for name, example in examples().items():
        _, _, section = PAGE.partition(f" ({name})\n")
        table = section.partition("```")[0]
        envelope = {"type", "session", "turn", "reading", "seq", "pos", "time"}
        assert [field for field in set(example) - envelope if f"\n| `{field}` | " not in table] == [], name


@pytest.mark.anyio
async def test_the_stream_at_the_top_is_what_a_post_is_answered_with() -> None:
    llama = ScriptedLlama(Play(reasoning="The user greets me.", content="Hello there!"))
    async with served_house(House(llama, clock=StillClock())) as service:
        made = await service.http.post("/sessions", json={"system": "Be brief."})
        path = f"{made.headers['location']}/turns"
        answer = (await service.http.post(path, json={"content": "Hello"})).text

    stream = PAGE.split("```\n")[1].rstrip()
    assert stream.startswith("retry: 2000\n\n")
    assert answer.startswith("retry: 2000\n\n")
    assert [block for block in answer.split("\n\n") if block.startswith("id: ")] == [
        block for block in stream.split("\n\n") if block.startswith("id: ")
    ]
