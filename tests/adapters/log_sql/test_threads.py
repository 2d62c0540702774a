"""S2: the event loop never touches the database."""

import asyncio
import threading
from collections.abc import Callable, Generator

import pytest
from sqlalchemy import Engine, event

from service.adapters.log_sql import open_sql_log
from tests.adapters.log_contract.sessions_made import LATER, append, make, seqs

pytestmark = pytest.mark.rules("S2")

# What SQLAlchemy tells of connections, transactions and statements.
EVENTS = ("connect", "close", "checkout", "checkin", "begin", "commit", "before_cursor_execute")


@pytest.fixture
def threads() -> Generator[dict[str, set[str]]]:
    """Collect the threads in which each event happened."""
    seen: dict[str, set[str]] = {name: set() for name in EVENTS}

    def noting(name: str) -> Callable[..., None]:
        def note(*_: object) -> None:
            seen[name].add(threading.current_thread().name)

        return note

    listeners = {name: noting(name) for name in EVENTS}
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    yield seen
    for name, listener in listeners.items():
        event.remove(Engine, name, listener)


@pytest.mark.anyio
async def test_all_work_is_done_in_other_threads(url: str, threads: dict[str, set[str]]) -> None:
    async with open_sql_log(url) as log:
        session = await make(log)
        await append(log, session, 1)
        await log.update_session(session, title="x", metadata=None, now=LATER)
        await log.put_specs("abc", b"[]")
        await log.read(session)
        await log.sessions(owner=None, limit=5)
        await log.check()
        await log.delete_session(session)

    assert [name for name, seen in threads.items() if not seen] == []
    assert threading.current_thread().name not in set[str]().union(*threads.values())


@pytest.mark.anyio
async def test_each_store_ends_its_threads(url: str) -> None:
    before = {thread for thread in threading.enumerate() if thread.name.startswith("store-")}
    async with open_sql_log(url) as log:
        await log.read(await make(log))
        assert {thread.name.split("_")[0] for thread in threading.enumerate()} >= {"store-writer", "store-reader"}

    assert {thread for thread in threading.enumerate() if thread.name.startswith("store-")} == before


def test_the_store_works_on_uvloop(url: str) -> None:
    uvloop = pytest.importorskip("uvloop", reason="not for this platform")

    async def write_and_read() -> list[int]:
        async with open_sql_log(url) as log:
            session = await make(log)
            await asyncio.gather(*(append(log, session, seq) for seq in range(1, 50)))
            return seqs(await log.read(session))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(write_and_read()) == list(range(1, 51))
