"""An SQLite store in an empty folder, and a look into its file past the store."""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from tests.adapters.log_contract.stores import Store

Look = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def url(database: Path) -> str:
    return f"sqlite:///{database}"


@pytest.fixture
async def log(url: str) -> AsyncGenerator[Store]:
    async with open_sql_log(url) as opened:
        yield opened


@pytest.fixture
def look(database: Path) -> Look:
    """Give what runs one statement on the file, on a connection of its own, and returns the rows."""

    @contextmanager
    def connection() -> Generator[sqlite3.Connection]:
        opened = sqlite3.connect(database)
        try:
            with opened:
                yield opened
        finally:
            opened.close()

    def run(statement: str) -> list[tuple[object, ...]]:
        with connection() as opened:
            return opened.execute(statement).fetchall()

    return run
