"""Which parts of the documents the last memory comes from, by the records of its reading (R2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from service.cli.read_events import ReadingNews
from service.core.reading.records import Evidence, MemoryWritten
from service.core.reading.state import ALL_DOCUMENTS, RunKey, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedPart:
    """Chunks of a document that stand side by side and were used: bytes `start` to `end` of its text."""

    document: int
    first_chunk: int
    last_chunk: int
    start: int
    end: int


@dataclass(slots=True)
class EvidenceTrail:
    """Takes news in the order of the stream; a memory follows its evidence."""

    _latest: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    _used: dict[RunKey, list[tuple[int, Evidence]]] = field(default_factory=dict[RunKey, list[tuple[int, Evidence]]])

    def take(self, news: ReadingNews) -> None:
        """Take what the stream brought."""
        match news:
            case Evidence():
                self._latest = {news.sha256: news}
            case MemoryWritten():
                evidence = next((self._latest[sha] for sha in news.parents if sha in self._latest), None)
                if evidence is not None:
                    run = self._used.setdefault(key_of(news.level, news.document), [])
                    run.append((news.chunk, evidence))
            case _:
                pass

    def parts(self, level: int) -> list[UsedPart]:
        """Give what the last memory of this level comes from: each memory has the one before it as a parent."""
        if level == 1:
            return list(_joined(self._used.get((1, 1), ())))
        below = sorted({evidence.document for _, evidence in self._used.get((level, ALL_DOCUMENTS), ())})
        return [part for document in below for part in _joined(self._used.get((1, document), ()))]


def _joined(used: list[tuple[int, Evidence]] | tuple[()]) -> Iterator[UsedPart]:
    part: UsedPart | None = None
    for chunk, evidence in used:
        if part is not None and part.last_chunk == chunk - 1:
            first, start = part.first_chunk, part.start
        else:
            if part is not None:
                yield part
            first, start = chunk, evidence.start
        part = UsedPart(document=evidence.document, first_chunk=first, last_chunk=chunk, start=start, end=evidence.end)
    if part is not None:
        yield part
