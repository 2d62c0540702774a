"""What a start does before it takes requests: it goes on with every turn that the last process left open (S4)."""

from __future__ import annotations

import structlog

from service.core.errors import StoreFailure
from service.ports import SessionLog
from service.turns.live_sessions import LiveSessions

log = structlog.get_logger(__name__)


async def resume_unfinished(store: SessionLog, live: LiveSessions) -> None:
    """Go on with every turn that is open in the store, those that wait for people among them."""
    for session in await store.busy_sessions():
        row = await store.session(session)
        try:
            if row is not None:
                await live.resume(row)
        except StoreFailure as failure:
            # One log that can't be read must not keep the others waiting.
            log.error("turn.not_resumed", session=session, reason=str(failure))
