"""What `turnkeeper doctor` knows of the service, its machine and its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from service.core.agents import AgentProfiles
from service.core.baseline import Limits, TemplateProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What answers at the service's own address: a version, or something that is no Turnkeeper, or nothing.

    The version is empty where a Turnkeeper answers that does not tell it.
    """

    url: str
    version: str | None = None
    is_something_else: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """All else that a service with these settings would meet.

    `clocks` are how many seconds others are ahead of us, by name. `tool_names` is None where the port did not tell;
    `template` and `models` likewise. `keys_none` names a file of keys
    that has none; `connections` is how many the system allows beside what is kept free.
    """

    version: str
    now: datetime
    running: Running | None = None
    host_is_open: bool = False
    keys_fault: str | None = None
    keys_none: str | None = None
    keys_warning: str | None = None
    connections: int | None = None
    max_connections: int = 2000
    clocks: tuple[tuple[str, float], ...] = ()
    signs: bool = False
    agents: AgentProfiles = field(default_factory=AgentProfiles)
    limits: Limits = Limits()
    tool_names: tuple[str, ...] | None = None
    template: TemplateProfile | None = None
    models: tuple[str, ...] = ()
    model: str | None = None
    slots: int | None = None
    server_slots: int | None = None
    liveness_ms: int = 90_000
    poll_ms: int = 2_000
    waits_ms: tuple[tuple[str, int], ...] = ()
    port_secrets: tuple[str, ...] = ()
    has_port: bool = False
    unknown_variables: tuple[str, ...] = ()
