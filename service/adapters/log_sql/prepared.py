"""Statements of the hot path: written in Core, compiled once, run by the driver itself.

SQLAlchemy's own execution costs several times what SQLite needs for a row, and every step of every turn comes
through here. Values must be of types that the driver knows by itself: int, str, bytes, None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Dialect
from sqlalchemy.sql.compiler import SQLCompiler

from service.adapters.log_sql.rows import Row


class Prepared:
    """A statement for one dialect, with parameters by position; they are given by name."""

    def __init__(self, statement: ClauseElement, dialect: Dialect, columns: Sequence[str] | None = None) -> None:
        """Compile it; `columns` are those that an insert is given, None for all."""
        compiled = cast(SQLCompiler, statement.compile(dialect=dialect, column_keys=columns))
        self._sql = str(compiled)
        self._names = tuple(compiled.positiontup or ())

    def first(self, connection: Connection, row: Row) -> Sequence[Any] | None:
        """Run a query, or an insert that returns something, and give its first row."""
        cursor = connection.connection.cursor()
        cursor.execute(self._sql, self._arranged(row))
        found = cursor.fetchone()
        # An insert that returns something would else hold up the commit.
        cursor.close()
        return found

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Run the statement once for each row."""
        connection.connection.cursor().executemany(self._sql, [self._arranged(row) for row in rows])

    def _arranged(self, row: Row) -> Sequence[Any]:
        return tuple(map(row.__getitem__, self._names))
