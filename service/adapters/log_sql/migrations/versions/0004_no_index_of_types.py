"""Nothing reads the records of a session by their type, so no append has to write an index of it."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Drop the index."""
    op.drop_index("ix_records_session_key_type_seq", "records")
