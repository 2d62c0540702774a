"""Builds the application over real adapters, and takes it down again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from service.adapters.documents.processes import DocumentProcesses
from service.adapters.llama import LlamaHttp
from service.adapters.prometheus import PrometheusMeter
from service.adapters.system import RandomIds, SystemClock
from service.adapters.tools import ToolPortHttp
from service.bootstrap.outside import open_llama, open_log, open_tool_port
from service.bootstrap.standing import standing_of, store_size
from service.bootstrap.tracing import open_tracer
from service.config import Settings
from service.config.agents import load_agents
from service.core.agents import AgentProfiles
from service.ports import Clock, ReadingLog, SessionLog, Tracer
from service.ports.documents import DocumentReader
from service.readings.assembly import assemble_readings
from service.readings.readings import Readings
from service.turns.assembly import Turns, assemble
from service.turns.missing_parts import missing_parts
from service.turns.readiness import Readiness
from service.turns.retention import forget_keys_each_day, prune_each_day
from service.turns.server_view import ServerView
from service.turns.sessions import Sessions
from service.turns.tool_catalog import ToolCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What the edges of the service may call."""

    sessions: Sessions
    readings: Readings
    documents: DocumentReader
    tools: ToolCatalog
    readiness: Readiness
    server: ServerView
    agents: AgentProfiles
    metrics: Metrics
    clock: Clock
    poll_s: float

    def missing(self) -> AsyncIterator[str]:
        """Give a line for each part that is missing, and for each that comes; it ends when nothing is missing."""
        return missing_parts(self.readiness, self.clock, pause_s=self.poll_s)

    async def shut_down(self, drain_s: float) -> None:
        """Begin nothing new and end the streams; running turns get some time, readings go on with the next start."""
        await self.readings.shut_down()
        await self.sessions.shut_down(drain_s)


class Metrics(Protocol):
    """What a scrape gets."""

    content_type: str

    async def text(self) -> bytes:
        """Give all metrics as they are now."""
        ...

    def stream_opened(self) -> None:
        """Count an event stream."""
        ...

    def stream_ended(self, *, dropped: bool) -> None:
        """Take note of a stream's end; `dropped` since its reader took nothing for too long (H7)."""
        ...


@asynccontextmanager
async def build(settings: Settings) -> AsyncGenerator[Application]:
    """Build the application over real adapters and go on with unfinished turns; at the end, stop in order (H8).

    Raises:
        SettingsError: the agents' file is wrong, or traces are wanted and can't be kept.
        StoreFailure: the store can't be opened; the text says why in one line.
    """
    agents = load_agents(settings.agents_file)
    async with AsyncExitStack() as stack:
        tracer = await open_tracer(stack, settings)
        meter = PrometheusMeter()
        log = await open_log(stack, settings, meter.committed)
        llama = await open_llama(stack, settings)
        port = await open_tool_port(stack, settings)
        clock = SystemClock()
        turns = turns_over(settings, agents, log, llama, port, meter, tracer, clock)
        # Beside the start, which waits for no server: its log says what the model's template can't do (L10).
        _beside(stack, turns.server.facts_or_none(), "learn what llama-server is")
        _beside(stack, forget_keys_each_day(log, clock), "forget old keys")
        pruning = prune_each_day(log, clock, settings.retention_days, deleted=turns.sessions.removed)
        _beside(stack, pruning, "prune old sessions")
        await turns.sessions.resume_unfinished()
        # Before the clients and the store close. Giving turns time to finish is the server's business: it does so
        # while it still answers.
        stack.push_async_callback(turns.sessions.shut_down, 0)
        readings = readings_over(settings, turns, log, llama, meter, tracer, clock)
        meter.look_at(standing_of(turns, readings), store_size(settings.database_url))
        await readings.resume_unfinished()
        stack.push_async_callback(readings.shut_down)
        yield Application(
            sessions=turns.sessions,
            readings=readings,
            documents=DocumentProcesses(max_text_bytes=settings.max_document_bytes),
            tools=turns.tools,
            readiness=turns.readiness,
            server=turns.server_view,
            agents=agents,
            metrics=meter,
            clock=clock,
            poll_s=settings.poll_ms / 1000,
        )


def turns_over(
    settings: Settings,
    agents: AgentProfiles,
    log: SessionLog,
    llama: LlamaHttp,
    port: ToolPortHttp | None,
    meter: PrometheusMeter,
    tracer: Tracer,
    clock: SystemClock,
) -> Turns:
    """Wire sessions and turns over these adapters, by the settings."""
    return assemble(
        log=log,
        llama=llama,
        port=port,
        clock=clock,
        ids=RandomIds(),
        meter=meter,
        tracer=tracer,
        agents=agents,
        limits=settings.limits(),
        model=settings.model,
        slots=settings.slots,
        min_room=settings.min_room,
        compact_at=settings.compact_at,
        compact_messages=settings.compact_messages,
        tool_concurrency=settings.tool_concurrency,
        resume_attempts=settings.resume_attempts,
        queue_limit=settings.queue_limit,
        retry_attempts=settings.retry_attempts,
        load_wait_ms=settings.load_wait_ms,
        pin_slots=settings.pin_slots,
        poll_ms=settings.poll_ms,
        cache_slack=settings.cache_slack,
        discover_above_tokens=settings.discover_above_tokens,
        approver_keys=settings.approvers(),
        approval_wait_s=settings.approval_wait_s,
        approve_after_untrusted=settings.approve_after_untrusted,
        bounds=settings.owner_bounds(),
    )


def readings_over(
    settings: Settings,
    turns: Turns,
    log: ReadingLog,
    llama: LlamaHttp,
    meter: PrometheusMeter,
    tracer: Tracer,
    clock: SystemClock,
) -> Readings:
    """Wire readings over these adapters, and over what the turns have of the model server."""
    return assemble_readings(
        log=log,
        llama=llama,
        clock=clock,
        ids=RandomIds(),
        meter=meter,
        tracer=tracer,
        gate=turns.gate,
        server=turns.server,
        presence=turns.presence,
        model=settings.model,
        retry_attempts=settings.retry_attempts,
        bounds=settings.owner_bounds(),
    )


def _beside(stack: AsyncExitStack, work: Coroutine[Any, Any, object], name: str) -> None:
    """Do it in a task of its own, which ends with the application."""
    task = asyncio.create_task(work, name=name)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)
