"""Looks at the service's own settings, keys and address for `turnkeeper doctor`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

from service import __version__
from service.adapters.key_file import KeyFileEditor, others_rights
from service.adapters.service_client import open_service
from service.adapters.system import open_files_allowed
from service.config import Settings, unknown_variables
from service.config.kinds import is_loopback
from service.core.diagnosis.service_facts import Running, ServiceFacts
from service.ports import Clock
from service.ports.key_file import KeyFileError
from service.ports.running_service import ServiceAway, ServiceRefused, ServiceTrouble

ANSWER_S = 3.0
_WAITS = ("busy_wait_ms", "load_wait_ms", "idle_grace_ms")


async def look_at_service(settings: Settings, kept_free: int, clock: Clock) -> ServiceFacts:
    """Look at what a service with these settings would meet on this machine."""
    allowed = open_files_allowed()
    secrets = (("tool_port_token", settings.tool_port_token), ("tool_port_secret", settings.tool_port_secret))
    facts = ServiceFacts(
        version=__version__,
        now=clock.now(),
        running=await _running(settings),
        host_is_open=not is_loopback(settings.host),
        connections=None if allowed is None else max(1, allowed - kept_free),
        max_connections=settings.max_connections,
        limits=settings.limits(),
        model=settings.model,
        slots=settings.slots,
        liveness_ms=settings.liveness_ms,
        poll_ms=settings.poll_ms,
        waits_ms=tuple((name, getattr(settings, name)) for name in _WAITS),
        port_secrets=tuple(name for name, secret in secrets if secret is not None),
        has_port=settings.tool_port_url is not None,
        unknown_variables=tuple(unknown_variables()),
    )
    if settings.api_keys_file is None:
        return facts
    return await asyncio.to_thread(_with_keys, facts, settings.api_keys_file)


def _with_keys(facts: ServiceFacts, path: Path) -> ServiceFacts:
    try:
        # The service takes no file that isn't there; the editor would make it.
        keys = KeyFileEditor(path).keys() if path.exists() else None
    except KeyFileError as fault:
        return replace(facts, keys_fault=str(fault))
    if keys is None:
        return replace(facts, keys_fault=f"{path} is not there")
    return replace(facts, keys_none=None if keys else str(path), keys_warning=others_rights(path))


async def _running(settings: Settings) -> Running | None:
    """Ask what answers at the service's own address; None where it may be any."""
    if settings.port == 0:
        return None
    url = f"http://{_reached_at(settings.host)}:{settings.port}"
    try:
        async with asyncio.timeout(ANSWER_S), open_service(url) as service:
            told = await service.get("/livez")
    except ServiceAway:
        return Running(url=url)
    except ServiceRefused as refusal:
        return Running(url=url, version="") if refusal.code else Running(url=url, is_something_else=True)
    except (ServiceTrouble, TimeoutError):
        return Running(url=url, is_something_else=True)
    version = told.get("version")
    if told.get("status") != "ok" or not isinstance(version, str):
        return Running(url=url, is_something_else=True)
    return Running(url=url, version=version)


def _reached_at(host: str) -> str:
    """Give the host part of a URL by which an address to listen on is reached from this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host
