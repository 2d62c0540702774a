"""The client of a running service, over real sockets: uploads, events, refusals, and connections that break."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest

from service.adapters.service_client.client import WAITS_S, ServiceHttp
from service.adapters.service_client.connection import build_service_client
from service.core.ids import LOCAL_OWNER, ReadingId
from service.ports.running_service import (
    ComingBack,
    SentFile,
    ServiceAway,
    ServiceLost,
    ServiceRefused,
    ServiceTrouble,
    Told,
    ToldEvent,
    WorkBegun,
)
from tests.adapters.cutting_proxy import cutting_proxy
from tests.cli.found_parts import SIZES, Gate, reads
from tests.cli.reading_service import HeldReader, PlainReader, reading_service
from tests.readings.reader_llama import ReaderLlama
from tests.readings.reading_house import ReadingHouse, part
from tests.web.serving import BOUND_S, within_bound

pytestmark = [pytest.mark.anyio]

FIELDS = {"query": "Where is it?", **SIZES}


def parts(*says: str) -> bytes:
    return "".join(part(number, said) for number, said in enumerate(says, start=1)).encode()


def sent(content: bytes, name: str = "book.txt") -> SentFile:
    return SentFile(name=name, content=BytesIO(content))


@dataclass
class Client:
    """A client that comes back when it may, however long it should wait, and what it has been told."""

    service: ServiceHttp
    slept: list[float]
    may_come_back: asyncio.Event
    told: list[Told] = field(default_factory=list[Told])
    on_their_way: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    async def read(self, *files: SentFile, then: Callable[[Told], None] = lambda _: None, **fields: str) -> list[Told]:
        stream = self.service.send_files(
            "/readings",
            FIELDS | fields,
            files,
            ends_with="run_end",
            sent=lambda done, total: self.on_their_way.append((done, total)),
        )
        async with asyncio.timeout(BOUND_S), aclosing(stream) as told:
            async for item in told:
                self.told.append(item)
                then(item)
        return self.told

    @property
    def events(self) -> list[ToldEvent]:
        return [item for item in self.told if isinstance(item, ToldEvent)]

    @property
    def records(self) -> list[tuple[str, int]]:
        return [(event.type, event.pos) for event in self.events if event.pos is not None]

    @property
    def returns(self) -> list[ComingBack]:
        return [item for item in self.told if isinstance(item, ComingBack)]


@pytest.fixture
def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def client_of(url: str, *, silence_s: float = BOUND_S) -> AsyncGenerator[Client]:
    slept: list[float] = []
    may_come_back = asyncio.Event()
    may_come_back.set()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await may_come_back.wait()

    async with build_service_client(url) as http:
        yield Client(ServiceHttp(http, sleep=sleep, silence_s=silence_s), slept, may_come_back)


@asynccontextmanager
async def answering(answer: bytes) -> AsyncGenerator[str]:
    """Give the address of something that says this to whoever asks, and then ends the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length is not None else 0)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def log_of(house: ReadingHouse, location: str) -> list[tuple[str, int]]:
    """Give the records of the reading at this path, as the log has them."""
    reading = ReadingId(location.removeprefix("/readings/"))
    return [(stored.type, stored.pos) for stored in await house.log.read_reading(reading)]


@pytest.mark.rules("R1")
async def test_an_upload_arrives_as_it_was_sent_and_its_events_are_told_to_the_end() -> None:
    house, documents = ReadingHouse(ReaderLlama(reads)), PlainReader()
    files = [
        sent(parts("", "key"), "der Schlüssel.txt"),
        SentFile(name="zwei.md", content=BytesIO(parts("")), media_type="text/markdown"),
    ]

    async with reading_service(house, documents=documents) as served, client_of(str(served.http.base_url)) as client:
        begun, *_, last = await client.read(*files, level="2")
        assert isinstance(begun, WorkBegun)
        assert isinstance(last, ToldEvent)
        resource = await client.service.get(begun.location)

    assert [(file.name, file.media_type) for file in documents.files] == [
        ("der Schlüssel.txt", "application/octet-stream"),
        ("zwei.md", "text/markdown"),
    ]
    assert (last.type, last.data["outcome"]) == ("run_end", "answered")
    assert client.records == await log_of(house, begun.location)
    assert {event.type for event in client.events if event.pos is None} >= {"chunk_started", "content", "progress"}
    assert (resource["query"], resource["options"]["level"], resource["options"]["chunk_tokens"]) == (
        "Where is it?",
        2,
        128,
    )
    assert client.returns == []


class PiecewiseFile(BytesIO):
    """Notes the largest piece that was read."""

    largest = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(size)
        self.largest = max(self.largest, len(piece))
        return piece


