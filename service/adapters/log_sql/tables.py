"""The tables as this version reads and writes them; `migrations/` makes them, and a test compares the two.

Sessions have a number of their own (`key`), because every record and every index entry names its session: 36
bytes of text in each would double what a commit writes.

A reading is a row of `sessions` too, of another `kind`: what makes a log a log (places, chain, head, keys of requests)
is then written and checked in one way for both.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

# SQLite makes only an INTEGER PRIMARY KEY the place of the row itself, so that a new record goes to the end.
Key = BigInteger().with_variant(Integer, "sqlite")

BUSY = text("state NOT IN ('idle', 'finished')")
"""What a start goes on with; written out, since an index with a condition serves no other wording of it."""


class LogKind(StrEnum):
    """Whose log a row of `sessions` stands for."""

    SESSION = "session"
    READING = "reading"
    HIDDEN = "hidden"
    """A reading whose texts are being written or removed: it answers to no id, and a start removes it."""


HIDDEN_STATE = "hidden"
"""The `state` of such a reading."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

sessions = Table(
    "sessions",
    metadata,
    Column("key", Key, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False, server_default=LogKind.SESSION.value),
    Column("owner", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON
    Column("agent", Text),
    Column("parent_session", Text, ForeignKey("sessions.id", ondelete="CASCADE"), index=True),
    Column("parent_turn", Text),
    Column("parent_call", Integer),
    Column("created_at", Text, nullable=False),  # RFC 3339, UTC, microseconds
    Column("updated_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("status", Text, nullable=False),  # JSON
    Column("head_seq", BigInteger, nullable=False),
    Column("head_hash", LargeBinary, nullable=False),
    Index("ix_sessions_owner_kind_id", "owner", "kind", "id"),
    Index("ix_sessions_busy", "kind", "id", sqlite_where=BUSY, postgresql_where=BUSY),
)

records = Table(
    "records",
    metadata,
    Column("pos", Key, primary_key=True, autoincrement=False),
    Column("session_key", Key, ForeignKey("sessions.key", ondelete="CASCADE"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("turn", Text),
    Column("type", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    UniqueConstraint("session_key", "seq"),
    Index("ix_records_session_key_pos", "session_key", "pos"),
    Index("ix_records_session_key_turn_seq", "session_key", "turn", "seq"),
)

full_results = Table(
    "full_results",
    metadata,
    Column("pos", Key, ForeignKey("records.pos", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""The whole texts of results that were cut, apart from the records, so that no page of a log reads over them."""

document_texts = Table(
    "document_texts",
    metadata,
    Column("reading_key", Key, ForeignKey("sessions.key", ondelete="CASCADE"), nullable=False),
    Column("document", Integer, nullable=False),  # from 1
    Column("part", Integer, nullable=False),  # from 0; all but the last are `PART_BYTES` long
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("reading_key", "document", "part"),
)
"""The texts that readings read, UTF-8 cut at any byte; an empty text has one part, which is empty."""

PART_BYTES = 64 * 1024
"""A range of a text is read by the parts that it touches. Never changed: where a part begins follows from it."""

request_keys = Table(
    "request_keys",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("method", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("session_key", Key, ForeignKey("sessions.key", ondelete="CASCADE"), nullable=False, index=True),
    Column("turn", Text),
    Column("created_at", Text, nullable=False, index=True),
)
"""What requests with an `Idempotency-Key` created."""

specs = Table(
    "specs",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

lost_places = Table(
    "lost_places",
    metadata,
    Column("after_pos", BigInteger, primary_key=True, autoincrement=False),
    Column("up_to_pos", BigInteger, primary_key=True, autoincrement=False),
)
"""Behind the first and up to the second `pos` were records that a restore has taken away."""

store = Table(
    "store",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    # The greatest pos when something was last deleted or restored: it may be gone, and no pos is ever given twice.
    Column("pos_floor", BigInteger, nullable=False),
)
"""One row, with `id` 1."""
