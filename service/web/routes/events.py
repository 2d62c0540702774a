"""Streams of a turn's and of a session's events: replay from the log, then live (H6)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Response

from service.core.errors import ProblemCode
from service.web.contract import refusals
from service.web.deps import (
    ApplicationDep,
    OwnerDep,
    ResumeAfter,
    SessionPath,
    SettingsDep,
    TurnPath,
    accepts_events,
    only_query,
)
from service.web.event_stream import EventStream
from service.web.negotiation import EVENT_STREAM
from service.web.routes.streaming import TURN_STREAM, stream_of
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["events"], route_class=StrictJsonRoute)

_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The events, until the client leaves.", "content": {EVENT_STREAM: TURN_STREAM}},
    **refusals(ProblemCode.NOT_FOUND, ProblemCode.NOT_ACCEPTABLE),
}
_CHECKS = [only_query("after"), Depends(accepts_events)]


@router.get(
    "/sessions/{session}/turns/{turn}/events",
    dependencies=_CHECKS,
    status_code=200,
    response_class=EventStream,
    responses={**_STREAMED, 204: {"description": "Resumed at or past the turn's end: nothing more will come."}},
)
async def stream_turn_events(
    session: SessionPath,
    turn: TurnPath,
    after: ResumeAfter,
    app: ApplicationDep,
    owner: OwnerDep,
    settings: SettingsDep,
) -> Response:
    """Stream a turn's events, and the approvals that its handoffs wait for; the stream ends with the turn."""
    follower = await app.sessions.follow(session, owner, turn=turn, after_pos=after)
    return stream_of(follower, session, turn, settings)


@router.get(
    "/sessions/{session}/events",
    dependencies=_CHECKS,
    status_code=200,
    response_class=EventStream,
    responses=_STREAMED,
)
async def stream_session_events(
    session: SessionPath, after: ResumeAfter, app: ApplicationDep, owner: OwnerDep, settings: SettingsDep
) -> Response:
    """Stream the events of all turns of a session and of its children at every depth; the stream does not end."""
    follower = await app.sessions.follow(session, owner, turn=None, after_pos=after)
    return stream_of(follower, session, None, settings)


@router.get(
    "/events",
    dependencies=_CHECKS,
    status_code=200,
    response_class=EventStream,
    responses={200: _STREAMED[200], **refusals(ProblemCode.NOT_ACCEPTABLE)},
)
async def stream_all_events(
    after: ResumeAfter, app: ApplicationDep, owner: OwnerDep, settings: SettingsDep
) -> Response:
    """Stream the events of all sessions, for dashboards: without a cursor from now on; the stream does not end."""
    follower = await app.sessions.follow_all(owner, after)
    return stream_of(follower, None, None, settings)
