"""One module per resource. A route finds what is asked for and calls it; it has no rules."""

from __future__ import annotations

from service.web.routes import events, health, index, records, registry, sessions, turns
from service.web.routes.reading import answer_head

ROUTERS = tuple(answer_head(module.router) for module in (sessions, turns, events, records, registry, health, index))
"""All routes, in the order in which the API is described."""
