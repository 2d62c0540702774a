"""Readings over HTTP: begun as JSON or with files, answered in three forms, shown, listed, cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.adapters.log_memory import MemoryLog
from tests.adapters.documents.made_pdfs import page, pdf_of
from tests.readings.reading_house import ReadingHouse
from tests.web.served_readings import (
    QUERY,
    a_house,
    asked,
    fields,
    kinds_of,
    problem,
    records_of,
    served_readings,
    stream,
    text_of,
)
from tests.web.serving import within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]

TEXT = text_of("", "the KEY is here", "")
WAITING = {"Accept": "application/json"}
AT_ONCE = {"Prefer": "respond-async"}

RECORDS = [
    "reading_created",
    "reading_planned",
    *("gate", "usage"),
    *("gate", "evidence", "memory", "usage"),
    *("gate", "usage"),
    *("answer", "usage"),
    "run_end",
]


@pytest.mark.rules("H1", "H6")
async def test_a_reading_streams_from_its_first_record_to_its_end() -> None:
    async with served_readings(a_house()) as service:
        frames = await stream(service, "POST", "/readings", json=asked(TEXT))
        address = f"/readings/{records_of(frames)[0].data['reading']}"
        replayed = await stream(service, "GET", f"{address}/events")

    assert kinds_of(records_of(frames)) == RECORDS
    assert records_of(replayed) == records_of(frames)
    assert kinds_of(replayed)[1:] == RECORDS
    told = [frame.data for frame in frames if frame.field("event") == "content"]
    assert "".join(piece["text"] for piece in told if piece["chunk"] is None) == "Answer: KEY under 2;"


@pytest.mark.rules("H1", "H5")
async def test_a_reading_is_waited_for_and_found_again() -> None:
    async with served_readings(a_house()) as service:
        waited = await service.http.post("/readings", json=asked(TEXT), headers=WAITING)
        found = await service.http.get(waited.headers["content-location"])

    assert (waited.status_code, waited.json()) == (200, found.json())
    assert "location" not in waited.headers
    assert waited.json()["answer"] == "Answer: KEY under 2;"


@pytest.mark.rules("H1")
async def test_a_reading_that_nobody_waits_for_is_answered_with_its_address() -> None:
    house = a_house()
    hold = asyncio.Event()
    house.llama.before_each = lambda: hold
    async with served_readings(house) as service:
        begun = await service.http.post("/readings", json=asked(TEXT), headers=AT_ONCE)
        hold.set()
        frames = await stream(service, "GET", f"{begun.headers['location']}/events")

    assert begun.status_code == 202
    assert begun.headers["preference-applied"] == "respond-async"
    assert begun.headers["location"] == begun.headers["content-location"] == f"/readings/{begun.json()['id']}"
    assert begun.json()["state"] == "queued"
    assert kinds_of(frames)[-1] == "run_end"


@pytest.mark.rules("H1")
async def test_the_answer_comes_in_no_other_form() -> None:
    house = a_house()
    async with served_readings(house) as service:
        refused = await service.http.post("/readings", json=asked(TEXT), headers={"Accept": "text/html"})
        listed = await service.http.get("/readings")

    assert problem(refused)[:2] == (406, "not_acceptable")
    assert listed.json() == {"items": [], "next": None}


async def test_a_reading_says_what_it_is_while_it_is_queued_runs_and_has_ended() -> None:
    house = a_house()
    arrived, hold = asyncio.Event(), asyncio.Event()

    def held_at_the_third_call() -> asyncio.Event | None:
        if house.llama.calls < 3:
            return None
        arrived.set()
        return hold

    house.llama.before_each = held_at_the_third_call
    async with served_readings(house) as service:
        begun = await service.http.post("/readings", json=asked(TEXT), headers=AT_ONCE)
        address = begun.headers["location"]
        await within_bound(arrived)
        running = (await service.http.get(address)).json()
        hold.set()
        ended_stream = await stream(service, "GET", f"{address}/events")
        ended = (await service.http.get(address)).json()

    queued = begun.json()
    assert set(queued) == set(running) == set(ended)
    document = queued["documents"][0]
    assert (document["name"], document["media_type"], document["chunks"]) == ("1.txt", "text/plain", None)
    assert (document["bytes"], len(document["sha256"])) == (len(TEXT.encode()), 64)
    for shown in (queued, running, ended):
        assert (shown["owner"], shown["query"]) == ("local", QUERY)
        assert shown["options"] == {
            "level": 1,
            "exit": "never",
            "memory_budget": 64,
            "chunk_tokens": 128,
            "parallel": None,
        }
        assert shown["error"] is None
    assert [shown["state"] for shown in (queued, running, ended)] == ["queued", "running", "finished"]
    assert [shown["outcome"] for shown in (queued, running, ended)] == [None, None, "answered"]
    assert [shown["answer"] for shown in (queued, running, ended)] == [None, None, "Answer: KEY under 2;"]
    counted = [(shown["chunks_seen"], shown["chunks_used"], shown["calls"]) for shown in (queued, running, ended)]
    assert counted == [(0, 0, 0), (2, 1, 2), (3, 1, 4)]
    assert [shown["documents"][0]["chunks"] for shown in (running, ended)] == [3, 3]
    assert queued["usage"]["completions"] == 0
    assert (running["usage"]["completions"], ended["usage"]["completions"]) == (2, 4)
    assert [shown["head"]["seq"] for shown in (queued, ended)] == [1, len(RECORDS)]
    assert ended_stream[-1].data["seq"] == ended["head"]["seq"]
    assert queued["head"]["hash"] != ended["head"]["hash"]
    assert queued["created_at"] == ended["created_at"] < ended["updated_at"]


@pytest.mark.rules("R10")
async def test_a_reading_without_evidence_has_no_answer() -> None:
    async with served_readings(a_house()) as service:
        waited = await service.http.post("/readings", json=asked(text_of("", "")), headers=WAITING)

    shown = waited.json()
    assert (shown["outcome"], shown["answer"], shown["calls"], shown["error"]) == ("not_found", None, 2, None)


async def test_a_reading_that_failed_says_why() -> None:
    house = a_house()
    house.llama.answers = lambda notes: ""
    async with served_readings(house) as service:
        waited = await service.http.post("/readings", json=asked(TEXT), headers=WAITING)

    shown = waited.json()
    assert (waited.status_code, shown["outcome"], shown["answer"]) == (200, "failed", None)
    assert (shown["error"]["kind"], shown["error"]["message"]) == (
        "empty_answer",
        "the model gave no answer out of the memory",
    )


@pytest.mark.parametrize(
    ("name", "content", "media_type", "found"),
    [
        ("a.txt", TEXT.encode(), "text/plain", "text/plain"),
        ("a.md", b"# Where\n\nThe KEY is *here*.\n", "text/markdown", "text/markdown"),
        ("a.html", b"<html><body><p>The KEY is here.</p></body></html>", "text/html", "text/html"),
        ("a.pdf", pdf_of([page(b"The KEY is here.")]), "application/pdf", "application/pdf"),
    ],
    ids=["text", "markdown", "html", "pdf"],
)
async def test_a_file_is_read(name: str, content: bytes, media_type: str, found: str) -> None:
    async with served_readings(a_house()) as service:
        waited = await service.http.post(
            "/readings", data=fields(), files=[("files", (name, content, media_type))], headers=WAITING
        )

    shown = waited.json()
    assert (waited.status_code, shown["outcome"]) == (200, "answered"), shown
    assert (shown["documents"][0]["name"], shown["documents"][0]["media_type"]) == (name, found)
    assert waited.headers["content-location"] == f"/readings/{shown['id']}"


@pytest.mark.rules("H1", "R6")
async def test_several_files_are_read_by_themselves_and_then_together_in_each_form() -> None:
    files = [("files", (name, TEXT.encode(), "text/plain")) for name in ("a.txt", "b.txt")]
    form: dict[str, Any] = {"data": fields(level=2, exit="never", parallel=1), "files": files}
    async with served_readings(a_house()) as service:
        frames = await stream(service, "POST", "/readings", **form)
        waited = (await service.http.post("/readings", **form, headers=WAITING)).json()
        begun = await service.http.post("/readings", **form, headers=AT_ONCE)
        await stream(service, "GET", f"{begun.headers['location']}/events")
        later = (await service.http.get(begun.headers["location"])).json()

    assert kinds_of(frames)[-1] == "run_end"
    assert waited["options"] == {
        "level": 2,
        "exit": "never",
        "memory_budget": 64,
        "chunk_tokens": 128,
        "parallel": 1,
    }
    assert [document["chunks"] for document in waited["documents"]] == [3, 3]
    differs = ("id", "created_at", "updated_at", "head")
    assert {**later, **dict.fromkeys(differs)} == {**waited, **dict.fromkeys(differs)}
    assert (waited["chunks_seen"], begun.status_code) == (8, 202)


@pytest.mark.rules("H2")
async def test_a_cancelled_reading_keeps_what_was_read_and_is_cancelled_once() -> None:
    house = a_house()
    arrived, hold = asyncio.Event(), asyncio.Event()

    def held_at_the_second_call() -> asyncio.Event | None:
        if house.llama.calls < 2:
            return None
        arrived.set()
        return hold

    house.llama.before_each = held_at_the_second_call
    async with served_readings(house) as service:
        begun = await service.http.post("/readings", json=asked(TEXT), headers=AT_ONCE)
        address = begun.headers["location"]
        await within_bound(arrived)
        cancelled = await service.http.post(f"{address}/cancel")
        again = await service.http.post(f"{address}/cancel")
        frames = await stream(service, "GET", f"{address}/events")

    assert (cancelled.status_code, again.status_code) == (202, 200)
    assert cancelled.json() == again.json()
    assert (cancelled.json()["state"], cancelled.json()["outcome"]) == ("finished", "cancelled")
    assert cancelled.json()["chunks_seen"] == 1
    assert kinds_of(frames)[1:] == ["reading_created", "reading_planned", "gate", "usage", "run_end"]


@pytest.mark.rules("R5")
async def test_a_reading_goes_on_behind_a_restart_of_the_service_and_its_readers_find_it() -> None:
    log = MemoryLog()
    first = ReadingHouse(a_house().llama, log=log)
    arrived, hold = asyncio.Event(), asyncio.Event()

    def held_at_the_second_call() -> asyncio.Event | None:
        if first.llama.calls < 2:
            return None
        arrived.set()
        return hold

    first.llama.before_each = held_at_the_second_call
    async with served_readings(first) as service:
        begun = await service.http.post("/readings", json=asked(TEXT), headers=AT_ONCE)
        address = begun.headers["location"]
        await within_bound(arrived)
        await first.readings.shut_down()
    second = ReadingHouse(a_house().llama, log=log)
    await second.readings.resume_unfinished()
    async with served_readings(second) as service:
        frames = await stream(service, "GET", f"{address}/events")

    assert kinds_of(records_of(frames)) == RECORDS
    assert second.llama.calls == 3
