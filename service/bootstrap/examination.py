"""Looks at all that a service would need, for `turnkeeper doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from service.adapters.log_memory import MemoryLog
from service.adapters.prometheus import PrometheusMeter
from service.adapters.system import SystemClock
from service.bootstrap.application import turns_over
from service.bootstrap.outside import MEMORY_URL, open_llama, open_tool_port
from service.bootstrap.store_access import look_at_store
from service.config import Settings
from service.config.agents import load_agents
from service.core.agents import AgentProfiles
from service.core.errors import StoreAbsent, StoreFailure
from service.turns.readiness import Check


def examine(settings: Settings) -> Sequence[Check]:
    """Look at all that a service with these settings would need, also while one runs; nothing is changed.

    Raises:
        SettingsError: the agents' file is wrong.
    """
    agents = load_agents(settings.agents_file)
    return [_examine_store(settings.database_url), *asyncio.run(_examine_servers(settings, agents))]


async def _examine_servers(settings: Settings, agents: AgentProfiles) -> Sequence[Check]:
    async with AsyncExitStack() as stack:
        llama = await open_llama(stack, settings)
        port = await open_tool_port(stack, settings)
        turns = turns_over(settings, agents, MemoryLog(), llama, port, PrometheusMeter(), SystemClock())
        _, *others = await turns.readiness.check()
    return others


def _examine_store(database_url: str) -> Check:
    if database_url == MEMORY_URL:
        warning = f"{MEMORY_URL} keeps nothing: all sessions end with the process."
        return Check(name="store", ok=True, message=warning, warnings=(warning,))
    try:
        with look_at_store(database_url):
            return Check(name="store", ok=True, message="is there and can be read")
    except StoreAbsent as absent:
        return Check(name="store", ok=True, message=f"{absent}; the first start makes it")
    except StoreFailure as failure:
        return Check(name="store", ok=False, message=str(failure))
