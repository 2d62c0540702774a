"""The bounds of the processes that read documents, and their ends."""

import asyncio
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

import pytest
import structlog.testing

from service.adapters.documents.child import Task
from service.adapters.documents.processes import DocumentProcesses
from service.core.errors import TurnkeeperError
from service.ports.documents import DocumentReader, UnreadableDocument, UploadedFile
from tests.adapters.documents.made_pdfs import page, pdf_of
from tests.adapters.documents.uploads import text_of, upload
from tests.secrets.canaries import LLAMA_API_KEY

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]
MIB = 1 << 20
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
needs_limits = pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")


@cache
def long_pdf() -> bytes:
    return pdf_of([page(b"One of many pages")] * 30_000)


def children() -> set[int]:
    """Return the processes of this test that read documents."""
    return {pid for pid, command, parent in processes() if parent == os.getpid() and "adapters.documents" in command}


def processes() -> Iterator[tuple[int, str, int]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(folder.name), command, parent


def environment_names(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return {line.partition("=")[0] for line in lines if line}


async def first_child() -> int:
    """Wait until a process runs, and return its id."""
    async with asyncio.timeout(30):
        while True:
            for pid in children():
                return pid
            await asyncio.sleep(0)


async def test_a_spooled_upload_is_read_from_its_beginning_and_stays_open() -> None:
    reader: DocumentReader = DocumentProcesses()
    with upload("notes.md", b"\xef\xbb\xbf# Notes\r\n\r\n*As* they are.\r\n", "text/markdown") as file:
        first, second = await reader.read(file), await reader.read(file)

        assert not file.content.closed
    assert first == second
    assert (first.name, first.media_type) == ("notes.md", "text/markdown")
    assert first.text == "# Notes\r\n\r\n*As* they are.\r\n"


@pytest.mark.parametrize("content", [b"", b" \r\n\t", b"\xef\xbb\xbf", "\ufeff\u3000\n".encode("utf-16-le")])
@pytest.mark.parametrize("name", ["a.txt", "a.html"])
async def test_a_file_without_text_is_refused(content: bytes, name: str) -> None:
    with pytest.raises(UnreadableDocument, match=r'"a.*" (is empty|has no text in it); send a file with text in it\.$'):
        await text_of(name, content)


async def test_a_refusal_names_the_file_with_nothing_hidden_in_its_name() -> None:
    with pytest.raises(UnreadableDocument) as refused:
        await text_of("evil\u202etxt\n\x00.png", b"\x89PNG\r\n\x1a\n", "image/png\x00")

    assert isinstance(refused.value, TurnkeeperError)
    assert str(refused.value) == '"evil\\u202etxt\\n\\u0000.png" is a PNG image; send the text that it shows.'


async def test_two_hundred_megabytes_are_refused_within_little_memory() -> None:
    # The child has less address space than the file has bytes.
    reader = DocumentProcesses(max_text_bytes=8 * MIB, memory_bytes=192 * MIB)
    with TemporaryFile() as large:
        for _ in range(200):
            large.write(b"0123456789abcde\n" * (MIB // 16))
        tracemalloc.start()
        try:
            with pytest.raises(UnreadableDocument, match="has more than 8 MiB of text; send it in smaller parts"):
                await reader.read(UploadedFile(name="large.txt", media_type=None, content=cast(BinaryIO, large)))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak < 16 * MIB


@needs_limits
@pytest.mark.parametrize("name", ["a.html", "a.pdf"])
async def test_a_document_that_needs_more_memory_than_it_may_have_is_refused(name: str) -> None:
    content = b"<p>" + b"<b>a</b>" * MIB if name == "a.html" else long_pdf()
    reader = DocumentProcesses(memory_bytes=(160 if name == "a.html" else 48) * MIB)

    with pytest.raises(UnreadableDocument, match=r"could not be read within \d+ MiB of memory, or is damaged"):
        await text_of(name, content, reader=reader)


@needs_proc
async def test_a_document_that_takes_too_long_is_refused_and_its_process_ended() -> None:
    reader = DocumentProcesses(timeout_s=0.05)

    with pytest.raises(UnreadableDocument, match=r"took longer than 0\.05 s to be read; send it in smaller parts"):
        await text_of("long.pdf", long_pdf(), reader=reader)

    assert children() == set()


@needs_proc
@pytest.mark.parametrize(
    "anyio_backend", [("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})], ids=["asyncio", "uvloop"]
)
async def test_a_caller_that_is_cancelled_leaves_no_process_behind() -> None:
    reading = asyncio.create_task(text_of("long.pdf", long_pdf()))
    await first_child()
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert children() == set()


@needs_proc
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 10, 100, 1000])
async def test_a_cancel_at_any_step_of_the_start_leaves_no_process_behind(steps: int) -> None:
    reading = asyncio.create_task(text_of("long.pdf", long_pdf()))
    for _ in range(steps):
        await asyncio.sleep(0)
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert children() == set()


@needs_proc
async def test_a_process_that_is_killed_costs_its_document_alone() -> None:
    reader = DocumentProcesses(at_once=1)
    reading = asyncio.create_task(text_of("long.pdf", long_pdf(), reader=reader))
    os.kill(await first_child(), 9)

    with pytest.raises(UnreadableDocument, match=r'^"long\.pdf" could not be read within 1024 MiB of memory'):
        await reading
    assert (await text_of("a.txt", b"Hello", reader=reader)).text == "Hello"


async def test_a_fault_of_the_reader_itself_is_told_as_such_and_logged_without_the_text() -> None:
    # A pipe can't be read from its beginning, and nothing of ours hands one over.
    reading_end, writing_end = os.pipe()
    os.write(writing_end, b"the text")
    os.close(writing_end)
    with (
        os.fdopen(reading_end, "rb") as pipe,
        structlog.testing.capture_logs() as logged,
        pytest.raises(UnreadableDocument, match=r'^"a\.txt" could not be read by a fault of this service'),
    ):
        await DocumentProcesses().read(UploadedFile(name="a.txt", media_type=None, content=cast(BinaryIO, pipe)))

    assert [entry["event"] for entry in logged] == ["documents.reader_failed"]
    assert logged[0]["defect"].startswith("UnsupportedOperation at child.py:")
    assert "the text" not in str(logged)


@needs_proc
async def test_no_more_processes_run_at_once_than_may() -> None:
    reader = DocumentProcesses(at_once=1)
    readings = [asyncio.create_task(text_of("a.pdf", long_pdf(), reader=reader)) for _ in range(3)]
    await first_child()
    seen: list[int] = []
    for _ in range(20):
        seen.append(len(children()))
        await asyncio.sleep(0)
    for reading in readings:
        reading.cancel()
    await asyncio.gather(*readings, return_exceptions=True)

    assert seen == [1] * 20
    assert children() == set()


async def test_those_that_have_to_wait_are_read_in_the_end() -> None:
    reader = DocumentProcesses(at_once=1)

    read = await asyncio.gather(*(text_of("a.txt", b"Hello %d" % n, reader=reader) for n in range(3)))

    assert [document.text for document in read] == [f"Hello {n}" for n in range(3)]


@needs_proc
async def test_a_process_gets_nothing_of_the_environment_but_what_python_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TURNKEEPER_LLAMA_API_KEY", LLAMA_API_KEY)
    reading = asyncio.create_task(text_of("long.pdf", long_pdf()))
    names = environment_names(await first_child())
    reading.cancel()

    assert "PYTHONPATH" in names
    assert names <= {"PYTHONPATH", "LD_LIBRARY_PATH", "PYTHONHOME"}
    with pytest.raises(asyncio.CancelledError):
        await reading


@needs_limits
def test_a_process_whose_parent_is_gone_ends_by_its_own_alarm() -> None:
    task = Task(suffix=".pdf", media_type=None, max_text_bytes=MIB, memory_bytes=1 << 30, time_s=0.01)
    with TemporaryFile() as source:
        source.write(long_pdf())
        source.flush()
        ended = subprocess.run(
            [sys.executable, "-m", "service.adapters.documents.child", task.as_argument()],
            stdin=source,
            stdout=subprocess.DEVNULL,
            check=False,
        )

    assert ended.returncode == -14
