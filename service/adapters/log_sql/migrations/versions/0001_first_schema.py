"""The first schema: sessions, records with their hash chain, spec lists."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_BUSY = sa.text("state <> 'idle'")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "sessions",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("parent_session", sa.Text),
        sa.Column("parent_turn", sa.Text),
        sa.Column("parent_call", sa.Integer),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("head_seq", sa.BigInteger, nullable=False),
        sa.Column("head_hash", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_sessions"),
        sa.UniqueConstraint("id", name="uq_sessions_id"),
        sa.ForeignKeyConstraint(
            ["parent_session"], ["sessions.id"], name="fk_sessions_parent_session", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_sessions_owner_id", "sessions", ["owner", "id"])
    op.create_index("ix_sessions_parent_session", "sessions", ["parent_session"])
    op.create_index("ix_sessions_busy", "sessions", ["id"], sqlite_where=_BUSY, postgresql_where=_BUSY)
    op.create_table(
        "records",
        sa.Column("pos", _KEY, autoincrement=False),
        sa.Column("session_key", _KEY, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("turn", sa.Text),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("pos", name="pk_records"),
        sa.UniqueConstraint("session_key", "seq", name="uq_records_session_key_seq"),
        sa.ForeignKeyConstraint(["session_key"], ["sessions.key"], name="fk_records_session_key", ondelete="CASCADE"),
    )
    op.create_index("ix_records_session_key_pos", "records", ["session_key", "pos"])
    op.create_index("ix_records_session_key_turn_seq", "records", ["session_key", "turn", "seq"])
    op.create_index("ix_records_session_key_type_seq", "records", ["session_key", "type", "seq"])
    op.create_table(
        "specs",
        sa.Column("hash", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_specs"),
    )
    store = op.create_table(
        "store",
        sa.Column("id", sa.Integer, autoincrement=False),
        sa.Column("pos_floor", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_store"),
    )
    op.bulk_insert(store, [{"id": 1, "pos_floor": 0}])
