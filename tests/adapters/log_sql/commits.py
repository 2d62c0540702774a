"""A hand on the writer's transactions: count, hold and break them. Listens to SQLAlchemy, not to the store."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum, auto
from typing import cast

from sqlalchemy import Connection, Engine, event

BOUND_S = 10.0


class Fault(Enum):
    """What goes wrong with a transaction."""

    NONE = auto()
    LOCKED = auto()
    COMMIT_FAILS = auto()
    COMMIT_FAILS_THOUGH_DONE = auto()


class Commits:
    """What happens with each transaction of this process."""

    def __init__(self) -> None:
        self.connected = 0
        self.begun = 0
        self.made = 0
        self.faults: list[Fault] = []
        """For the transactions that begin next, one each."""
        self.pages_allowed: int | None = None
        self.reached = threading.Event()
        self._fault: Fault | None = None
        self._passing = 0
        self._go_on = threading.Event()
        self._go_on.set()

    def hold(self, *, passing: int = 0) -> None:
        """Make the writer wait at its next commit, or behind some that pass; `reached` tells that it does."""
        self._passing = passing
        self.reached.clear()
        self._go_on.clear()

    def let_go(self) -> None:
        self._go_on.set()

    def at_connect(self, *_: object) -> None:
        self.connected += 1

    def at_begin(self, connection: Connection) -> None:
        self.begun += 1
        fault = self.faults.pop(0) if self.faults else Fault.NONE
        self._fault = None if fault is Fault.NONE else fault
        if self._fault is Fault.LOCKED:
            raise sqlite3.OperationalError("database is locked")
        # Without a bound named, SQLite's own greatest.
        pages = self.pages_allowed or 0xFFFFFFFE
        connection.connection.cursor().execute(f"PRAGMA max_page_count = {pages}")

    def at_commit(self, connection: Connection) -> None:
        if self._passing > 0:
            self._passing -= 1
        else:
            self.reached.set()
            if not self._go_on.wait(BOUND_S):
                raise TimeoutError("nobody let the commit go on")
        if self._fault is Fault.COMMIT_FAILS_THOUGH_DONE:
            cast(sqlite3.Connection, connection.connection.dbapi_connection).commit()
        if self._fault is not None:
            raise sqlite3.OperationalError("disk I/O error")
        self.made += 1


@contextmanager
def commits_watched() -> Generator[Commits]:
    """Watch the transactions of the block."""
    commits = Commits()
    listeners = {"connect": commits.at_connect, "begin": commits.at_begin, "commit": commits.at_commit}
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    try:
        yield commits
    finally:
        commits.let_go()
        for name, listener in listeners.items():
            event.remove(Engine, name, listener)
