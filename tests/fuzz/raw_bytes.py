"""Sends bytes of every kind to a service, many connections at a time, and judges what comes back and what is left."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from structlog.testing import capture_logs

from service.bootstrap import build
from tests.fuzz.judge import Unsound
from tests.fuzz.raw_answers import DECLARED, EVENT_STREAM, statuses
from tests.fuzz.raw_requests import SESSION, made
from tests.web.bounded import CREATE, LIVE, Bounded, bounded
from tests.web.stepped import settle

AT_A_TIME = 128
# Beyond what the service waits for bytes: for a machine that is busy.
BOUND_S = 30


@dataclass
class Outcome:
    """How often each status came, and what is wrong: the numbers of cases, or none, and why."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    silent: int = 0
    faults: list[tuple[int | None, str]] = field(default_factory=list[tuple[int | None, str]])


async def send_all(seed: int, numbers: Iterable[int], *, patience_s: int = 1) -> Outcome:
    """Send these cases to a service of their own, which waits so long for the rest of a request."""
    outcome = Outcome()
    # No model server is there: turns fail, which is none of this test's business.
    settings: dict[str, Any] = {
        **{"llama_url": "http://127.0.0.1:9", "database_url": "memory:", "load_wait_ms": 50, "poll_ms": 50},
        **{"header_timeout_s": patience_s, "body_timeout_s": patience_s, "sse_send_timeout_s": 5},
    }
    with _watched(outcome):
        async with bounded(build, keep_alive_s=1, **settings) as service:
            session = await _session(service)
            tasks = len(asyncio.all_tasks())
            await _send(service, session, seed, numbers, outcome)
            await _look_around(service, tasks, outcome)
    return outcome


async def _send(service: Bounded, session: bytes, seed: int, numbers: Iterable[int], outcome: Outcome) -> None:
    waiting = iter(numbers)

    async def work() -> None:
        for number in waiting:
            sent = tuple(piece.replace(SESSION, session) for piece in made(seed, number))
            try:
                answers = await _answers(service, sent)
                found = statuses(answers, to_head=b"HEAD" in b"".join(sent))
            except (Unsound, TimeoutError) as error:
                outcome.faults.append((number, f"{type(error).__name__}: {error}"))
                continue
            outcome.statuses.update(found)
            outcome.silent += not found
            if wrong := [status for status in found if status >= 500 and status not in DECLARED]:
                outcome.faults.append((number, f"answered with {wrong}"))

    async with asyncio.TaskGroup() as group:
        for worker in range(AT_A_TIME):
            group.create_task(work(), name=f"sends {worker}")


async def _answers(service: Bounded, pieces: tuple[bytes, ...]) -> bytes:
    """Read what comes until the service closes; a stream of events is left when it has begun."""
    come = b""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    try:
        # It may be closed before all was sent, with something to be read still.
        with suppress(ConnectionError):
            async with asyncio.timeout(BOUND_S):
                for piece in pieces:
                    if writer.transport.is_closing():
                        break
                    writer.write(piece)
                    await settle()
                while piece := await reader.read(65536):
                    come += piece
                    if EVENT_STREAM in come and come.endswith(b"\n\n\r\n"):
                        break
    finally:
        writer.transport.abort()
    return come


async def _look_around(service: Bounded, tasks: int, outcome: Outcome) -> None:
    try:
        await service.is_empty()
        async with asyncio.timeout(BOUND_S):
            while len(asyncio.all_tasks()) > tasks:
                await settle()
        async with service.client(LIVE) as client:
            assert (await client.answer()).startswith(b"HTTP/1.1 200 ")
    except TimeoutError:
        left = [task.get_name() for task in asyncio.all_tasks()]
        outcome.faults.append((None, f"something is left: {left}"))


async def _session(service: Bounded) -> bytes:
    async with service.client(CREATE + b"Content-Length: 2\r\n\r\n{}") as client:
        head = await client.answer()
    start = head.index(b"/sessions/ses_") + len(b"/sessions/")
    return head[start : head.index(b"\r\n", start)]


@contextmanager
def _watched(outcome: Outcome) -> Generator[None]:
    """Take each traceback and each error in the log for a fault."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info or record.levelno >= logging.ERROR:
                reason = record.exc_info[1] if record.exc_info else None
                outcome.faults.append((None, f"the log says: {record.getMessage()} {reason!r}"))

    listener, root = Listener(), logging.getLogger()
    names = ("uvicorn.error", "asyncio")
    for logger in (root, *map(logging.getLogger, names)):
        logger.addHandler(listener)
    try:
        with capture_logs() as lines:
            yield
    finally:
        for logger in (root, *map(logging.getLogger, names)):
            logger.removeHandler(listener)
    for line in lines:
        if line.get("exc_info") or line["log_level"] in ("error", "critical"):
            outcome.faults.append((None, f"the log says: {line}"))
