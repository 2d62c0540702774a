"""Sessions: create, list, show, change, delete."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from service.core.errors import ProblemCode
from service.core.ids import SessionId
from service.web import deps
from service.web.contract import refusals
from service.web.deps import (
    PAGE_DEFAULT,
    ApplicationDep,
    OwnerDep,
    PageLimit,
    RequestKeyDep,
    SessionPath,
    only_query,
)
from service.web.negotiation import JSON
from service.web.plain_requests import ShortWay, plain_body
from service.web.schemas.answers import SessionAnswer, SessionPage
from service.web.schemas.listings import PromptAnswer
from service.web.schemas.requests import SessionPatch, SessionRequest
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["sessions"], route_class=StrictJsonRoute)

EMPTY = SessionRequest()
SEARCH_CHARACTERS_MAX = 200

SearchAsked = Annotated[
    str,
    Query(
        max_length=SEARCH_CHARACTERS_MAX,
        # Databases end a text there.
        pattern="^[^\\x00]*$",
        description="Only sessions with this in their title, id or agent, in capital or small letters; empty: all.",
    ),
]


async def _create_plainly(request: Request) -> Response | None:
    asked = await plain_body(request, SessionRequest) if await request.body() else EMPTY
    if asked is None:
        return None
    app, owner = await deps.application(request), await deps.owner(request)
    view = await app.sessions.create(asked.to_asked(), owner)
    text = SessionAnswer.of(view).model_dump_json()
    return Response(text, 201, {"Location": f"/sessions/{view.id}"}, media_type=JSON)


SHORT_WAYS = (ShortWay(re.compile("/sessions"), _create_plainly),)


@router.post(
    "/sessions",
    status_code=201,
    dependencies=[only_query()],
    responses=refusals(
        # Of a fork: its source isn't there.
        ProblemCode.NOT_FOUND,
        ProblemCode.TOOL_PORT_UNAVAILABLE,
        ProblemCode.SHUTTING_DOWN,
        ProblemCode.IDEMPOTENCY_MISMATCH,
    ),
)
async def create_session(
    app: ApplicationDep,
    owner: OwnerDep,
    key: RequestKeyDep,
    response: Response,
    asked: Annotated[SessionRequest, Body()] = EMPTY,
) -> SessionAnswer:
    """Create a session. A request without a body asks for all defaults."""
    view = await app.sessions.create(asked.to_asked(), owner, key)
    response.headers["Location"] = f"/sessions/{view.id}"
    return SessionAnswer.of(view)


@router.get("/sessions", dependencies=[only_query("limit", "after", "search")], responses=refusals())
async def list_sessions(
    app: ApplicationDep,
    owner: OwnerDep,
    limit: PageLimit = PAGE_DEFAULT,
    after: Annotated[SessionId | None, Query(description="`next` of the page before.")] = None,
    search: SearchAsked = "",
) -> SessionPage:
    """List sessions, newest first, page by page."""
    views, following = await app.sessions.page(owner, limit=limit, after=after, search=search)
    return SessionPage(items=[SessionAnswer.of(view) for view in views], next=following)


@router.get("/sessions/{session}", dependencies=[only_query()], responses=refusals(ProblemCode.NOT_FOUND))
async def get_session(session: SessionPath, app: ApplicationDep, owner: OwnerDep) -> SessionAnswer:
    """Show a session."""
    return SessionAnswer.of(await app.sessions.view(session, owner))


@router.patch("/sessions/{session}", dependencies=[only_query()], responses=refusals(ProblemCode.NOT_FOUND))
async def update_session(
    session: SessionPath, asked: Annotated[SessionPatch, Body()], app: ApplicationDep, owner: OwnerDep
) -> SessionAnswer:
    """Change the title, or replace the metadata; what is left out stays as it is."""
    metadata = None if asked.metadata is None else dict(asked.metadata)
    return SessionAnswer.of(await app.sessions.update(session, owner, title=asked.title, metadata=metadata))


@router.delete(
    "/sessions/{session}",
    status_code=204,
    dependencies=[only_query()],
    responses=refusals(ProblemCode.NOT_FOUND),
)
async def delete_session(session: SessionPath, app: ApplicationDep, owner: OwnerDep) -> None:
    """Delete a session with its log; what runs in it is cancelled."""
    await app.sessions.delete(session, owner)


@router.get("/sessions/{session}/messages", dependencies=[only_query()], responses=refusals(ProblemCode.NOT_FOUND))
async def get_messages(session: SessionPath, app: ApplicationDep, owner: OwnerDep) -> PromptAnswer:
    """Show what the model would be sent now."""
    return PromptAnswer.of(await app.sessions.messages(session, owner))
