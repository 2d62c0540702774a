"""The whole texts of results that were cut, and the keys of requests."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "full_results",
        sa.Column("pos", _KEY, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("pos", name="pk_full_results"),
        sa.ForeignKeyConstraint(["pos"], ["records.pos"], name="fk_full_results_pos", ondelete="CASCADE"),
    )
    op.create_table(
        "request_keys",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("session_key", _KEY, nullable=False),
        sa.Column("turn", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("owner", "method", "path", "key", name="pk_request_keys"),
        sa.ForeignKeyConstraint(
            ["session_key"], ["sessions.key"], name="fk_request_keys_session_key", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_request_keys_session_key", "request_keys", ["session_key"])
    op.create_index("ix_request_keys_created_at", "request_keys", ["created_at"])