async def test_a_file_is_sent_in_pieces_and_how_much_is_on_its_way_is_told() -> None:
    content = PiecewiseFile(b"no use\n\n" * 300_000)

    async with (
        reading_service(ReadingHouse(ReaderLlama(reads))) as served,
        client_of(str(served.http.base_url)) as client,
    ):
        with pytest.raises(ServiceRefused):
            await client.read(SentFile(name="long.txt", content=content), level="7")

    assert content.largest <= 64 * 1024
    done = [done for done, _ in client.on_their_way]
    (total,) = {total for _, total in client.on_their_way}
    assert len(done) > 30
    assert done == sorted(done)
    assert done[-1] == total > 8 * 300_000


@pytest.mark.parametrize("length", [500_000, 2_000_000], ids=["shorter", "longer"])
async def test_a_file_that_changes_while_it_is_sent_is_told_and_not_sent_again(tmp_path: Path, length: int) -> None:
    path = tmp_path / "changing.txt"
    path.write_bytes(b"x" * 1_000_000)

    async with (
        reading_service(ReadingHouse(ReaderLlama(reads))) as served,
        client_of(str(served.http.base_url)) as client,
    ):
        with path.open("rb") as content:
            stream = client.service.send_files(
                "/readings",
                FIELDS,
                [SentFile(name="changing.txt", content=content)],
                ends_with="run_end",
                sent=lambda done, _: os.truncate(path, length) if done < 1000 else None,
            )
            with pytest.raises(ServiceTrouble, match="has changed while it was sent"):
                await anext(stream)

    assert client.slept == []


