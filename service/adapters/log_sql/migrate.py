"""Bring a database to this version's schema, or refuse it with a clear line (S6)."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from service.core.errors import StoreFailure, StoreOutdated

_MIGRATIONS = Path(__file__).parent / "migrations"

_READ_AS_IT_IS_FROM = "0003"
"""The first revision whose tables have all that this version reads of them."""


def migrate(connection: Connection, name: str) -> None:
    """Run the migrations that are missing, in the connection's transaction; `name` is for messages.

    Raises:
        StoreFailure: the database is another program's, or of a newer version.
    """
    config = _config()
    schema_of(connection, name)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def schema_of(connection: Connection, name: str) -> str | None:
    """Give the schema's revision, None of an empty database; `name` is for messages.

    Raises:
        StoreFailure: the database is another program's, or of a newer version.
    """
    script = ScriptDirectory.from_config(_config())
    known = {revision.revision for revision in script.walk_revisions()}
    present = MigrationContext.configure(connection).get_current_revision()
    if present is None and inspect(connection).get_table_names():
        raise StoreFailure(f"{name} is not a Turnkeeper database")
    if present is not None and present not in known:
        raise StoreFailure(
            f"{name} was written by a newer version of Turnkeeper (schema {present}; "
            f"this version knows {max(known)}): start that version, or name another database"
        )
    return present


def refuse_unreadable(connection: Connection, name: str) -> None:
    """Refuse a database that this version can't read as it is; `name` is for messages.

    Raises:
        StoreOutdated: it has to be brought to this version's schema first.
        StoreFailure: it is another program's, or of a newer version.
    """
    schema = schema_of(connection, name)
    if schema is None:
        raise StoreFailure(f"{name} is not a Turnkeeper database")
    if schema < _READ_AS_IT_IS_FROM:
        raise StoreOutdated(
            f"{name} was written by an older version of Turnkeeper (schema {schema}): the next start of the service "
            "brings it to this version, or turnkeeper restore a copy of it, for which --database-url names the place"
        )


def newest_schema() -> str:
    """Give the revision that this version reads and writes."""
    (head,) = ScriptDirectory.from_config(_config()).get_heads()
    return head


def _config() -> Config:
    config = Config()
    # The option is a format string: a folder's % stands for itself only when doubled.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config
