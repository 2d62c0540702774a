"""The stores that keep the contract; a new one is one more line."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from service.adapters.log_memory import MemoryLog
from service.adapters.log_sql import open_sql_log
from service.ports import SessionLog

OpenStore = Callable[[Path], AbstractAsyncContextManager[SessionLog]]
"""Opens the store that lives in a folder; opened again, it is the same store."""


@asynccontextmanager
async def open_memory(folder: Path) -> AsyncGenerator[SessionLog]:
    yield MemoryLog()


@asynccontextmanager
async def open_sqlite(folder: Path) -> AsyncGenerator[SessionLog]:
    async with open_sql_log(f"sqlite:///{folder / 'store.db'}") as log:
        yield log


LASTING: dict[str, OpenStore] = {"sqlite": open_sqlite}
STORES: dict[str, OpenStore] = {"memory": open_memory, **LASTING}
