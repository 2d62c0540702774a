"""Compaction by hand."""

from __future__ import annotations

from fastapi import APIRouter

from service.core.errors import ProblemCode
from service.web.contract import refusals
from service.web.deps import ApplicationDep, OwnerDep, SessionPath, only_query
from service.web.schemas.compaction import CompactionAnswer
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["sessions"], route_class=StrictJsonRoute)


@router.post(
    "/sessions/{session}/compact",
    dependencies=[only_query()],
    responses=refusals(ProblemCode.NOT_FOUND, ProblemCode.TURN_IN_PROGRESS, ProblemCode.SHUTTING_DOWN),
)
async def compact_session(session: SessionPath, app: ApplicationDep, owner: OwnerDep) -> CompactionAnswer:
    """Summarise the oldest part of an idle session, so that about half of its context is left to it."""
    return CompactionAnswer.of(await app.sessions.compact(session, owner))
