"""One module per resource. A route finds what is asked for and calls it; it has no rules."""

from __future__ import annotations

from service.web.routes import (
    approvals,
    compaction,
    dashboard,
    events,
    health,
    index,
    readings,
    records,
    registry,
    sessions,
    turns,
)
from service.web.routes.head_requests import answer_head
from service.web.schemas.readings import ReadingRequest, ReadingUpload

ROUTERS = tuple(
    answer_head(module.router)
    for module in (
        sessions,
        turns,
        compaction,
        approvals,
        readings,
        events,
        records,
        registry,
        health,
        index,
        dashboard,
    )
)
"""All routes, in the order in which the API is described."""

SHORT_WAYS = (*sessions.SHORT_WAYS, *turns.SHORT_WAYS)
"""The short ways of requests that ask for nothing unusual."""

BODIES = (ReadingRequest, ReadingUpload)
"""Bodies that come in more than one form, so that their route reads them itself."""
