"""The events of a reading over HTTP: joined and resumed anywhere without a gap or a duplicate (H6, H7, H8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.ports import Take
from tests.readings.reader_llama import AskedChunk, ReaderLlama
from tests.readings.reading_house import ReadingHouse, retain, update
from tests.web.served_readings import (
    Pausing,
    a_house,
    asked,
    finds,
    kinds_of,
    places_of,
    problem,
    records_of,
    served_readings,
    stream,
    text_of,
)
from tests.web.serving import BOUND_S, Frame, Served, frames_of, within_bound
from tests.web.stepped import settle

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6", "R2")]

TEXT = text_of("", "the KEY is here", "")
AT_ONCE = {"Prefer": "respond-async"}


async def begun(service: Served, **more: object) -> str:
    response = await service.http.post("/readings", json=asked(TEXT, **more), headers=AT_ONCE)
    assert response.status_code == 202, response.text
    return response.headers["location"]


async def next_frames(frames: AsyncGenerator[Frame], number: int) -> list[Frame]:
    return [await anext(frames) for _ in range(number)]


async def test_the_first_frame_comes_at_once_while_nothing_happens() -> None:
    house = a_house()
    pausing = Pausing(house)
    pausing.stop_at(1)
    async with served_readings(house) as service:
        address = await begun(service)
        await within_bound(pausing.arrived)
        last = (await service.http.get(address)).json()["head"]["seq"]
        async with service.http.stream("GET", f"{address}/events?after=999999") as response:
            first, second = await next_frames(frames_of(response), 2)
        await service.http.post(f"{address}/cancel")

    assert first.lines == ("retry: 2000",)
    assert (second.field("event"), second.data["last_pos"]) == ("resync", last)
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["content-type"].startswith("text/event-stream")


async def test_a_finished_reading_is_resumed_behind_each_of_its_records_and_ends_behind_its_last() -> None:
    async with served_readings(a_house()) as service:
        whole = await stream(service, "POST", "/readings", json=asked(TEXT))
        places = places_of(whole)
        address = f"/readings/{records_of(whole)[0].data['reading']}/events"
        for seen in range(len(places)):
            cursors: tuple[tuple[str, dict[str, str]], ...] = (
                (f"{address}?after={places[seen]}", {}),
                (address, {"Last-Event-ID": places[seen]}),
                (f"{address}?after=0", {"Last-Event-ID": places[seen]}),
            )
            for path, headers in cursors:
                if places[seen] == places[-1]:
                    assert (await service.http.get(path, headers=headers)).status_code == 204
                else:
                    rest = await stream(service, "GET", path, headers=headers)
                    assert [frame.lines for frame in rest[1:]] == [
                        frame.lines for frame in records_of(whole)[seen + 1 :]
                    ]
        from_the_start = await stream(service, "GET", f"{address}?after=0")
        beyond = await service.http.get(f"{address}?after=999999")
        far_beyond = await service.http.get(f"{address}?after={'9' * 400}")

    assert records_of(from_the_start) == records_of(whole) == from_the_start[1:]
    assert (beyond.status_code, far_beyond.status_code, beyond.content) == (204, 204, b"")


async def test_two_readings_share_the_places_of_the_store_and_not_their_records() -> None:
    async with served_readings(a_house()) as service:
        one, other = [await stream(service, "POST", "/readings", json=asked(TEXT)) for _ in range(2)]
        address = f"/readings/{records_of(one)[0].data['reading']}/events"
        behind_the_other = await service.http.get(f"{address}?after={places_of(other)[2]}")

    assert set(places_of(one)).isdisjoint(places_of(other))
    assert [frame.data["seq"] for frame in records_of(other)] == list(range(1, len(records_of(other)) + 1))
    assert behind_the_other.status_code == 204


@pytest.mark.parametrize("call", [1, 2, 3, 4])
async def test_a_running_reading_is_resumed_behind_each_of_its_records_without_gap_or_duplicate(call: int) -> None:
    house = a_house()
    pausing = Pausing(house)
    pausing.stop_at(call)
    async with served_readings(house) as service:
        address = await begun(service)
        await within_bound(pausing.arrived)
        seen = (await service.http.get(address)).json()["head"]["seq"]
        readers = [
            asyncio.create_task(stream(service, "GET", f"{address}/events?after={after}")) for after in range(seen + 1)
        ]
        await settle()
        pausing.go_on.set()
        read = await asyncio.wait_for(asyncio.gather(*readers), BOUND_S)
        whole = await stream(service, "GET", f"{address}/events")

    for after, frames in enumerate(read):
        assert [frame.lines for frame in records_of(frames)] == [frame.lines for frame in records_of(whole)[after:]]
    assert all(int(frame.field("id") or "") == frame.data["pos"] for frame in records_of(whole))


@dataclass
class HalvingLlama(ReaderLlama):
    """A model that writes half of its reply to one call and then waits."""

    stops_at: int = 0
    written: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        pieces = 0
        async for item in super().stream(request):
            yield item
            pieces += 1
            # Behind its head and one piece.
            if self.calls == self.stops_at and pieces == 2:
                self.written.set()
                await self.go_on.wait()


async def test_whoever_joins_in_flight_is_told_once_what_was_written_and_then_goes_on() -> None:
    half = HalvingLlama(finds, stops_at=2)
    async with served_readings(ReadingHouse(half)) as service:
        address = await begun(service)
        await within_bound(half.written)
        async with service.http.stream("GET", f"{address}/events") as response:
            frames = frames_of(response)
            told: list[Frame] = []
            while not told or told[-1].field("event") != "partial":
                told.append(await anext(frames))
            half.go_on.set()
            told += [frame async for frame in frames]

    kinds = kinds_of(told)
    partial = told[kinds.index("partial")].data
    following = [frame.data for frame in told[kinds.index("partial") + 1 :] if frame.field("event") == "content"]
    same_reply = [data for data in following if data["chunk"] == 2]
    whole = update("KEY under 2;")
    assert kinds.count("partial") == 1
    assert (partial["chunk"], partial["document"], partial["level"]) == (2, 1, 1)
    assert partial["content"] == whole[: len(whole) // 2]
    assert partial["content"] + "".join(data["text"] for data in same_reply) == whole
    assert same_reply[0]["offset"] == len(partial["content"])
    assert kinds.index("chunk_started") < kinds.index("partial")
    assert told[0].lines == ("retry: 2000",)


@pytest.mark.rules("H1")
async def test_the_stream_of_the_post_is_told_every_piece_and_no_partial() -> None:
    half = HalvingLlama(finds, stops_at=1)
    async with served_readings(ReadingHouse(half)) as service:
        reader = asyncio.create_task(stream(service, "POST", "/readings", json=asked(TEXT)))
        await within_bound(half.written)
        await settle()
        half.go_on.set()
        told = await asyncio.wait_for(reader, BOUND_S)

    texts: dict[object, str] = {}
    for frame in told:
        if frame.field("event") == "content":
            place = frame.data["chunk"]
            assert frame.data["offset"] == len(texts.get(place, ""))
            texts[place] = texts.get(place, "") + frame.data["text"]
    assert "partial" not in kinds_of(told)
    assert texts == {1: retain(), 2: update("KEY under 2;"), 3: retain(), None: "Answer: KEY under 2;"}


async def test_only_records_have_ids_and_signals_name_their_chunk() -> None:
    async with served_readings(a_house()) as service:
        told = await stream(service, "POST", "/readings", json=asked(TEXT))

    signals = {"chunk_started", "content", "progress", "queued", "waiting"}
    assert {frame.field("event") for frame in told[1:] if frame.field("id") is None} <= signals
    assert not signals & set(kinds_of(records_of(told)))
    started = [frame.data for frame in told if frame.field("event") == "chunk_started"]
    assert all((data["level"], data["document"], data["chunks"]) == (1, 1, 3) for data in started)
    progress = [frame.data for frame in told if frame.field("event") == "progress"]
    assert all(data["chunks"] == 3 and data["type"] == "progress" for data in progress)
    assert len({frame.data["reading"] for frame in told[1:]}) == 1


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "1e3", "0x1", "%D9%A3"])
async def test_a_malformed_cursor_is_refused(cursor: str) -> None:
    async with served_readings(a_house()) as service:
        whole = await stream(service, "POST", "/readings", json=asked(TEXT))
        address = f"/readings/{records_of(whole)[0].data['reading']}/events"
        in_query = await service.http.get(f"{address}?after={cursor}")
        in_header = await service.http.get(address, headers={"Last-Event-ID": cursor})

    assert problem(in_query) == (422, "validation", ["after"])
    assert problem(in_header) == (422, "validation", ["Last-Event-ID"])


async def test_who_wants_no_events_is_told_so(service_of_one: tuple[Served, str]) -> None:
    service, address = service_of_one
    refused = await service.http.get(f"{address}/events", headers={"Accept": "application/json"})

    assert problem(refused)[:2] == (406, "not_acceptable")


@pytest.fixture
async def service_of_one() -> AsyncGenerator[tuple[Served, str]]:
    async with served_readings(a_house()) as service:
        whole = await stream(service, "POST", "/readings", json=asked(TEXT))
        yield service, f"/readings/{records_of(whole)[0].data['reading']}"


async def test_line_ends_of_any_kind_in_a_text_end_no_frame() -> None:
    def writes(chunk: AskedChunk) -> str:
        return update("one\u2028two\u2029three\x85four\nfive\rsix")

    house = a_house()
    house.llama.reads = writes
    async with (
        served_readings(house) as service,
        service.http.stream("POST", "/readings", json=asked(text_of(""))) as response,
    ):
        raw = (await response.aread()).decode()

    assert not set("\u2028\u2029\x85\r") & set(raw)
    assert r"one\u2028two\u2029three\u0085four\nfive\rsix" in raw


@pytest.mark.rules("H8")
async def test_at_shutdown_followers_are_told_and_the_reading_stays_unfinished() -> None:
    house = a_house()
    pausing = Pausing(house)
    pausing.stop_at(2)
    async with served_readings(house) as service:
        reader = asyncio.create_task(stream(service, "POST", "/readings?on_disconnect=cancel", json=asked(TEXT)))
        await within_bound(pausing.arrived)
        waiting = asyncio.create_task(
            service.http.post(
                "/readings?on_disconnect=cancel", json=asked(TEXT), headers={"Accept": "application/json"}
            )
        )
        await settle()
        await house.readings.shut_down()
        told = await asyncio.wait_for(reader, BOUND_S)
        waited = await asyncio.wait_for(waiting, BOUND_S)
        address = f"/readings/{records_of(told)[0].data['reading']}"
        shown = (await service.http.get(address)).json()
        later = await stream(service, "GET", f"{address}/events")
        cancelled = await service.http.post(f"{address}/cancel")

    assert told[-1].lines[:2] == ("retry: 5000", "event: shutting_down")
    assert kinds_of(later)[-1] == "shutting_down"
    assert (shown["state"], shown["outcome"]) == ("running", None)
    assert waited.json()["state"] != "finished"
    assert problem(cancelled)[:2] == (503, "shutting_down")


@pytest.mark.rules("H7")
async def test_a_reader_that_takes_nothing_finds_all_records_later_and_is_not_told_what_has_passed() -> None:
    house = a_house()
    long_memory = "a word " * 50_000
    house.llama.reads = lambda chunk: update(long_memory)
    async with served_readings(house) as service:
        sent = asked(text_of(*[""] * 40))
        async with service.http.stream("POST", "/readings", json=sent) as response:
            address = response.headers["content-location"]
            async with asyncio.timeout(BOUND_S):
                while (await service.http.get(address)).json()["state"] != "finished":
                    await settle()
            told = [frame async for frame in frames_of(response)]
        replayed = await stream(service, "GET", f"{address}/events")

    written = 40 * len(update(long_memory))
    taken = sum(len(frame.data["text"]) for frame in told if frame.field("event") == "content")
    assert records_of(told) == records_of(replayed)
    assert kinds_of(told)[-1] == "run_end"
    assert kinds_of(told).count("budget_exceeded") == 40
    # What lay in buffers of the connection came all the same.
    assert taken < written
