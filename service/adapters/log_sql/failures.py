"""The one place where errors of the database and its driver become ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from service.core.errors import StoreFailure

# Beside SQLAlchemy's own: the driver's, where a new connection is prepared; values that can't be bound
# (ValueError, as for text with a lone surrogate, and OverflowError); files that the system refuses (OSError);
# a migration that can't run (CommandError).
_CAUSES = (SQLAlchemyError, sqlite3.Error, CommandError, OSError, ValueError, OverflowError)


@contextmanager
def store_failures(doing: str) -> Generator[None]:
    """Turn a driver's error into a StoreFailure that begins with `doing` and keeps its cause.

    Raises:
        StoreFailure: something of the database went wrong inside.
    """
    try:
        yield
    except _CAUSES as error:
        raise StoreFailure(f"{doing}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    # SQLAlchemy's own text carries the statement and its values, which don't belong in messages.
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause) or type(cause).__name__
