"""Forms with files: their names, their ends, and what becomes of them when something breaks (R1)."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncGenerator, Callable
from typing import BinaryIO, cast

import httpx
import pytest

from service.ports.documents import DocumentText, UploadedFile
from tests.web.fake_readings import FakeDocuments, FakeReadings
from tests.web.fakes import FakeApplication
from tests.web.served_readings import (
    QUERY,
    a_house,
    boundary_form,
    file_part,
    form_headers,
    posted,
    problem,
    query_part,
    served_readings,
    text_of,
)
from tests.web.serving import BOUND_S, Served, called, served, within_bound
from tests.web.stepped import settle

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]

TEXT = text_of("the KEY is here", "")


@pytest.fixture
def readings(application: FakeApplication) -> FakeReadings:
    return application.readings


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[BinaryIO]:
    """The temporary files that were made, by whomever."""
    made: list[BinaryIO] = []
    real = tempfile.SpooledTemporaryFile[bytes]

    class Noted(real):
        def __init__(self, max_size: int = 0) -> None:
            super().__init__(max_size)
            made.append(cast(BinaryIO, self))

    monkeypatch.setattr("service.web.multipart.SpooledTemporaryFile", Noted)
    return made


@pytest.mark.parametrize("kept", range(0, 230, 7))
async def test_a_form_that_ends_early_is_refused_wherever_it_ends(
    http: httpx.AsyncClient, readings: FakeReadings, opened: list[BinaryIO], kept: int
) -> None:
    form = boundary_form(query_part(), file_part(b"The first."), file_part(b"The second."), ('name="level"', b"2"))
    refused = await http.post("/readings", content=form[: min(kept, len(form) - 5)], headers=form_headers())

    assert problem(refused)[:2] == (422, "validation")
    assert readings.created == []
    assert all(file.closed for file in opened)


@pytest.mark.parametrize(
    ("content_type", "form"),
    [
        ("multipart/form-data; boundary=other", boundary_form(query_part(), file_part())),
        ("multipart/form-data", boundary_form(query_part(), file_part())),
        ("multipart/form-data; boundary=", boundary_form(query_part(), file_part())),
        ("multipart/form-data; boundary=" + "x" * 300, boundary_form(query_part(), boundary="x" * 300)),
        ("multipart/form-data; boundary=x", b"{}"),
        ("multipart/form-data; boundary=x", b"\r\n\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nno header\r\n\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"A" * 10_000 + b": b\r\n\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"A: b\r\n" * 1000 + b"\r\n--x--\r\n"),
    ],
    ids=["other", "none", "empty", "long", "json", "blank", "no header", "long header", "many headers"],
)
async def test_what_is_no_form_of_its_boundary_is_refused(
    http: httpx.AsyncClient, readings: FakeReadings, content_type: str, form: bytes
) -> None:
    refused = await http.post("/readings", content=form, headers={"Content-Type": content_type})

    assert problem(refused) == (422, "validation", ["the body"])
    assert readings.created == []


async def test_a_form_without_a_body_is_refused(http: httpx.AsyncClient) -> None:
    refused = await http.post("/readings", headers=form_headers())

    assert problem(refused) == (422, "validation", ["the body"])


@pytest.mark.parametrize("charset", ["utf-16", "idna", "punycode", "undefined", "rot13", "nonsense", "latin-1"])
async def test_a_charset_that_forms_do_not_have_changes_nothing(
    http: httpx.AsyncClient, readings: FakeReadings, charset: str
) -> None:
    form = boundary_form(query_part("W\u00f6?"), file_part())
    headers = {"Content-Type": f"multipart/form-data; charset={charset}; boundary=x"}
    answer = await http.post("/readings", content=form, headers=headers)

    assert answer.status_code == 200
    assert readings.created[0].query == "W\u00f6?"


@pytest.mark.parametrize("piece", [1, 2, 3, 64, 100_000])
async def test_a_form_is_the_same_in_whatever_pieces_it_comes(
    http: httpx.AsyncClient, application: FakeApplication, piece: int
) -> None:
    contents: list[tuple[str, str | None, bytes]] = []

    class Reader(FakeDocuments):
        async def read(self, file: UploadedFile) -> DocumentText:
            file.content.seek(0)
            contents.append((file.name, file.media_type, file.content.read()))
            return await super().read(file)

    application.documents = Reader()
    typed = b'content-disposition: form-data; name="files"; filename="b"\r\ncontent-TYPE: text/html; charset=x\r\n\r\n-'
    form = boundary_form(query_part(), file_part(b"\r\n--y\r\n--\r\n\r"), typed, ('name="level"', b"2"))

    async def pieces() -> AsyncGenerator[bytes]:
        for start in range(0, len(form), piece):
            yield form[start : start + piece]

    answer = await http.post("/readings", content=pieces(), headers=form_headers())

    assert answer.status_code == 200, answer.text
    assert contents == [("a.txt", None, b"\r\n--y\r\n--\r\n\r"), ("b", "text/html; charset=x", b"-")]


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "gzip"])
async def test_a_file_that_is_packed_for_mail_is_refused(http: httpx.AsyncClient, encoding: str) -> None:
    part = (f'name="files"; filename="a.txt"\r\nContent-Transfer-Encoding: {encoding}', b"QSB0ZXh0Lg==")
    refused = await posted(http, query_part(), part)
    plain = await posted(http, query_part(), (part[0].replace(encoding, "Binary"), b"A text."))

    assert problem(refused) == (422, "validation", ["files"])
    assert "Content-Transfer-Encoding" in refused.json()["detail"]
    assert plain.status_code == 200


async def test_256_files_are_read_and_gone_afterwards(
    http: httpx.AsyncClient, readings: FakeReadings, opened: list[BinaryIO]
) -> None:
    files = [file_part(b"x" * 100_000, f"{number}.txt") for number in range(256)]
    answer = await posted(http, query_part(), ('name="level"', b"2"), *files)

    assert answer.status_code == 200, answer.text
    assert len(readings.created[0].documents) == 256
    assert len(opened) == 256
    assert all(file.closed for file in opened)


async def test_files_are_gone_when_a_document_can_not_be_read(opened: list[BinaryIO]) -> None:
    async with served_readings(a_house()) as service:
        refused = await posted(service.http, query_part(), file_part(b"PK\x03\x04" + bytes(200_000), "a.zip"))

    assert problem(refused) == (422, "validation", ["files"])
    assert [file.closed for file in opened] == [True]


async def test_files_are_gone_while_the_reading_still_runs(opened: list[BinaryIO]) -> None:
    house = a_house()
    hold = asyncio.Event()
    house.llama.before_each = lambda: hold
    async with served_readings(house) as service:
        form = boundary_form(query_part(), ('name="memory_budget"', b"64"), file_part(TEXT.encode()))
        async with service.http.stream("POST", "/readings", content=form, headers=form_headers()) as response:
            closed = [file.closed for file in opened]
            hold.set()
            await response.aread()

    assert closed == [True]


@pytest.mark.parametrize("form", [True, False], ids=["form", "json"])
async def test_a_client_that_leaves_in_mid_upload_leaves_nothing_behind(
    application: FakeApplication, opened: list[BinaryIO], caplog: pytest.LogCaptureFixture, form: bool
) -> None:
    content = boundary_form(query_part(), file_part(b"x" * 300_000), whole=False) if form else b'{"query": "'
    content_type = "multipart/form-data; boundary=x" if form else "application/json"
    async with served(application) as service:
        logging.getLogger("uvicorn").addHandler(caplog.handler)
        _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(
            f"POST /readings HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: 900000\r\nIdempotency-Key: k\r\n\r\n".encode()
            + content
        )
        await writer.drain()
        await until(lambda: bool(service.server.server_state.tasks))
        if form:
            await until(lambda: bool(opened) and opened[0].tell() > 100_000)
        writer.transport.abort()
        await until(lambda: not service.server.server_state.connections and not service.server.server_state.tasks)
        logging.getLogger("uvicorn").removeHandler(caplog.handler)

    assert all(file.closed for file in opened)
    assert len(opened) == form
    assert application.readings.created == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not holds():
            await settle()


@pytest.mark.rules("H5")
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("query", ["", "?on_disconnect=cancel"])
async def test_a_client_that_leaves_while_its_files_are_read_is_as_one_that_leaves_later(
    accept: str, query: str
) -> None:
    house = a_house()
    hold = asyncio.Event()
    if query:
        house.llama.before_each = lambda: hold
    documents = FakeDocuments(before_each=asyncio.Event(), text=TEXT)
    async with served_readings(house, documents=documents) as service:
        await leave_while_files_are_read(service, documents, accept, query)
        async with asyncio.timeout(BOUND_S):
            while not (items := (await service.http.get("/readings")).json()["items"]) or items[0]["outcome"] is None:
                await settle()

    assert [item["outcome"] for item in items] == ["cancelled" if query else "answered"]


async def leave_while_files_are_read(service: Served, documents: FakeDocuments, accept: str, query: str) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", service.port)
    form = boundary_form(query_part(), ('name="memory_budget"', b"64"), file_part())
    writer.write(
        f"POST /readings{query} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        f"Accept: {accept}\r\nContent-Length: {len(form)}\r\n\r\n".encode()
        + form
    )
    await within_bound(documents.reading)
    writer.transport.abort()
    await until(lambda: not service.server.server_state.connections)
    assert documents.before_each is not None
    documents.before_each.set()


async def test_two_uploads_at_the_same_time_have_nothing_to_do_with_one_another(application: FakeApplication) -> None:
    async with called(application) as http:
        answers = await asyncio.gather(
            *(posted(http, query_part(f"{QUERY} {number}"), file_part(b"x", f"{number}.txt")) for number in range(8))
        )

    assert {answer.status_code for answer in answers} == {200}
    asked = {(begun.query, begun.documents[0].name) for begun in application.readings.created}
    assert asked == {(f"{QUERY} {number}", f"{number}.txt") for number in range(8)}
