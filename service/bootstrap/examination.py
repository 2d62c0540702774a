"""Looks at all that a service would need, for `turnkeeper doctor`: what is found in words is the core's business."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from service.adapters.log_sql.looking import look_at_file
from service.adapters.system import SystemClock, disk_space
from service.bootstrap.model_server_look import LlamaView, look_at_llama, size_of_tools
from service.bootstrap.outside import MEMORY_URL
from service.bootstrap.service_look import look_at_service
from service.bootstrap.tool_port_look import PortView, look_at_port
from service.config import Settings
from service.config.agents import load_agents
from service.core.diagnosis.findings import Finding
from service.core.diagnosis.model_server import llama_findings
from service.core.diagnosis.service import TOOL_PORT, seconds_ahead, service_findings
from service.core.diagnosis.store import StoreFacts, StoreState, store_findings
from service.core.diagnosis.template import template_findings
from service.core.diagnosis.tool_port import PortReach, port_findings
from service.ports import Clock


def examine(settings: Settings, *, kept_free: int, probe: bool = False) -> Sequence[Finding]:
    """Look at all that a service with these settings would need, also while one runs; nothing is changed.

    `kept_free` is how many files a service keeps for other things than connections. With `probe` llama-server
    evaluates four small prompts; otherwise nothing is generated. It ends within seconds, also where a server hangs.

    Raises:
        SettingsError: the agents' file is wrong.
    """
    return asyncio.run(examined(settings, kept_free=kept_free, probe=probe))


async def examined(
    settings: Settings, *, kept_free: int, probe: bool = False, clock: Clock | None = None
) -> Sequence[Finding]:
    """Do what `examine` does, in a loop that runs; the clock is for tests."""
    clock = clock or SystemClock()
    agents = await asyncio.to_thread(load_agents, settings.agents_file)
    async with asyncio.TaskGroup() as looks:
        store = looks.create_task(asyncio.to_thread(_store, settings), name="look at the store")
        llama = looks.create_task(look_at_llama(settings, clock, probe=probe), name="look at llama-server")
        port = looks.create_task(look_at_port(settings, clock), name="look at the tool port")
        service = looks.create_task(look_at_service(settings, kept_free, clock), name="look at the service")
    seen, listed = llama.result(), await _sized(settings, clock, llama.result(), port.result())
    template = seen.template
    facts = replace(
        service.result(),
        agents=agents,
        clocks=_clocks(seen, port.result()),
        signs=settings.tool_port_secret is not None,
        tool_names=listed.names if listed.facts.reach in (PortReach.ANSWERS, PortReach.NOT_SET) else None,
        template=template.profile if template is not None else None,
        models=seen.facts.models,
        server_slots=seen.facts.slots if template is not None else None,
    )
    return [
        *store_findings(store.result()),
        *llama_findings(seen.facts),
        *(template_findings(template) if template is not None else ()),
        *port_findings(listed.facts),
        *service_findings(facts),
    ]


async def _sized(settings: Settings, clock: Clock, llama: LlamaView, port: PortView) -> PortView:
    """Have the model server try the port's tools, and count them."""
    if port.facts.reach is not PortReach.ANSWERS or llama.template is None:
        return port
    tried = await size_of_tools(settings, clock, llama, port.specs)
    if tried is None:
        return port
    facts = replace(port.facts, tools=len(tried.names), refused=tried.refused, size=tried.size)
    return replace(port, names=tried.names, facts=facts)


def _clocks(llama: LlamaView, port: PortView) -> tuple[tuple[str, float], ...]:
    told = (("llama-server", llama.date, llama.asked_at), (TOOL_PORT, port.date, port.asked_at))
    ahead = [(name, seconds_ahead(date, now)) for name, date, now in told]
    return tuple((name, seconds) for name, seconds in ahead if seconds is not None)


def _store(settings: Settings) -> StoreFacts:
    if settings.database_url == MEMORY_URL:
        return StoreFacts(state=StoreState.MEMORY)
    facts = replace(look_at_file(settings.database_url), retention_days=settings.retention_days)
    space = disk_space(facts.path) if facts.path else None
    return facts if space is None else replace(facts, free_bytes=space[0], disk_bytes=space[1])
