"""What is done to a log of either kind within a group's transaction: one way to append, and its place and head (S3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Dialect, bindparam, delete, exists, insert, literal, select, update

from service.adapters.log_sql.prepared import Prepared
from service.adapters.log_sql.rows import NEW_LOG_COLUMNS, Row, progress_row
from service.adapters.log_sql.tables import (
    LogKind,
    document_texts,
    full_results,
    records,
    request_keys,
    sessions,
    store,
)
from service.codec import format_time
from service.core import chain
from service.core.chain import Head
from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import OwnerId
from service.core.request_key import RequestKey
from service.ports import RecordDraft

_HEAD = select(sessions.c.kind, sessions.c.key, sessions.c.head_seq, sessions.c.head_hash).where(
    sessions.c.id == bindparam("log")
)
_NEW_LOG = insert(sessions).returning(sessions.c.key)
_PROGRESS = (
    update(sessions)
    .where(sessions.c.key == bindparam("of"))
    .values({name: bindparam(name) for name in ("updated_at", "state", "status", "head_seq", "head_hash")})
)


class HotStatements:
    """What an append runs, and what writes a long text, compiled for one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.head = Prepared(_HEAD, dialect)
        self.records = Prepared(insert(records), dialect)
        self.full_results = Prepared(insert(full_results), dialect)
        self.progress = Prepared(_PROGRESS, dialect)
        self.new_log = Prepared(_NEW_LOG, dialect, columns=NEW_LOG_COLUMNS)
        self.document_texts = Prepared(insert(document_texts), dialect)


@dataclass(frozen=True, slots=True)
class KnownLog:
    """The row of a log: its kind, its `key`, and where it ends."""

    kind: LogKind
    key: int
    head: Head


class Placed(NamedTuple):
    """Where a record was put."""

    seq: int
    pos: int
    hash: bytes


@dataclass(slots=True)
class Known:
    """What the writer knows of committed data without asking; true because nobody else writes (S2)."""

    last_pos: int
    heads: dict[str, KnownLog] = field(default_factory=dict[str, KnownLog])
    """Logs written lately, by their ids."""
    owned: dict[OwnerId, int] = field(default_factory=dict[OwnerId, int])
    """How many sessions there are of each owner for whom it was asked."""


class LogTransaction:
    """One group's transaction; `last_pos`, `heads` and `owned` are what `Known` takes over once committed."""

    def __init__(self, connection: Connection, known: Known, statements: HotStatements) -> None:
        self._connection = connection
        self._statements = statements
        self._known = known
        self.last_pos = known.last_pos
        self.heads: dict[str, KnownLog] = {}
        self.owned: dict[OwnerId, int] = {}
        self._records: list[Row] = []
        self._full_results: list[Row] = []
        self._progress: dict[int, Row] = {}

    def flush(self) -> None:
        """Send the gathered appends to the database."""
        if self._records:
            self._statements.records.run(self._connection, self._records)
        # Behind the records, which they name.
        if self._full_results:
            self._statements.full_results.run(self._connection, self._full_results)
        if self._progress:
            self._statements.progress.run(self._connection, list(self._progress.values()))
        self._records, self._full_results, self._progress = [], [], {}

    def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        self._connection.execute(delete(request_keys).where(request_keys.c.created_at < format_time(before)))

    def _insert_log(self, row: Row) -> int:
        """Make a log's row; give its `key`."""
        made = self._statements.new_log.first(self._connection, row)
        assert made is not None  # it was inserted, or an error raised
        return made[0]

    def _log(self, kind: LogKind, log: str) -> KnownLog | None:
        found = self._log_of_any_kind(log)
        return found if found is not None and found.kind is kind else None

    def _refuse_taken(self, kind: LogKind, log: str) -> None:
        if self._log_of_any_kind(log) is not None:
            raise StoreFailure(f"there is a {kind} {log} already")

    def _log_of_any_kind(self, log: str) -> KnownLog | None:
        if found := self.heads.get(log) or self._known.heads.get(log):
            return found
        row = self._statements.head.first(self._connection, {"log": log})
        return None if row is None else KnownLog(LogKind(row[0]), row[1], Head(seq=row[2], hash=row[3]))

    def _log_at(self, kind: LogKind, log: str, expected_seq: int) -> KnownLog:
        found = self._log(kind, log)
        if found is None:
            raise SequenceConflict(f"{kind} {log} is not there")
        if found.head.seq != expected_seq:
            raise SequenceConflict(f"{kind} {log} is at seq {found.head.seq}, not {expected_seq}")
        return found

    def _extend(
        self, name: str, log: KnownLog, drafts: Sequence[RecordDraft], state: Row, now: datetime
    ) -> Sequence[Placed]:
        placed: list[Placed] = []
        seq, last_hash = log.head.seq, log.head.hash
        for draft in drafts:
            seq += 1
            self.last_pos += 1
            last_hash = chain.link(last_hash, draft.body)
            placed.append(Placed(seq, self.last_pos, last_hash))
            self._records.append(_record_row(log.key, draft, placed[-1]))
            if draft.full is not None:
                self._full_results.append({"pos": self.last_pos, "body": draft.full})
        head = Head(seq=seq, hash=last_hash)
        self._progress[log.key] = {"of": log.key, **state, **progress_row(head, now)}
        self.heads[name] = KnownLog(log.kind, log.key, head)
        return placed

    def _keep_key(
        self, request_key: RequestKey | None, log: KnownLog, drafts: Sequence[RecordDraft], now: datetime
    ) -> None:
        if request_key is None:
            return
        named = {name: getattr(request_key, name) for name in ("owner", "method", "path", "key")}
        row = {
            **named,
            "body": request_key.body,
            "session_key": log.key,
            "turn": drafts[0].turn,
            "created_at": format_time(now),
        }
        # Of two with the same key the first stays; a conflict would undo the writes of the whole group.
        absent = ~exists().where(*(request_keys.c[name] == value for name, value in named.items()))
        values = select(*(literal(value, request_keys.c[name].type) for name, value in row.items())).where(absent)
        self._connection.execute(insert(request_keys).from_select(list(row), values))

    def _forget_logs(self, logs: Iterable[str]) -> None:
        """Know nothing more of logs whose records were removed, and give none of their places again."""
        self._connection.execute(update(store).values(pos_floor=self.last_pos))
        for gone in logs:
            self.heads.pop(gone, None)
            self._known.heads.pop(gone, None)


def _record_row(key: int, draft: RecordDraft, placed: Placed) -> Row:
    return {
        "pos": placed.pos,
        "session_key": key,
        "seq": placed.seq,
        "turn": draft.turn,
        "type": draft.type,
        "body": draft.body,
        "hash": placed.hash,
    }
