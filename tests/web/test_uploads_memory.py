"""A large upload goes to the disk: what it takes of memory does not grow with it (R1)."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator

import pytest

from service.ports.documents import DocumentText, UploadedFile
from tests.web.fake_readings import FakeDocuments
from tests.web.fakes import FakeApplication
from tests.web.served_readings import boundary_form, file_part, form_headers, problem, query_part
from tests.web.serving import called, settings_with

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1", "H2", "H3")]

MIB = 1024 * 1024
SIZE = 200 * MIB
_PIECE = bytes(64 * 1024)


class SizeReader(FakeDocuments):
    """Looks at how large a file is."""

    size = 0

    async def read(self, file: UploadedFile) -> DocumentText:
        self.size = file.content.seek(0, 2)
        return await super().read(file)


async def large_form() -> AsyncGenerator[bytes]:
    begin, _, end = boundary_form(query_part(), file_part(b"|")).partition(b"|")
    yield begin
    for _ in range(SIZE // len(_PIECE)):
        yield _PIECE
    yield end


async def test_200_megabytes_with_a_key_are_taken_and_hashed_within_a_few(application: FakeApplication) -> None:
    application.documents = documents = SizeReader()
    async with called(application) as http:
        tracemalloc.start()
        try:
            answer = await http.post(
                "/readings", content=large_form(), headers=form_headers(**{"Idempotency-Key": "k1"})
            )
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert answer.status_code == 200, answer.text
    assert documents.size == SIZE
    assert application.readings.keys[0] is not None
    assert peak < 8 * MIB


async def test_one_byte_more_than_an_upload_may_have_is_refused(application: FakeApplication) -> None:
    form = boundary_form(query_part(), file_part(b"x" * 5000))
    async with called(application, settings_with(max_upload_bytes=len(form), max_body_bytes=1024)) as http:
        taken = await http.post("/readings", content=form, headers=form_headers())
        refused = await http.post("/readings", content=form + b"\n", headers=form_headers())

    assert taken.status_code == 200
    assert problem(refused)[:2] == (413, "too_large")
