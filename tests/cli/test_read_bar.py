"""What `turnkeeper read` draws and says of a reading, from its events alone."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, Mapping, Sequence

import pytest
from rich.console import Console

from service.cli.read_bar import Picture, scaled, shown_rows
from service.cli.read_board import Mark, ReadingBoard, Row
from service.cli.read_events import ReadingNews, reading_news
from service.cli.read_evidence import EvidenceTrail, UsedPart
from service.cli.read_progress import LINE_EVERY_S, Lines
from service.cli.read_run import ReadingRun
from service.cli.read_words import progress_in_words
from service.cli.words import seconds_in_words, shown_text, size_in_words
from service.codec import to_json
from service.core.json_types import JsonObject
from service.core.reading.options import ExitMode, ReadingOptions
from service.core.reading.records import (
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadDocument,
    ReadingCreated,
    ReadingPlanned,
)
from service.core.reading.signals import ChunkStarted, ReadingProgress
from service.core.signals import Queued, Waiting
from service.ports.running_service import ComingBack, Sent, SentFile, Told, ToldEvent, WorkBegun

pytestmark = [pytest.mark.rules("D2")]


def created(*names: str, level: int = 1, exit: ExitMode = ExitMode.NEVER) -> ReadingCreated:
    documents = tuple(ReadDocument(name=name, media_type="text/plain", bytes=1, sha256="") for name in names)
    return ReadingCreated(query="?", documents=documents, options=ReadingOptions(level=level, exit=exit))


def planned(*chunks: int) -> ReadingPlanned:
    ends = tuple(tuple(range(1, number + 1)) for number in chunks)
    return ReadingPlanned(
        model=None, template="", prompt=1, context_tokens=1, chunk_tokens=1, answer_tokens=1, fence="", ends=ends
    )


def gate(chunk: int, *, document: int = 1, exit: bool = False, refused: bool = False, level: int = 1) -> GateSet:
    return GateSet(level=level, document=document, chunk=chunk, update=False, exit=exit, exit_refused=refused)


def memory(chunk: int, text: str = "Found.", *, document: int = 1, level: int = 1, of: str = "") -> MemoryWritten:
    return MemoryWritten(
        level=level, document=document, chunk=chunk, text=text, tokens=1, sha256=f"of {of}", parents=(of, "before")
    )


def evidence(name: str, start: int, end: int, *, document: int = 1, level: int = 0) -> Evidence:
    return Evidence(level=level, document=document, start=start, end=end, sha256=name)


def board_of(*news: ReadingNews) -> ReadingBoard:
    board = ReadingBoard()
    for one in news:
        board.take(one)
    return board


def drawn(board: ReadingBoard, *, width: int = 80, height: int = 24, encoding: str = "utf-8") -> list[str]:
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=output, width=width, height=height, force_terminal=True, color_system=None)
    console.print(Picture(board))
    output.seek(0)
    return [line.rstrip() for line in output.read().splitlines()]


FIVE = (
    *(created("a.txt"), planned(6), gate(1), gate(2), memory(2), gate(3)),
    BudgetExceeded(level=1, document=1, chunk=3, tokens=90, budget=64),
    ParseFailed(level=1, document=1, chunk=4, attempts=3, reason=""),
    ChunkStarted(level=1, document=1, chunk=5, chunks=6),
)


def test_each_gate_has_a_mark() -> None:
    assert drawn(board_of(*FIVE)) == [
        "a.txt  ·■!x▸□  4 of 6",
        "■ used  · of no use  ! too long  x not parsed  ▸ reading  □ not read",
        "4 of 6 chunks · 1 used",
        "memory: Found.",
    ]


def test_a_terminal_without_such_signs_gets_others() -> None:
    board = board_of(created("größe.txt"), *FIVE[1:])

    assert drawn(board, encoding="ascii") == [
        "gr??e.txt  .#!x>-  4 of 6",
        "# used  . of no use  ! too long  x not parsed  > reading  - not read",
        "4 of 6 chunks | 1 used",
        "memory: Found.",
    ]


def test_a_thousand_chunks_share_cells_and_a_chunk_that_was_used_is_not_lost_among_them() -> None:
    gates = [gate(chunk) for chunk in range(1, 501)]

    lines = drawn(board_of(created("a.txt"), planned(1000), *gates, memory(77)))

    assert max(map(len, lines)) <= 80
    cells = "".join(line[7:].partition("  ")[0] for line in lines[:4])
    assert (cells.count("■"), set(cells)) == (1, set("■·□"))
    assert lines[4].endswith("(up to 5 chunks each)")


@pytest.mark.parametrize(("over", "last"), [(False, Mark.READING), (True, Mark.RETAINED)])
def test_a_cell_of_several_chunks_is_read_when_all_of_them_are_or_none_will_be(over: bool, last: Mark) -> None:
    marks = [Mark.RETAINED, Mark.RETAINED, Mark.USED, Mark.OPEN, Mark.RETAINED, Mark.OPEN]

    assert scaled(marks, 3, is_over=over) == [Mark.RETAINED, Mark.USED, last]


def test_of_many_documents_those_in_work_are_shown() -> None:
    rows = [Row(name=str(number), marks=[Mark.RETAINED]) for number in range(100)]
    rows[50].marks = [Mark.READING]
    rows[70].marks = [Mark.OPEN]

    assert [row.name for row in shown_rows(rows, 3)] == ["0", "50", "70"]


def test_more_documents_than_lines_are_counted() -> None:
    names = [f"{number}.txt" for number in range(40)]

    lines = drawn(board_of(created(*names), planned(*[3] * 40)), height=10)

    assert lines[5] == "and 35 more documents"
    assert len(lines) <= 10


def test_level_2_has_a_row_of_its_own() -> None:
    started = ChunkStarted(level=2, document=2, chunk=2, chunks=2)

    lines = drawn(board_of(created("a", "b", level=2), planned(1, 1), gate(1, level=2, document=1), started))

    assert lines[2] == "their memories  ·▸  1 of 2"


@pytest.mark.parametrize(
    ("mode", "refused", "mark"),
    [(ExitMode.ASKED, False, Mark.EXIT), (ExitMode.ASKED, True, Mark.RETAINED), (ExitMode.NEVER, False, Mark.RETAINED)],
)
def test_an_exit_is_marked_where_it_ends_something(mode: ExitMode, refused: bool, mark: Mark) -> None:
    board = board_of(created("a", exit=mode), planned(2), gate(1, exit=True, refused=refused))

    assert board.rows[1, 1].marks == [mark, Mark.OPEN]


def test_the_line_says_how_fast_it_goes_and_what_it_waits_for() -> None:
    told = ReadingProgress(chunks_seen=1, chunks=3, tokens_per_second=512.4, left_s=130.2)

    board = board_of(created("a"), planned(3), gate(1), told, Queued(position=2))

    assert progress_in_words(board) == (
        "1 of 3 chunks · 0 used · 512 tokens/s · 2 min 10 s left · waits for a free slot, at place 2"
    )
    board.take(Waiting(reason="loading", waited_ms=1))
    assert progress_in_words(board).endswith("waits for llama-server, which loads")
    board.take(ChunkStarted(level=1, document=1, chunk=2, chunks=3))
    assert progress_in_words(board).endswith("left")


@pytest.mark.rules("K5")
def test_names_and_memories_steer_no_terminal() -> None:
    board = board_of(created("a\x1b[2J"), planned(1), memory(1, "\n\n  \x1b]0;owned\x07 \u202e\nsecond"))

    text = "\n".join(drawn(board))

    assert "a\\u001b[2J  ■  1 of 1" in text
    assert "memory: \\u001b]0;owned\\u0007 \\u202e" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


@pytest.mark.rules("R2")
def test_the_evidence_of_the_last_memory_is_put_together_over_both_levels() -> None:
    trail = EvidenceTrail()
    for news in (
        *(evidence("a1", 0, 10), memory(1, of="a1")),
        *(evidence("a2", 10, 20), memory(2, of="a2")),
        *(evidence("b4", 30, 40, document=2), memory(4, document=2, of="b4")),
        *(evidence("a9", 80, 90), memory(9, of="a9")),
        *(evidence("of b", 0, 5, document=2, level=1), memory(1, document=2, level=2, of="of b")),
    ):
        trail.take(news)

    assert trail.parts(1) == [
        UsedPart(document=1, first_chunk=1, last_chunk=2, start=0, end=20),
        UsedPart(document=1, first_chunk=9, last_chunk=9, start=80, end=90),
    ]
    # The memory of the first document was of no use at level 2.
    assert trail.parts(2) == [UsedPart(document=2, first_chunk=4, last_chunk=4, start=30, end=40)]


def test_without_a_terminal_a_line_is_written_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    board = board_of(created("a"))
    lines = Lines(board, told=True, clock=lambda: now[0])

    lines.changed()
    for news in (planned(9), *(gate(chunk) for chunk in range(1, 10))):
        board.take(news)
        lines.changed()
        now[0] += LINE_EVERY_S / 4

    assert capsys.readouterr().err.splitlines() == [
        "turnkeeper: 0 of 9 chunks · 0 used",
        "turnkeeper: 4 of 9 chunks · 0 used",
        "turnkeeper: 8 of 9 chunks · 0 used",
    ]


def test_events_of_another_version_are_passed_over() -> None:
    whole = to_json(gate(1))

    assert reading_news(ToldEvent(type="gate", data=whole | {"new": 1}, pos=1)) == gate(1)
    assert reading_news(ToldEvent(type="gate", data={}, pos=1)) is None
    assert reading_news(ToldEvent(type="gate", data=whole | {"chunk": "1"}, pos=1)) is None
    assert reading_news(ToldEvent(type="unheard_of", data=whole, pos=1)) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (130, "2 min 10 s"), (3600, "1 h 0 min"), (18_300, "5 h 5 min")],
)
def test_times_are_said_in_two_units(seconds: float, words: str) -> None:
    assert seconds_in_words(seconds) == words


@pytest.mark.parametrize(("count", "words"), [(999, "999 bytes"), (64_000, "64 kB"), (200_000_000, "200.0 MB")])
def test_sizes_are_said(count: int, words: str) -> None:
    assert size_in_words(count) == words


def test_text_keeps_what_makes_it_up() -> None:
    assert shown_text("a\tb\r\nc\rd\x00") == "a\tb\nc\\rd\\u0000"


class ToldService:
    """Tells what a test says."""

    def __init__(self, told: Sequence[Told]) -> None:
        self.told = told

    async def send_files(
        self, path: str, fields: Mapping[str, str], files: Sequence[SentFile], *, ends_with: str, sent: Sent
    ) -> AsyncGenerator[Told]:
        sent(10, 20)
        sent(20, 20)
        for item in self.told:
            yield item

    async def follow(self, location: str, *, ends_with: str) -> AsyncGenerator[Told]:
        raise AssertionError(location)
        yield

    async def send(self, path: str, body: JsonObject, *, later: bool = False) -> JsonObject:
        raise AssertionError(path)

    async def get(self, path: str) -> JsonObject:
        raise AssertionError(path)

    async def post(self, path: str) -> JsonObject:
        raise AssertionError(path)


@pytest.mark.rules("H6")
@pytest.mark.anyio
async def test_a_connection_that_is_lost_and_found_again_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    lost = ComingBack(reason="the connection was lost", attempt=2, attempts=5, wait_s=2.0)
    event = ToldEvent(type="gate", data=to_json(gate(1)), pos=1)
    board = ReadingBoard()
    service = ToldService([lost, WorkBegun(location="/readings/rdg_1"), event, lost, event, event])

    await ReadingRun(service=service, board=board, progress=Lines(board, told=False)).follow({}, [])

    gone = "turnkeeper: the connection was lost; coming back in 2 s (attempt 2 of 5)"
    assert capsys.readouterr().err.splitlines() == [
        gone,
        "turnkeeper: back at the service",
        f"{gone}; the reading is not lost",
        "turnkeeper: back at the service",
    ]
