"""What files of a form are called: names that people are shown, without the path that some clients send (R1)."""

from __future__ import annotations

import httpx
import pytest

from tests.web.fake_readings import FakeReadings
from tests.web.fakes import FakeApplication
from tests.web.served_readings import (
    posted,
    problem,
    query_part,
)

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]


@pytest.fixture
def readings(application: FakeApplication) -> FakeReadings:
    return application.readings


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('name="files"; filename="a.txt"', "a.txt"),
        ("name=files; filename=a.txt", "a.txt"),
        ('name="files"; filename="../../etc/passwd"', "passwd"),
        ('name="files"; filename="/etc/passwd"', "passwd"),
        (r'name="files"; filename="C:\fakepath\a.txt"', "a.txt"),
        (r'name="files"; filename="..\a.txt"', "a.txt"),
        ('name="files"; filename=".."', ".."),
        ('name="files"; filename="nai\u0308ve \u6587\u66f8.txt"', "nai\u0308ve \u6587\u66f8.txt"),
        ('name="files"; filename="a;b.txt"', "a;b.txt"),
        (r'name="files"; filename="say \"hi\".txt"', 'say "hi".txt'),
        ("name=\"files\"; filename*=UTF-8''na%C3%AFve%20a.txt", "na\u00efve a.txt"),
        ("name=\"files\"; filename*=utf-8'en'na%C3%AFve.txt", "na\u00efve.txt"),
        ('name="files"; filename="plain.txt"; filename*=UTF-8\'\'na%C3%AFve.txt', "plain.txt"),
        ("name=\"files\"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
        (f'name="files"; filename="{"x" * 508}.txt"', f"{'x' * 508}.txt"),
        ('name="files"; filename="\u202etxt.exe"', "\u202etxt.exe"),
    ],
)
async def test_a_file_keeps_its_name_without_its_path(
    http: httpx.AsyncClient, readings: FakeReadings, disposition: str, name: str
) -> None:
    answer = await posted(http, query_part(), (disposition, b"A text."))

    assert answer.status_code == 200, answer.text
    assert [document.name for document in readings.created[0].documents] == [name]


@pytest.mark.parametrize(
    ("disposition", "says"),
    [
        (f'name="files"; filename="{"x" * 513}"', "at most 512 bytes"),
        (f'name="files"; filename="{"ä" * 300}"', "at most 512 bytes"),
        ('name="files"; filename="a\x1b[2Jb.txt"', "without control characters"),
        ('name="files"; filename="a\tb.txt"', "without control characters"),
        ('name="files"; filename="a\x00b.txt"', "without control characters"),
        ("name=\"files\"; filename*=UTF-8''a%0Ab.txt", "without control characters"),
        ("name=\"files\"; filename*=UTF-8''%FF.txt", "UTF-8"),
        ("name=\"files\"; filename*=iso-8859-1''%E4.txt", "UTF-8"),
        ('name="files"; filename*=utf-8', "should have a filename"),
        ('name="files"; filename="dir/"', "should have a filename"),
        ('name="files"; filename=""', "should have a filename"),
    ],
)
async def test_a_file_without_a_name_for_people_is_refused(
    http: httpx.AsyncClient, readings: FakeReadings, disposition: str, says: str
) -> None:
    refused = await posted(http, query_part(), (disposition, b"A text."))

    assert refused.status_code == 422, refused.text
    assert says in refused.json()["detail"]
    assert readings.created == []


async def test_a_name_that_is_not_utf_8_is_refused(http: httpx.AsyncClient, readings: FakeReadings) -> None:
    part = b'Content-Disposition: form-data; name="files"; filename="\xe4.txt"\r\n\r\nA text.'
    refused = await posted(http, query_part(), part)

    assert problem(refused) == (422, "validation", ["files"])
    assert readings.created == []
