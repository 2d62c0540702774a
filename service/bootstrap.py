"""The one place that knows concrete classes: it builds the application and takes it down again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from service.adapters.llama import LlamaHttp, LlamaTimes, build_llama_client
from service.adapters.log_memory import MemoryLog
from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.adapters.prometheus import PrometheusMeter
from service.adapters.system import RandomIds, SystemClock
from service.adapters.tools import ToolPortHttp, build_tool_client
from service.config import Settings
from service.config.agents import load_agents
from service.core.agents import AgentProfiles
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from service.core.kept_heads import KeptHeads
from service.core.verification import Verdict
from service.ports import SessionLog
from service.turns.assembly import assemble
from service.turns.readiness import Readiness
from service.turns.retention import forget_keys_each_day, prune, prune_each_day
from service.turns.server_view import ServerView
from service.turns.sessions import Sessions
from service.turns.tool_catalog import ToolCatalog

MEMORY_URL = "memory:"
"""The database URL of a store that ends with the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What the edges of the service may call."""

    sessions: Sessions
    tools: ToolCatalog
    readiness: Readiness
    server: ServerView
    agents: AgentProfiles
    metrics: Metrics


class StoreAudit(Protocol):
    """What the command line gets of a store that it only looks at; each method may raise `StoreFailure`."""

    def sessions(self) -> Iterator[SessionId]:
        """Name all sessions, oldest first."""
        ...

    def verify(self, session: SessionId, kept: KeptHeads = ...) -> Verdict | None:
        """Check one session's log; None when there is no such session (S3)."""
        ...

    def homeless(self) -> Sequence[str]:
        """Say what is kept that belongs to no session."""
        ...

    def idle_before(self, moment: datetime) -> Iterator[SessionId]:
        """Name the sessions that pruning by this moment would remove (S7)."""
        ...


class Metrics(Protocol):
    """What a scrape gets."""

    content_type: str

    def text(self) -> bytes:
        """Give all metrics as they are now."""
        ...


@asynccontextmanager
async def build(settings: Settings) -> AsyncGenerator[Application]:
    """Build the application over real adapters and go on with unfinished turns; at the end, stop in order (H8).

    Raises:
        SettingsError: the agents' file is wrong.
        StoreFailure: the store can't be opened; the text says why in one line.
    """
    agents = load_agents(settings.agents_file)
    async with AsyncExitStack() as stack:
        log = await _open_log(stack, settings)
        llama = await _open_llama(stack, settings)
        port = await _open_tool_port(stack, settings)
        meter = PrometheusMeter()
        clock = SystemClock()
        turns = assemble(
            log=log,
            llama=llama,
            port=port,
            clock=clock,
            ids=RandomIds(),
            meter=meter,
            agents=agents,
            limits=settings.limits(),
            model=settings.model,
            slots=settings.slots,
            min_room=settings.min_room,
            tool_concurrency=settings.tool_concurrency,
            resume_attempts=settings.resume_attempts,
            queue_limit=settings.queue_limit,
            retry_attempts=settings.retry_attempts,
            load_wait_ms=settings.load_wait_ms,
            pin_slots=settings.pin_slots,
            poll_ms=settings.poll_ms,
            cache_slack=settings.cache_slack,
            discover_above_tokens=settings.discover_above_tokens,
        )
        # Beside the start, which waits for no server: its log says what the model's template can't do (L10).
        _beside(stack, turns.server.facts_or_none(), "learn what llama-server is")
        _beside(stack, forget_keys_each_day(log, clock), "forget old keys")
        pruning = prune_each_day(log, clock, settings.retention_days, deleted=turns.sessions.removed)
        _beside(stack, pruning, "prune old sessions")
        await turns.sessions.resume_unfinished()
        # Before the clients and the store close. Giving turns time to finish is the server's business: it does so
        # while it still answers.
        stack.push_async_callback(turns.sessions.shut_down, 0)
        yield Application(
            sessions=turns.sessions,
            tools=turns.tools,
            readiness=turns.readiness,
            server=turns.server_view,
            agents=agents,
            metrics=meter,
        )


@contextmanager
def look_at_store(database_url: str) -> Generator[StoreAudit]:
    """Open the store for whoever checks it, also while the service runs (S3).

    Raises:
        StoreFailure: there is no such store, or it can't be read; the text says why in one line.
    """
    if database_url == MEMORY_URL:
        raise StoreFailure(f"{MEMORY_URL} keeps nothing on disk; name a store with sqlite:///FILE")
    with open_audit(database_url) as audit:
        yield audit


async def prune_store(database_url: str, days: int, deleted: Callable[[SessionId], None]) -> int:
    """Delete what is older than `days` days from a store that no service has open; give the number (S7).

    Raises:
        StoreLocked: the service, or something else, has it open.
        StoreFailure: it can't be written; the text says why in one line.
    """
    async with open_sql_log(database_url) as log:
        return await prune(log, SystemClock(), days, deleted=deleted)


def _beside(stack: AsyncExitStack, work: Coroutine[Any, Any, object], name: str) -> None:
    """Do it in a task of its own, which ends with the application."""
    task = asyncio.create_task(work, name=name)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)


async def _open_log(stack: AsyncExitStack, settings: Settings) -> SessionLog:
    if settings.database_url == MEMORY_URL:
        return MemoryLog()
    return await stack.enter_async_context(open_sql_log(settings.database_url))


async def _open_llama(stack: AsyncExitStack, settings: Settings) -> LlamaHttp:
    key = settings.llama_api_key
    client = build_llama_client(
        settings.llama_url, key.get_secret_value() if key is not None else None, connect_ms=settings.connect_ms
    )
    times = LlamaTimes(
        poll_ms=settings.poll_ms,
        busy_wait_ms=settings.busy_wait_ms,
        load_wait_ms=settings.load_wait_ms,
        idle_grace_ms=settings.idle_grace_ms,
        liveness_ms=settings.liveness_ms,
        progress_ms=settings.progress_ms,
        answer_ms=settings.answer_ms,
    )
    client = await stack.enter_async_context(client)
    return LlamaHttp(client, times, model=settings.model, max_error_body=settings.max_error_body)


async def _open_tool_port(stack: AsyncExitStack, settings: Settings) -> ToolPortHttp | None:
    if settings.tool_port_url is None:
        return None
    token = settings.tool_port_token
    client = build_tool_client(
        settings.tool_port_url,
        token.get_secret_value() if token is not None else None,
        connect_timeout_s=settings.connect_ms / 1000,
    )
    client = await stack.enter_async_context(client)
    return ToolPortHttp(client, max_body_bytes=settings.max_tool_body_bytes)
