"""What is known of a reading while it is followed: a mark for each chunk, and how far it is. Draws nothing itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from service.cli.read_events import ReadingNews
from service.core.reading.options import ExitMode
from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingCreated,
    ReadingPlanned,
    RunEnd,
)
from service.core.reading.signals import ChunkStarted, ReadingProgress, ReadingText
from service.core.reading.state import RunKey, key_of
from service.core.signals import Queued, Waiting

_WAITING_FOR = {
    "slot_busy": "waits for a busy llama-server",
    "loading": "waits for llama-server, which loads",
    "idle": "waits for llama-server",
}


class Mark(IntEnum):
    """What became of a chunk; of two that fit, the greater one is shown."""

    OPEN = 0
    READING = 1
    RETAINED = 2
    USED = 3
    BUDGET_EXCEEDED = 4
    PARSE_FAILED = 5
    EXIT = 6


@dataclass(slots=True)
class Row:
    """The chunks of one document, or at level 2 the memories of all."""

    name: str
    marks: list[Mark] = field(default_factory=list[Mark])

    @property
    def seen(self) -> int:
        """Chunks whose gate has fallen."""
        return sum(mark >= Mark.RETAINED for mark in self.marks)

    @property
    def is_being_read(self) -> bool:
        """Whether one of its chunks is."""
        return Mark.READING in self.marks

    def hold(self, chunks: int) -> None:
        """Have at least so many chunks."""
        self.marks += [Mark.OPEN] * (chunks - len(self.marks))

    def set(self, chunk: int, mark: Mark) -> None:
        """Mark a chunk, counted from 1; a mark that says more stays."""
        self.hold(chunk)
        self.marks[chunk - 1] = max(mark, self.marks[chunk - 1])


@dataclass(slots=True)
class ReadingBoard:
    """Takes news in the order of the stream; `doing` is a clause on what goes on beside the chunks, or empty."""

    created: ReadingCreated | None = None
    rows: dict[RunKey, Row] = field(default_factory=dict[RunKey, Row])
    progress: ReadingProgress | None = None
    memory: MemoryWritten | None = None
    used: int = 0
    answer: AnswerGiven | None = None
    ended: RunEnd | None = None
    doing: str = "asks the service"

    @property
    def seen(self) -> int:
        """Chunks and memories whose gate has fallen, over all levels."""
        return sum(row.seen for row in self.rows.values())

    @property
    def chunks(self) -> int:
        """How many are read at most, as far as that is known."""
        told = self.progress.chunks if self.progress is not None else 0
        return max(told or sum(len(row.marks) for row in self.rows.values()), self.seen)

    def name_of(self, document: int) -> str:
        """Give the name of a document; foreign text (K5)."""
        documents = () if self.created is None else self.created.documents
        return documents[document - 1].name if 0 < document <= len(documents) else f"document {document}"

    def take(self, news: ReadingNews) -> None:
        """Take what the stream brought."""
        match news:
            case ReadingCreated():
                self.created = news
                self.doing = "finds where the chunks end"
            case ReadingPlanned(ends=ends):
                self.doing = ""
                for document, offsets in enumerate(ends, start=1):
                    self._row(1, document).hold(len(offsets))
            case AnswerGiven():
                self.answer = news
            case RunEnd():
                self.ended = news
                self.doing = ""
            case GateSet() | MemoryWritten() | BudgetExceeded() | ParseFailed():
                self._take_gate(news)
            case _:
                self._take_signal(news)

    def _take_gate(self, news: GateSet | MemoryWritten | BudgetExceeded | ParseFailed) -> None:
        row = self._row(news.level, news.document)
        match news:
            case GateSet():
                ends_here = news.exit and not news.exit_refused and self._exit_mode is ExitMode.ASKED
                row.set(news.chunk, Mark.EXIT if ends_here else Mark.RETAINED)
            case MemoryWritten():
                row.set(news.chunk, Mark.USED)
                self.memory = news
                self.used += 1
            case BudgetExceeded():
                row.set(news.chunk, Mark.BUDGET_EXCEEDED)
            case ParseFailed():
                row.set(news.chunk, Mark.PARSE_FAILED)

    def _take_signal(self, news: ReadingNews) -> None:
        match news:
            case ChunkStarted():
                row = self._row(news.level, news.document)
                row.hold(news.chunks)
                row.set(news.chunk, Mark.READING)
                self.doing = ""
            case ReadingProgress():
                self.progress = news
            case ReadingText(document=document):
                self.doing = "writes the answer" if document is None else ""
            case Queued(position=position):
                self.doing = f"waits for a free slot, at place {position}"
            case Waiting(reason=reason):
                self.doing = _WAITING_FOR.get(reason, "waits")
            case _:
                pass

    @property
    def _exit_mode(self) -> ExitMode:
        return ExitMode.NEVER if self.created is None else self.created.options.exit

    def _row(self, level: int, document: int) -> Row:
        key = key_of(level, document)
        if key not in self.rows:
            self.rows[key] = Row(name=self.name_of(document) if level == 1 else "their memories")
        return self.rows[key]
