"""Places in the store that were given to records which a restore has taken away: cursors may still point there."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "lost_places",
        sa.Column("after_pos", sa.BigInteger, nullable=False),
        sa.Column("up_to_pos", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("after_pos", "up_to_pos", name="pk_lost_places"),
    )
