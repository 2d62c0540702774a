"""What a request for a reading is refused for, before anything is begun, and which field is named (H2)."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.web.fake_readings import FakeDocuments, FakeReadings
from tests.web.fakes import FakeApplication
from tests.web.served_readings import (
    QUERY,
    a_house,
    asked,
    boundary_form,
    fields,
    file_part,
    form_headers,
    problem,
    query_part,
    served_readings,
    text_of,
)
from tests.web.serving import called, settings_with

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H2", "R1")]

ONE = [{"name": "a.txt", "text": "A text."}]
TWO = [*ONE, {"name": "b.txt", "text": "B text."}]
JSON_TYPE = {"Content-Type": "application/json"}
FILE = ("files", ("a.txt", b"A text.", "text/plain"))


@pytest.fixture
def readings(application: FakeApplication) -> FakeReadings:
    return application.readings


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"documents": ONE}, "query"),
        ({"query": "", "documents": ONE}, "query"),
        ({"query": " \n", "documents": ONE}, "query"),
        ({"query": 5, "documents": ONE}, "query"),
        ({"query": "x" * (1024 * 1024 + 1), "documents": ONE}, "query"),
        ({"query": QUERY}, "documents"),
        ({"query": QUERY, "documents": []}, "documents"),
        ({"query": QUERY, "documents": ONE * 257, "level": 2}, "documents"),
        ({"query": QUERY, "documents": "A text."}, "documents"),
        ({"query": QUERY, "documents": [{"name": "a.txt"}]}, "documents.0.text"),
        ({"query": QUERY, "documents": [{"text": "A text."}]}, "documents.0.name"),
        ({"query": QUERY, "documents": [*ONE, {"name": "b", "text": ""}], "level": 2}, "documents.1.text"),
        ({"query": QUERY, "documents": [{"name": "a", "text": "\t\n \u2003"}]}, "documents.0.text"),
        ({"query": QUERY, "documents": [{"name": "", "text": "A"}]}, "documents.0.name"),
        ({"query": QUERY, "documents": [{"name": "a\nb", "text": "A"}]}, "documents.0.name"),
        ({"query": QUERY, "documents": [{"name": "a\x1b[2J", "text": "A"}]}, "documents.0.name"),
        ({"query": QUERY, "documents": [{"name": "ä" * 257, "text": "A"}]}, "documents.0.name"),
        ({"query": QUERY, "documents": [{"name": "a", "text": "A", "type": "text"}]}, "documents.0.type"),
        ({"query": QUERY, "documents": TWO}, "level"),
        ({"query": QUERY, "documents": TWO, "level": 1}, "level"),
        ({"query": QUERY, "documents": ONE, "level": 3}, "level"),
        ({"query": QUERY, "documents": ONE, "level": 0}, "level"),
        ({"query": QUERY, "documents": ONE, "level": "2"}, "level"),
        ({"query": QUERY, "documents": ONE, "level": True}, "level"),
        ({"query": QUERY, "documents": ONE, "exit": "soon"}, "exit"),
        ({"query": QUERY, "documents": ONE, "memory_budget": 15}, "memory_budget"),
        ({"query": QUERY, "documents": ONE, "memory_budget": 2**31}, "memory_budget"),
        ({"query": QUERY, "documents": ONE, "memory_budget": 64.5}, "memory_budget"),
        ({"query": QUERY, "documents": ONE, "chunk_tokens": 127}, "chunk_tokens"),
        ({"query": QUERY, "documents": ONE, "parallel": 0}, "parallel"),
        ({"query": QUERY, "documents": ONE, "parallel": 257}, "parallel"),
        ({"query": QUERY, "documents": ONE, "colour": "red"}, "colour"),
        ([], "the body"),
        ("A text.", "the body"),
        (None, "the body"),
    ],
)
async def test_json_that_says_something_wrong_is_refused_by_the_name_of_the_field(
    http: httpx.AsyncClient, readings: FakeReadings, body: object, field: str
) -> None:
    refused = await http.post("/readings", content=json.dumps(body), headers=JSON_TYPE)

    assert problem(refused) == (422, "validation", [field])
    assert readings.created == []


@pytest.mark.parametrize("content", [b"", b"{", b"{'query': 1}", b"\xff", b'{"query": NaN}', b"[" * 100_000])
async def test_what_is_no_json_is_refused(http: httpx.AsyncClient, readings: FakeReadings, content: bytes) -> None:
    refused = await http.post("/readings", content=content, headers=JSON_TYPE)

    assert problem(refused) == (422, "validation", ["the body"])
    assert readings.created == []


async def test_a_post_without_a_body_is_told_what_it_lacks(http: httpx.AsyncClient) -> None:
    refused = await http.post("/readings")

    assert problem(refused) == (422, "validation", ["the body"])
    assert refused.json()["detail"] == "the body is required"


async def test_what_both_forms_have_may_be_left_out_or_said(http: httpx.AsyncClient, readings: FakeReadings) -> None:
    options = {"level": 2, "exit": "measured", "memory_budget": 64, "chunk_tokens": 256, "parallel": 3}
    said = await http.post("/readings", json={"query": QUERY, "documents": ONE, **options, "memory_budget": 64.0})
    left_out = await http.post("/readings", json={"query": QUERY, "documents": ONE, "level": None, "exit": None})
    in_a_form = await http.post("/readings", data={"query": QUERY, **options}, files=[FILE])
    left_out_there = await http.post("/readings", data={"query": QUERY}, files=[FILE])

    answers = (said, left_out, in_a_form, left_out_there)
    assert [answer.status_code for answer in answers] == [200] * 4, [answer.text for answer in answers]
    begun = readings.created
    assert begun[0].options == begun[2].options != begun[1].options == begun[3].options
    assert (begun[0].options.memory_budget, begun[1].options.memory_budget) == (64, 1024)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"query": QUERY, "level": "3"}, "level"),
        ({"query": QUERY, "level": "two"}, "level"),
        ({"query": QUERY, "level": ""}, "level"),
        ({"query": QUERY, "level": "null"}, "level"),
        ({"query": QUERY, "memory_budget": "abc"}, "memory_budget"),
        ({"query": QUERY, "memory_budget": "-64"}, "memory_budget"),
        ({"query": QUERY, "memory_budget": "6_4"}, "memory_budget"),
        ({"query": QUERY, "memory_budget": "٦٤"}, "memory_budget"),
        ({"query": QUERY, "memory_budget": "9" * 5000}, "memory_budget"),
        ({"query": QUERY, "exit": "NEVER"}, "exit"),
        ({"query": QUERY, "chunk_tokens": "12"}, "chunk_tokens"),
        ({"query": QUERY, "parallel": "0"}, "parallel"),
        ({"query": QUERY, "colour": "red"}, "colour"),
        ({"query": QUERY, "documents": "[]"}, "documents"),
        ({"query": QUERY, "_charset_": "utf-8"}, "_charset_"),
        ({"query": "x" * (1024 * 1024 + 1)}, "query"),
    ],
)
async def test_a_form_that_says_something_wrong_is_refused_by_the_name_of_the_field(
    http: httpx.AsyncClient, readings: FakeReadings, form: dict[str, str], field: str
) -> None:
    refused = await http.post("/readings", data=form, files=[FILE])

    assert problem(refused) == (422, "validation", [field])
    assert readings.created == []


@pytest.mark.parametrize(
    ("parts", "field", "says"),
    [
        ([query_part()], "files", "is required"),
        ([], "files", "is required"),
        ([query_part(), ('name="files"', b"A text.")], "files", "send it with a filename"),
        ([query_part(), ('name="files"; filename=""', b"")], "files", "should have a filename"),
        ([file_part(), ('name="query"; filename="q.txt"', b"Where?")], "query", "should not be a file"),
        ([query_part(), ('name="file"; filename="a.txt"', b"A")], "file", "files are sent as files"),
        ([query_part(), query_part(), file_part()], "query", "should be sent once"),
        ([file_part(), ('name="query"', b"\xff\xfe")], "query", "should be UTF-8"),
        ([query_part(), file_part(), file_part()], "level", "should be 2 with several documents"),
        ([query_part(), *[file_part()] * 257], "files", "at most 256 times"),
        ([*[(f'name="f{number}"', b"") for number in range(17)], file_part()], "the body", "at most 16 fields"),
        ([query_part(), b"Content-Type: text/plain\r\n\r\nA"], "the body", "without a name"),
        ([query_part(), b'Content-Disposition: attachment; name="files"\r\n\r\nA'], "the body", "without a name"),
    ],
)
async def test_a_form_with_wrong_parts_is_refused_by_the_name_of_the_field(
    http: httpx.AsyncClient, readings: FakeReadings, parts: list[tuple[str, bytes]], field: str, says: str
) -> None:
    refused = await http.post("/readings", content=boundary_form(*parts), headers=form_headers())

    assert problem(refused) == (422, "validation", [field])
    assert says in refused.json()["detail"]
    assert readings.created == []


@pytest.mark.rules("R10")
@pytest.mark.parametrize("sent", ["json", "form"])
async def test_a_memory_too_large_for_the_context_is_refused_with_what_to_do(sent: str) -> None:
    house = a_house()
    async with served_readings(house) as service:
        if sent == "json":
            refused = await service.http.post("/readings", json=asked(text_of(""), memory_budget=4096))
        else:
            refused = await service.http.post("/readings", data=fields(memory_budget=4096), files=[FILE])
        listed = await service.http.get("/readings")

    assert problem(refused)[:2] == (422, "validation")
    assert "Ask for a smaller memory_budget or chunk_tokens" in refused.json()["detail"]
    assert listed.json()["items"] == []
    assert house.llama.calls == 0


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.zip", b"PK\x03\x04" + bytes(64), '"a.zip" is a ZIP'),
        ("a.txt", b"", '"a.txt" is empty'),
        ("a.txt", b" \n\n", '"a.txt" has no text in it'),
        ("a.txt", bytes(100_000), '"a.txt" '),
        ("a.pdf", b"%PDF-1.4\nnothing more", '"a.pdf" '),
    ],
)
async def test_a_file_without_usable_text_is_refused_by_its_name(name: str, content: bytes, says: str) -> None:
    good = ("files", ("good.txt", b"A text.", "text/plain"))
    async with served_readings(a_house()) as service:
        refused = await service.http.post("/readings", data=fields(level=2), files=[good, ("files", (name, content))])
        listed = await service.http.get("/readings")

    assert problem(refused) == (422, "validation", ["files"])
    assert refused.json()["detail"].startswith(says)
    assert listed.json()["items"] == []


async def test_texts_that_are_larger_than_their_files_are_refused_before_all_are_in_memory(
    application: FakeApplication,
) -> None:
    application.documents = FakeDocuments(text="x" * 1500)
    files = [("files", (f"{number}.pdf", b"packed", "application/pdf")) for number in range(5)]
    async with called(application, settings_with(max_upload_bytes=4000)) as http:
        refused = await http.post("/readings", data={"query": QUERY, "level": "2"}, files=files)

    assert problem(refused) == (422, "validation", ["files"])
    assert "setting max_upload_bytes" in refused.json()["detail"]
    assert len(application.documents.names) == 3


@pytest.mark.parametrize("query", ["on_disconnect=stay", "colour=red", "on_disconnect="])
async def test_a_wrong_query_is_refused(http: httpx.AsyncClient, readings: FakeReadings, query: str) -> None:
    refused = await http.post(f"/readings?{query}", json={"query": QUERY, "documents": ONE})

    assert problem(refused) == (422, "validation", [query.partition("=")[0]])
    assert readings.created == []


@pytest.mark.rules("H6")
async def test_a_cursor_is_ignored_on_a_post(http: httpx.AsyncClient, readings: FakeReadings) -> None:
    begun = await http.post(
        "/readings?after=99", json={"query": QUERY, "documents": ONE}, headers={"Last-Event-ID": "99"}
    )

    assert begun.status_code == 200
    assert b"event: run_end" in begun.content


@pytest.mark.rules("H8")
async def test_a_service_that_stops_begins_none_and_says_so() -> None:
    house = a_house()
    async with served_readings(house) as service:
        await house.readings.shut_down()
        refused = await service.http.post("/readings", json=asked(text_of("")))
        refused_form = await service.http.post("/readings", data=fields(), files=[FILE])

    assert problem(refused)[:2] == problem(refused_form)[:2] == (503, "shutting_down")
    assert refused.headers["retry-after"] == refused_form.headers["retry-after"] == "5"
