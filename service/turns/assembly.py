"""Puts the parts of this package together over any ports: the same wiring for the service and for its tests."""

from __future__ import annotations

from dataclasses import dataclass

from service.access.gate import Gate
from service.access.health_watch import HealthWatch
from service.access.model_server import ModelServer
from service.access.presence import ServerPresence
from service.core.agents import AgentProfiles
from service.core.baseline import Limits
from service.core.decision_signature import ApproverKeys
from service.core.owner_bounds import OwnerBounds
from service.ports import Clock, Ids, Llama, Meter, SessionLog, ToolPort, Tracer
from service.turns.absent_tool_port import AbsentToolPort
from service.turns.approvals import Approvals
from service.turns.asking import Asking
from service.turns.batch_runner import BatchRunner
from service.turns.cache_watch import CacheWatch
from service.turns.compaction import Compactor
from service.turns.feed import Feeds
from service.turns.handoffs import Handoffs
from service.turns.intake import TurnIntake
from service.turns.live_sessions import LiveSessions
from service.turns.open_turns import OpenTurns
from service.turns.open_work import OpenWork
from service.turns.preflight import Preflight
from service.turns.readiness import Readiness
from service.turns.runner import TurnRunner
from service.turns.server_view import ServerView
from service.turns.session_creation import SessionCreation
from service.turns.session_loading import SessionLoading
from service.turns.session_making import BaselineMaker
from service.turns.sessions import Sessions
from service.turns.spec_probe import SpecProbe
from service.turns.step_runner import StepRunner
from service.turns.summary_writer import SummaryWriter
from service.turns.tool_catalog import ToolCatalog

# Permits before the server has told how many slots it has.
_SLOTS_UNTIL_KNOWN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """What this package offers to the edges."""

    sessions: Sessions
    tools: ToolCatalog
    readiness: Readiness
    gate: Gate
    server: ModelServer
    presence: ServerPresence
    server_view: ServerView
    open_work: OpenWork


def assemble(
    *,
    log: SessionLog,
    llama: Llama,
    port: ToolPort | None,
    clock: Clock,
    ids: Ids,
    meter: Meter,
    tracer: Tracer,
    agents: AgentProfiles,
    limits: Limits,
    model: str | None,
    slots: int | None,
    min_room: int,
    compact_at: float,
    compact_messages: int,
    tool_concurrency: int,
    resume_attempts: int,
    queue_limit: int,
    retry_attempts: int,
    load_wait_ms: int,
    pin_slots: bool,
    poll_ms: int,
    cache_slack: int,
    discover_above_tokens: int,
    approver_keys: ApproverKeys,
    approval_wait_s: int,
    approve_after_untrusted: bool,
    bounds: OwnerBounds,
) -> Turns:
    """Wire sessions, runner, gate and feeds over these ports; numbers are settings of the same names."""
    gate = Gate(slots or _SLOTS_UNTIL_KNOWN, clock.monotonic)
    server = ModelServer(llama, gate, clock, slots=slots, has_tools=port is not None)
    probe = SpecProbe(llama, server, model=model)
    tools = ToolCatalog(port, probe)
    feeds = Feeds()
    health = HealthWatch(llama, clock, poll_ms=poll_ms)
    presence = ServerPresence(server, health, clock, load_wait_ms=load_wait_ms)
    asking = Asking(llama, server, gate, presence, meter, clock, pin_slots=pin_slots)
    cache = CacheWatch(llama, server, slack=cache_slack)
    compactor = Compactor(
        llama,
        server,
        SummaryWriter(asking, cache),
        ids,
        compact_at=compact_at,
        compact_messages=compact_messages,
        min_room=min_room,
    )
    baselines = BaselineMaker(agents, tools, probe, server, limits, model, discover_above_tokens=discover_above_tokens)
    creation = SessionCreation(log, clock, ids, baselines, bounds)
    approvals = Approvals(clock, approver_keys, meter, wait_s=approval_wait_s)
    handoffs = Handoffs(log, ids, clock, creation, feeds, tracer)
    batches = BatchRunner(port or AbsentToolPort(), log, server, ids, approvals, handoffs, concurrency=tool_concurrency)
    runner = TurnRunner(
        StepRunner(asking, server, cache, compactor, meter, clock, ids, retry_attempts=retry_attempts),
        batches,
        approvals,
        handoffs,
        tracer,
        clock,
    )
    open_turns = OpenTurns(bounds)
    loading = SessionLoading(log, clock, meter, feeds, open_turns, guarded=approve_after_untrusted)
    live = LiveSessions(log, loading, feeds, runner, resume_attempts=resume_attempts)
    handoffs.connect(live)
    preflight = Preflight(server, compactor)
    sessions = Sessions(
        log=log,
        clock=clock,
        feeds=feeds,
        live=live,
        server=server,
        creation=creation,
        approvals=approvals,
        intake=TurnIntake(log, ids, live, preflight, open_turns, tracer, queue_limit=queue_limit),
        compactor=compactor,
        open_turns=open_turns,
    )
    readiness = Readiness(log, llama, server, tools)
    return Turns(
        sessions=sessions,
        tools=tools,
        readiness=readiness,
        gate=gate,
        server=server,
        presence=presence,
        server_view=ServerView(llama, server, gate, tools),
        open_work=OpenWork(live, clock),
    )