class Unreadable(BytesIO):
    """A file on a disk that is broken."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, "Input/output error")


async def test_a_file_that_cannot_be_read_is_the_callers_to_tell() -> None:
    broken: BinaryIO = Unreadable(b"text")

    async with (
        reading_service(ReadingHouse(ReaderLlama(reads))) as served,
        client_of(str(served.http.base_url)) as client,
    ):
        with pytest.raises(OSError, match="Input/output error"):
            await client.read(SentFile(name="broken.txt", content=broken))


@pytest.mark.rules("H6")
async def test_a_stream_that_breaks_is_resumed_without_a_gap_and_without_a_record_told_twice() -> None:
    gate = Gate(after=2)
    house = ReadingHouse(ReaderLlama(reads, before_each=gate))

    async with (
        reading_service(house) as served,
        cutting_proxy(served.port) as proxy,
        client_of(proxy.url) as client,
    ):
        reading = asyncio.create_task(client.read(sent(parts("", "key", "", "key")), exit="never"))
        await within_bound(gate.asked)
        proxy.cut()
        gate.open.set()
        begun, *_ = await reading

    assert isinstance(begun, WorkBegun)
    assert client.records == await log_of(house, begun.location)
    assert client.returns == [ComingBack(reason="the connection was lost", attempt=1, attempts=5, wait_s=1.0)]
    assert client.slept == [1.0]
    assert proxy.connections == 2


@pytest.mark.rules("H3")
async def test_a_request_that_got_no_answer_is_made_again_and_begins_one_reading_only() -> None:
    documents = HeldReader()
    house = ReadingHouse(ReaderLlama(reads))

    async with (
        reading_service(house, documents=documents) as served,
        cutting_proxy(served.port) as proxy,
        client_of(proxy.url) as client,
    ):
        reading = asyncio.create_task(client.read(sent(parts("", "key"))))
        await within_bound(documents.asked)
        proxy.cut()
        documents.open.set()
        await reading

    readings, _ = await house.readings.page(LOCAL_OWNER, limit=10, after=None)
    assert len(readings) == 1
    assert [type(item) for item in client.told[:2]] == [ComingBack, WorkBegun]
    assert len(documents.files) == 2
    assert client.events[-1].data["outcome"] == "answered"


@pytest.mark.rules("H8")
async def test_a_service_that_stops_is_come_back_to_when_it_runs_again() -> None:
    gate = Gate(after=2)
    before = ReadingHouse(ReaderLlama(reads, before_each=gate))

    async with AsyncExitStack() as services:
        first = await services.enter_async_context(reading_service(before))
        async with cutting_proxy(first.port) as proxy, client_of(proxy.url) as client:
            reading = asyncio.create_task(client.read(sent(parts("", "key", "", "key"))))
            await within_bound(gate.asked)
            client.may_come_back.clear()
            await before.readings.shut_down()
            await services.aclose()
            after = ReadingHouse(ReaderLlama(reads), log=before.log, ids=before.ids)
            async with reading_service(after) as second:
                proxy.target = second.port
                await after.readings.resume_unfinished()
                client.may_come_back.set()
                begun, *_ = await reading

    assert isinstance(begun, WorkBegun)
    assert client.records == await log_of(after, begun.location)
    assert "shutting_down" in {event.type for event in client.events}
    assert client.returns[0].reason == "the service ended the stream"


async def test_a_service_that_is_gone_for_good_is_given_up_after_growing_waits() -> None:
    gate = Gate(after=1)

    async with (
        reading_service(ReadingHouse(ReaderLlama(reads, before_each=gate))) as served,
        cutting_proxy(served.port) as proxy,
        client_of(proxy.url) as client,
    ):
        reading = asyncio.create_task(client.read(sent(parts("", "key"))))
        await within_bound(gate.asked)
        proxy.is_closed = True
        proxy.cut()
        with pytest.raises(ServiceLost, match="the connection was lost"):
            await reading
        gate.open.set()

    assert client.slept == list(WAITS_S) == sorted(set(WAITS_S))
    assert [(notice.attempt, notice.attempts) for notice in client.returns] == [(at, 5) for at in range(1, 6)]


async def test_attempts_are_counted_anew_when_events_came() -> None:
    gate = Gate()
    house = ReadingHouse(ReaderLlama(reads, before_each=gate))

    async with (
        reading_service(house) as served,
        cutting_proxy(served.port) as proxy,
        client_of(proxy.url) as client,
    ):
        cuts = 0

        def cut_each(item: Told) -> None:
            nonlocal cuts
            if isinstance(item, ToldEvent) and item.type == "chunk_started":
                cuts += 1
                proxy.cut() if cuts <= 2 * len(WAITS_S) else gate.open.set()

        await client.read(sent(parts("key")), then=cut_each)

    assert client.slept == [WAITS_S[0]] * 2 * len(WAITS_S)
    assert client.events[-1].type == "run_end"


async def test_a_stream_without_even_a_comment_is_taken_for_lost() -> None:
    gate = Gate()

    async with (
        reading_service(ReadingHouse(ReaderLlama(reads, before_each=gate))) as served,
        client_of(str(served.http.base_url), silence_s=0.2) as client,
    ):

        def go_on(item: Told) -> None:
            if isinstance(item, ComingBack):
                gate.open.set()

        await client.read(sent(parts("key")), then=go_on)

    assert client.returns[0].reason == "nothing came for 0.2 s"
    assert client.events[-1].type == "run_end"


async def test_where_nothing_answers_it_says_so_at_once(free_port: int) -> None:
    async with client_of(f"http://127.0.0.1:{free_port}") as client:
        with pytest.raises(ServiceAway):
            await client.read(sent(b"text"))
        with pytest.raises(ServiceAway):
            await client.service.post("/readings/rdg_1/cancel")

    assert client.slept == []


async def test_a_refusal_is_told_in_the_words_of_the_service() -> None:
    async with (
        reading_service(ReadingHouse(ReaderLlama(reads))) as served,
        client_of(str(served.http.base_url)) as client,
    ):
        with pytest.raises(ServiceRefused, match=r"^\"a.zip\" is a ZIP archive; unpack it") as zipped:
            await client.read(sent(b"PK\0", "a.zip"))
        with pytest.raises(ServiceRefused, match="There is no reading 'rdg_1'") as unknown:
            await client.service.get("/readings/rdg_1")

    assert (zipped.value.status, unknown.value.status) == (422, 404)
    assert client.slept == []


HTML = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<h1>Hello</h1>"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (HTML % b"200 OK", "it does not say what it has begun"),
        (HTML % b"404 Not Found", "no Turnkeeper: HTTP status 404"),
        (HTML % b"302 Found", "no Turnkeeper: HTTP status 302"),
        (HTML % b"502 Bad Gateway", "it answered with HTTP status 502"),
    ],
    ids=["a page", "another server", "a redirect", "a gateway"],
)
async def test_something_else_at_the_address_is_told(answer: bytes, says: str) -> None:
    async with answering(answer) as url, client_of(url) as client:
        with pytest.raises(ServiceTrouble, match=says):
            await client.read(sent(b"text"))

    assert client.slept == []


async def test_an_answer_that_is_no_json_is_told() -> None:
    async with answering(HTML % b"200 OK") as url, client_of(url) as client:
        with pytest.raises(ServiceTrouble, match="no Turnkeeper"):
            await client.service.get("/readings/rdg_1")


async def test_an_event_without_an_end_is_not_kept_in_memory_for_ever() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Location: /readings/r\r\n\r\n"
    async with answering(head + b"data: " + b"x" * (65 * 1024 * 1024)) as url, client_of(url) as client:
        with pytest.raises(ServiceTrouble, match="its stream can't be read"):
            await client.read(sent(b"text"))


async def test_events_that_are_no_json_objects_are_passed_over() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Location: /readings/r\r\n\r\n"
    body = b'data: no json\n\ndata: [1]\n\nevent: other\ndata: {"pos": true}\n\nevent: run_end\ndata: {"pos": 7}\n\n'
    async with answering(head + body) as url, client_of(url) as client:
        await client.read(sent(b"text"))

    assert [(event.type, event.pos) for event in client.events] == [("other", None), ("run_end", 7)]
