"""Readings beside sessions, and the texts that they read."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_BUSY = sa.text("state NOT IN ('idle', 'finished')")


def upgrade() -> None:
    """Tell sessions from readings, and make the table of texts."""
    op.add_column("sessions", sa.Column("kind", sa.Text, nullable=False, server_default="session"))
    op.drop_index("ix_sessions_owner_id", "sessions")
    op.create_index("ix_sessions_owner_kind_id", "sessions", ["owner", "kind", "id"])
    op.drop_index("ix_sessions_busy", "sessions")
    op.create_index("ix_sessions_busy", "sessions", ["kind", "id"], sqlite_where=_BUSY, postgresql_where=_BUSY)
    op.create_table(
        "document_texts",
        sa.Column("reading_key", _KEY, nullable=False),
        sa.Column("document", sa.Integer, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("reading_key", "document", "part", name="pk_document_texts"),
        sa.ForeignKeyConstraint(
            ["reading_key"], ["sessions.key"], name="fk_document_texts_reading_key", ondelete="CASCADE"
        ),
    )
