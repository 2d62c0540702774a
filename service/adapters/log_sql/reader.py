"""The readers: a few threads, each with a connection while it reads; the writer never blocks them (S2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection, Engine

from service.adapters.log_sql.failures import store_failures
from service.core.errors import StoreFailure

T = TypeVar("T")


class Reader:
    """Runs queries outside the event loop."""

    def __init__(self, engine: Engine, threads: int) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="store-reader")
        self._closed = False

    async def run(self, query: Callable[[Connection], T]) -> T:
        """Run a query in a reader's thread.

        Raises:
            StoreFailure: the database can't be read, or the store is closed.
        """
        if self._closed:
            raise StoreFailure("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._query, query)

    def _query(self, query: Callable[[Connection], T]) -> T:
        with store_failures("the store can't read"), self._engine.connect() as connection:
            return query(connection)

    def close(self) -> None:
        """Let running queries end and refuse further ones; blocks until then."""
        self._closed = True
        self._threads.shutdown()
