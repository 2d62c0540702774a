"""`turnkeeper read` on a terminal: the bar shows gates as they fall, and Ctrl-C cancels the reading."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.ids import LOCAL_OWNER
from service.core.reading.records import ReadingOutcome
from service.core.reading.status import ReadingState
from service.ports import Take
from service.readings.requests import ReadingView
from tests.cli.found_parts import SIZES, Gate, book, reads
from tests.cli.reading_service import HeldReader, reading_service
from tests.readings.reader_llama import ReaderLlama
from tests.readings.reading_house import ReadingHouse
from tests.web.serving import Served, within_bound

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

from tests.cli.terminal import Terminal, on_terminal

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

OPTIONS = (
    *("--query", "Where is the key?"),
    *("--chunk-tokens", SIZES["chunk_tokens"], "--memory-budget", SIZES["memory_budget"]),
)
TALE = ("", "key", "junk", "huge", "", "key", "")
INTERRUPTED = 130


@asynccontextmanager
async def reading(served: Served, *files: str, **env: str) -> AsyncGenerator[Terminal]:
    async with on_terminal("read", *files, *OPTIONS, "--url", str(served.http.base_url), **env) as terminal:
        yield terminal


async def only_reading(house: ReadingHouse) -> ReadingView:
    (view,), _ = await house.readings.page(LOCAL_OWNER, limit=10, after=None)
    return view


async def test_each_chunk_gets_its_mark_when_its_gate_falls(tmp_path: Path) -> None:
    gate = Gate(after=8)
    house = ReadingHouse(ReaderLlama(reads, before_each=gate))

    async with reading_service(house) as served, reading(served, book(tmp_path, *TALE)) as terminal:
        # Three attempts at the third chunk are made, so the eighth call is about the sixth.
        await within_bound(gate.asked)
        await terminal.until("book.txt  ·■x!·■▸  6 of 7")
        gate.open.set()
        ended = await terminal.end()

    assert ended == (0, "Answer: The key is in the drawer.\n")
    assert "book.txt  ·■x!·■·  7 of 7" in terminal.lines
    assert "■ used  · of no use  ! too long  x not parsed" in terminal.lines
    assert any(line.startswith("6 of 7 chunks · 2 used") for line in terminal.lines)
    assert "memory: The key is in the drawer." in terminal.lines
    assert terminal.lines[-1].startswith("turnkeeper: 2 of 7 chunks used, 10 calls of the model, reading rdg_")


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
async def test_it_is_coloured_unless_that_is_not_wanted(tmp_path: Path, env: dict[str, str], coloured: bool) -> None:
    house = ReadingHouse(ReaderLlama(reads))

    async with reading_service(house) as served, reading(served, book(tmp_path, *TALE), **env) as terminal:
        await terminal.end()

    assert bool(re.search(r"\x1b\[(\d+;)*3[1-6]m", terminal.drawn)) is coloured


async def test_a_terminal_that_can_do_nothing_gets_lines(tmp_path: Path) -> None:
    house = ReadingHouse(ReaderLlama(reads))

    async with reading_service(house) as served, reading(served, book(tmp_path, *TALE), TERM="dumb") as terminal:
        await terminal.end()

    assert "\x1b" not in terminal.drawn
    assert terminal.lines[0] == "turnkeeper: 0 of 7 chunks · 0 used"


async def test_ctrl_c_cancels_the_reading(tmp_path: Path) -> None:
    gate = Gate(after=2)
    house = ReadingHouse(ReaderLlama(reads, before_each=gate))

    async with reading_service(house) as served, reading(served, book(tmp_path, *TALE)) as terminal:
        await terminal.until("2 of 7 chunks")
        terminal.interrupt()
        ended = await terminal.end()

    view = await only_reading(house)
    assert ended == (INTERRUPTED, "")
    assert view.status.outcome is ReadingOutcome.CANCELLED
    assert "turnkeeper: cancelling the reading; Ctrl-C again leaves at once" in terminal.lines
    assert terminal.lines[-2:] == [
        "turnkeeper: the reading was cancelled",
        f"turnkeeper: 1 of 2 chunks used, 2 calls of the model, reading {view.id}",
    ]
    # The cursor is to be seen again.
    assert terminal.drawn.rindex("\x1b[?25h") > terminal.drawn.rindex("\x1b[?25l")


class StubbornLlama(ReaderLlama):
    """Goes on with what it is asked when it is told to stop, until it may."""

    may_stop: asyncio.Event

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        self.may_stop = asyncio.Event()
        try:
            await asyncio.Event().wait()
        finally:
            await self.may_stop.wait()
        yield ()


async def test_a_second_ctrl_c_leaves_at_once(tmp_path: Path) -> None:
    llama = StubbornLlama(reads)
    house = ReadingHouse(llama)

    async with reading_service(house) as served, reading(served, book(tmp_path, *TALE)) as terminal:
        await terminal.until("0 of 7 chunks")
        await terminal.until("▸ reading")
        terminal.interrupt()
        await terminal.until("cancelling the reading")
        terminal.interrupt()
        ended = await terminal.end()
        view = await only_reading(house)
        llama.may_stop.set()

    assert ended == (INTERRUPTED, "")
    assert view.status.state is ReadingState.RUNNING
    assert terminal.lines[-1] == f"turnkeeper: left before its end; GET /readings/{view.id} shows what becomes of it"


async def test_ctrl_c_while_the_service_takes_it_in_cancels_what_it_begins(tmp_path: Path) -> None:
    house, documents = ReadingHouse(ReaderLlama(reads, before_each=Gate())), HeldReader()

    async with (
        reading_service(house, documents=documents) as served,
        reading(served, book(tmp_path, *TALE)) as terminal,
    ):
        await within_bound(documents.asked)
        await terminal.until("the service takes it in")
        terminal.interrupt()
        await terminal.until("cancelling the reading")
        documents.open.set()
        ended = await terminal.end()

    assert ended == (INTERRUPTED, "")
    assert (await only_reading(house)).status.outcome is ReadingOutcome.CANCELLED


async def test_ctrl_c_during_the_upload_begins_nothing(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"x" * 50_000_000)
    asked, over = asyncio.Event(), asyncio.Event()

    async def take_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await over.wait()
        writer.transport.abort()

    async with await asyncio.start_server(take_nothing, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with on_terminal("read", str(path), *OPTIONS, "--url", url) as terminal:
            await within_bound(asked)
            await terminal.until("of 50.0 MB")
            terminal.interrupt()
            ended = await terminal.end()
        over.set()

    assert ended == (INTERRUPTED, "")
    assert terminal.lines[-1] == "turnkeeper: left before all was sent; nothing was begun"
