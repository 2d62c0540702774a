"""Commit writes in groups: one transaction, one wait for the disk, and still each write by itself (S1, S2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from service.adapters.log_sql import queries
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.log_transaction import HotStatements, Known
from service.adapters.log_sql.transaction import GroupTransaction
from service.core.errors import StoreFailure

Write = Callable[[GroupTransaction], Any]
"""One write; it raises a StoreFailure only before it has changed anything."""

_HEADS_LIMIT = 10_000
"""Logs whose head is kept in memory, at about 400 bytes each."""


class GroupCommit:
    """Runs groups of writes on a connection of its own; to be used by one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._statements = HotStatements(engine.dialect)
        self._connection: Connection | None = None
        self._known: Known | None = None
        self._writing = False

    def run(self, group: Sequence[Write]) -> Sequence[Any]:
        """Commit a group and give what each write returned, or the exception that refused or failed it.

        When a write fails, each is tried again by itself, so that none fails another. When the transaction can't
        begin or be committed, that is no single write's doing: all fail.
        """
        self._writing = False
        try:
            return self._commit(group)
        except Exception as failure:  # not swallowed: it is what whoever asked for the write gets
            self._start_over()
            if len(group) == 1:
                return [failure]
            if self._writing:
                return [result for write in group for result in self.run([write])]
            return [_told_anew(failure) for _ in group]

    def _commit(self, group: Sequence[Write]) -> Sequence[Any]:
        with store_failures("the store can't write"):
            connection = self._connection = self._connection or self._engine.connect()
            with connection.begin():
                known = self._known or Known(last_pos=queries.last_pos(connection))
                transaction = GroupTransaction(connection, known, self._statements)
                self._writing = True
                results = [_perform(write, transaction) for write in group]
                transaction.flush()
                self._writing = False
        known.last_pos = transaction.last_pos
        if len(known.heads) > _HEADS_LIMIT:
            known.heads.clear()
        known.heads.update(transaction.heads)
        known.owned.update(transaction.owned)
        self._known = known
        return results

    def _start_over(self) -> None:
        # A commit that failed may have happened all the same: ask again what the database holds, on a new
        # connection, since the state of the old one isn't sure either.
        self._known = None
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._connection.invalidate()

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()


def _perform(write: Write, transaction: GroupTransaction) -> Any:
    try:
        return write(transaction)
    except StoreFailure as refusal:
        return refusal


def _told_anew(failure: Exception) -> StoreFailure:
    # Each caller raises an exception of its own: one raised by many collects the ways of all.
    told = StoreFailure(str(failure))
    told.__cause__ = failure
    return told
