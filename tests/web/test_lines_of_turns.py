"""The log of the process has one line for each turn and each reading: what it cost, and nothing of what was said."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, ask_for, refuse, say
from tests.cases.whole_service import AT_ONCE, JSON, WholeService, service_over
from tests.crashes.watched_reader import AskedSection, Said
from tests.readings.reading_house import CHUNK_TOKENS, part, update
from tests.web.metered_llama import MeteredLlama
from tests.web.serving import BOUND_S
from tests.web.test_metrics_of_a_known_run import a_llama, read, streaming, turns_that_end, waiting
from tests.web.test_metrics_of_a_known_run import a_service as a_known_service
from tests.written_logs import WrittenLog, written_logs

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K5")]

CANARY = "zqxjv"
"""Stands in all that people, the model, tools and documents say here, and nowhere else."""

TOKEN_FIELDS = ["prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"]

TURN_FIELDS = [
    *("timestamp", "level", "event", "session", "turn", "trace_id", "outcome", "limit", "error"),
    *("steps", "tool_calls"),
    *TOKEN_FIELDS,
    *("cached_share", "duration_s", "paused_s", "gate_wait_s", "first_token_s"),
]


def sorted_by_turn(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(lines, key=lambda line: line["turn"])


async def test_each_turn_has_one_line_that_says_what_its_resource_says(tmp_path: Path) -> None:
    llama = a_llama()
    with written_logs() as log:
        async with asyncio.timeout(5 * BOUND_S), a_known_service(tmp_path, llama) as service:
            sessions = await turns_that_end(service, llama)
            http = service.served.http
            turns = [turn for path in sessions for turn in (await http.get(f"{path}/turns")).json()["items"]]

    lines = sorted_by_turn(log.of("turn.ended"))
    told = [{**line["usage"], **line} for line in sorted(turns, key=lambda turn: turn["id"])]
    same = ("session", "outcome", "limit", "steps", "tool_calls", *TOKEN_FIELDS)
    assert [line["turn"] for line in lines] == [turn["id"] for turn in told]
    assert [[line[name] for name in same] for line in lines] == [[turn[name] for name in same] for turn in told]
    assert [line["error"] for line in lines] == [(turn["error"] or {"kind": None})["kind"] for turn in told]
    assert {line["level"] for line in lines if line["outcome"] == "failed"} == {"warning"}
    assert {line["level"] for line in lines if line["outcome"] != "failed"} == {"info"}
    for line in lines:
        assert list(line) == TURN_FIELDS
        share = line["cached_tokens"] / line["prompt_tokens"] if line["prompt_tokens"] else None
        assert line["cached_share"] == (None if share is None else round(share, 3))
        assert line["duration_s"] >= (line["first_token_s"] or 0)


async def test_a_turn_that_ends_in_its_queue_has_a_line_without_times(tmp_path: Path) -> None:
    llama = a_llama()
    llama.play("Held", say("Held back", hold=asyncio.Event()))
    with written_logs() as log:
        async with asyncio.timeout(5 * BOUND_S), a_known_service(tmp_path, llama) as service:
            session, held = await streaming(service, "Held")
            body = {"content": "Later", "on_busy": "queue"}
            queued = (await service.served.http.post(f"{session}/turns", json=body, headers=AT_ONCE)).headers[
                "location"
            ]
            await service.cancel(queued)
            await service.cancel(held)

    first, second = log.of("turn.ended")
    assert (first["turn"], second["turn"]) == (queued.rpartition("/")[2], held.rpartition("/")[2])
    assert [first[name] for name in ("outcome", "steps", "duration_s", "first_token_s")] == ["cancelled", 0, None, None]
    assert second["duration_s"] > 0


async def test_the_wait_for_people_is_told_apart(tmp_path: Path) -> None:
    llama = a_llama()
    with written_logs() as log:
        async with asyncio.timeout(5 * BOUND_S), a_known_service(tmp_path, llama) as service:
            session = await service.session()
            turn = await waiting(service, session, "Pays")
            assert log.of("turn.ended") == []
            await service.cancel(turn)
            shown = (await service.served.http.get(turn)).json()
            records = await service.records(session, "approval_requested", "tool_result")

    (line,) = log.of("turn.ended")
    asked, ended = (seconds_of(record["time"]) for record in records)
    whole = seconds_of(shown["finished_at"]) - seconds_of(shown["created_at"])
    assert line["paused_s"] == pytest.approx(ended - asked, abs=0.001)
    assert line["duration_s"] == pytest.approx(whole - line["paused_s"], abs=0.002)


def seconds_of(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


async def test_each_reading_has_one_line_that_says_what_its_resource_says(tmp_path: Path) -> None:
    llama = a_llama()
    with written_logs() as log:
        async with asyncio.timeout(5 * BOUND_S), a_known_service(tmp_path, llama) as service:
            await read(service, "of nothing", "says KEY", "has MUCH")
            await read(service, "of nothing")
            readings = (await service.served.http.get("/readings")).json()["items"]

    told = [{**reading["usage"], **reading, "documents": len(reading["documents"])} for reading in reversed(readings)]
    same = ("outcome", "documents", "chunks_seen", "chunks_used", "completions", *TOKEN_FIELDS)
    lines = log.of("reading.ended")
    assert [line["outcome"] for line in lines] == ["answered", "not_found"]
    assert [line["reading"] for line in lines] == [reading["id"] for reading in told]
    assert [[line[name] for name in same] for line in lines] == [[reading[name] for name in same] for reading in told]
    assert all(line["duration_s"] > 0 for line in lines)


def reads(asked: AskedSection) -> Said:
    return f"{CANARY} lies there." if asked.is_answer else update(f"{CANARY} in the memory")


def a_talkative_llama() -> MeteredLlama:
    llama = MeteredLlama(reads, say(f"In short, {CANARY}."), slots=2, context_tokens=3000)
    arguments = f'{{"for": "{CANARY}"}}'
    calls = [Call(name=name, arguments=arguments, id=name) for name in (f"tell_{CANARY}", "break", f"no_{CANARY}")]
    broken = say(f"Words of {CANARY}", error={"code": 500, "message": f"lost {CANARY}", "type": "server_error"})
    llama.play(
        f"Say {CANARY}",
        ask_for(*calls, text=f"I shall look for {CANARY}.", thought=f"Hm, {CANARY}."),
        ask_for(Call(name="pay", arguments=arguments)),
        say(f"Here is {CANARY}."),
    )
    llama.play(f"Break {CANARY}", broken)
    llama.play(f"Refuse {CANARY}", refuse(400, f"no {CANARY} here"))
    llama.play(f"Long {CANARY}", say(f"{CANARY} and more " * 100))
    return llama


@asynccontextmanager
async def a_talkative_service(store: Path, llama: MeteredLlama) -> AsyncGenerator[WholeService]:
    port = FakePort(
        open_spec(f"tell_{CANARY}", title=f"Tell {CANARY}"),
        open_spec("break"),
        open_spec("pay", needs_approval=True, title=f"Pay {CANARY}"),
        answers={"break": lambda _: None, f"tell_{CANARY}": lambda _: f"{CANARY} was told"},
    )
    async with llama, port, service_over(store, llama, port, compact_at=0.6, min_room=64, retry_attempts=0) as service:
        yield service


async def say_it_everywhere(service: WholeService) -> None:
    """Put the canary into all that is said in turns and readings of each kind."""
    asked: JsonObject = {"title": f"About {CANARY}", "system": f"Know {CANARY}.", "metadata": {"of": CANARY}}
    session = await service.session(**asked)
    turn = await waiting(service, session, f"Say {CANARY}")
    (pending,) = (await service.served.http.get(turn)).json()["pending"]
    decision = {"call": pending["call"], "digest": pending["digest"], "approved": False, "reason": f"Not {CANARY}"}
    await service.served.http.post(f"{turn}/decisions", json={"decisions": [decision]}, headers=JSON)
    for content in (f"Break {CANARY}", f"Refuse {CANARY}"):
        failed = await service.turn(await service.session(), content)
        assert CANARY in failed["error"]["message"]
    long = await service.session()
    for number in range(6):
        await service.turn(long, f"Long {CANARY}" if number == 0 else f"And {CANARY}?")
    assert await service.records(long, "summary")
    await read_about(service)


async def read_about(service: WholeService) -> None:
    document = {"name": f"{CANARY}.txt", "text": part(1, f"says {CANARY}")}
    body = {"query": f"Where is {CANARY}?", "documents": [document], "memory_budget": 64, "chunk_tokens": CHUNK_TOKENS}
    read = await service.served.http.post("/readings", json=body, headers=JSON)
    assert CANARY in read.json()["answer"]


def lines_of(log: WrittenLog, *events: str) -> int:
    return sum(len(log.of(event)) for event in events)


async def test_no_line_holds_anything_of_what_was_said(tmp_path: Path) -> None:
    with written_logs() as log:
        async with asyncio.timeout(5 * BOUND_S), a_talkative_service(tmp_path, a_talkative_llama()) as service:
            await say_it_everywhere(service)

    assert lines_of(log, "turn.ended") == 9
    assert lines_of(log, "reading.ended") == 1
    assert lines_of(log, "compaction.done", "tool_port.no_exchange") > 1
    assert [line for line in log.getvalue().splitlines() if CANARY in line] == []


async def test_a_line_that_is_written_within_a_turn_names_it(tmp_path: Path) -> None:
    with written_logs() as log:
        async with asyncio.timeout(5 * BOUND_S), a_talkative_service(tmp_path, a_talkative_llama()) as service:
            session = await service.session()
            turn = await waiting(service, session, f"Say {CANARY}")
            await service.cancel(turn)

    (line,) = log.of("tool_port.no_exchange")
    assert (line["session"], line["turn"]) == (session.rpartition("/")[2], turn.rpartition("/")[2])


def test_the_page_of_logs_names_each_field_and_its_example_has_them_all() -> None:
    page = (Path(__file__).parents[2] / "docs/logs.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^\{.*\}$", page, re.MULTILINE)

    assert list(json.loads(example)) == TURN_FIELDS
    assert [name for name in TURN_FIELDS[5:] if f"`{name}`" not in page] == []
