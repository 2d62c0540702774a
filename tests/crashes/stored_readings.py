"""Readings as the store's file holds them, also between two lives of the service."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from service.core.json_types import JsonObject

_OF_MARK = """
    select sessions.id from sessions join records on records.session_key = sessions.key
    where sessions.kind = 'reading' and records.seq = 1 and instr(records.body, ?) order by sessions.id
"""
_RECORDS = """
    select body from records join sessions on records.session_key = sessions.key where sessions.id = ? order by seq
"""
_PARTS = """
    select document, body from document_texts join sessions on document_texts.reading_key = sessions.key
    where sessions.id = ? order by document, part
"""
_HIDDEN = "select count(*) from sessions where kind = 'hidden'"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReading:
    """A reading's records, and the texts of its documents by number."""

    id: str
    records: Sequence[JsonObject]
    texts: dict[int, bytes]

    def finished(self) -> Iterator[str]:
        """Give the texts of the chunks that it has read, and the notes out of which it has answered."""
        memories: dict[tuple[int, int], str] = {}
        last = ""
        for record in self.records:
            match record["type"]:
                case "memory":
                    last = memories[record["level"], record["document"]] = record["text"]
                case "usage" if record["chunk"] is not None:
                    yield self._chunk(record) if record["level"] == 1 else memories[1, record["document"]]
                case "answer":
                    yield last
                case _:
                    pass

    def _chunk(self, usage: JsonObject) -> str:
        planned = next(record for record in self.records if record["type"] == "reading_planned")
        ends: list[int] = [0, *planned["ends"][usage["document"] - 1]]
        return self.texts[usage["document"]][ends[usage["chunk"] - 1] : ends[usage["chunk"]]].decode()


def reading_ids_in(store: Path, mark: str) -> list[str]:
    """Name the readings whose first record contains the mark."""
    # The mark of the tenth begins with that of the first.
    with _opened(store) as connection:
        return [id_ for (id_,) in connection.execute(_OF_MARK, (f"{mark}:".encode(),))]


def stored_reading(store: Path, reading: str) -> StoredReading:
    """Read one reading."""
    with _opened(store) as connection:
        records = [json.loads(body) for (body,) in connection.execute(_RECORDS, (reading,))]
        texts: dict[int, bytes] = {}
        for document, body in connection.execute(_PARTS, (reading,)):
            texts[document] = texts.get(document, b"") + body
        return StoredReading(id=reading, records=records, texts=texts)


def hidden_in(store: Path) -> int:
    """Count the readings whose texts are being written or removed."""
    with _opened(store) as connection:
        return connection.execute(_HIDDEN).fetchone()[0]


@contextmanager
def _opened(store: Path) -> Generator[sqlite3.Connection]:
    # For reading only: who closes it must not tidy up behind a service that was killed.
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
        yield connection
