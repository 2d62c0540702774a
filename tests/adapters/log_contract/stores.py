"""The stores that keep the contract; a new one is one more line."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from service.adapters.log_memory import MemoryLog
from service.adapters.log_sql import open_sql_log
from service.ports import SessionLog
from service.ports.reading_log import ReadingLog


class Store(SessionLog, ReadingLog, Protocol):
    """Both at once, as one store is."""


OpenStore = Callable[[Path], AbstractAsyncContextManager[Store]]
"""Opens the store that lives in a folder; opened again, it is the same store."""


@asynccontextmanager
async def open_memory(folder: Path) -> AsyncGenerator[Store]:
    yield MemoryLog()


@asynccontextmanager
async def open_sqlite(folder: Path) -> AsyncGenerator[Store]:
    async with open_sql_log(f"sqlite:///{folder / 'store.db'}") as log:
        yield log


LASTING: dict[str, OpenStore] = {"sqlite": open_sqlite}
STORES: dict[str, OpenStore] = {"memory": open_memory, **LASTING}
