"""Approvals: what waits for people, and their decisions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from service.core.errors import ProblemCode
from service.web.contract import refusals
from service.web.deps import (
    ApplicationDep,
    CallerDep,
    OwnerDep,
    RequestKeyDep,
    SessionPath,
    SettingsDep,
    TurnPath,
    WantedForm,
    only_query,
)
from service.web.routes.turn_forms import GoingTurn, answer_turn, going_answers, shown
from service.web.schemas.answers import TurnAnswer
from service.web.schemas.approvals import ApprovalList, DecisionsRequest
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["approvals"], route_class=StrictJsonRoute)

_DECIDED = going_answers(
    "The turn, while other calls of it wait still; behind the last decision the turn's events until it ends or waits "
    "again, or, as JSON, the turn then.",
    "The turn goes on",
)


@router.get("/approvals", dependencies=[only_query()], responses=refusals())
async def list_approvals(app: ApplicationDep, owner: OwnerDep) -> ApprovalList:
    """List the calls that wait for a decision, over all sessions."""
    return ApprovalList.of(await app.sessions.pending(owner))


@router.post(
    "/sessions/{session}/turns/{turn}/decisions",
    # A cursor means nothing here, and clients that add one to every address may (H6).
    dependencies=[only_query("after")],
    response_model=TurnAnswer,
    responses={
        **_DECIDED,
        **refusals(
            ProblemCode.NOT_FOUND,
            ProblemCode.NOT_ACCEPTABLE,
            ProblemCode.NOT_PENDING,
            ProblemCode.DIGEST_MISMATCH,
            ProblemCode.IDEMPOTENCY_MISMATCH,
            ProblemCode.SHUTTING_DOWN,
        ),
    },
)
async def decide(
    session: SessionPath,
    turn: TurnPath,
    asked: Annotated[DecisionsRequest, Body()],
    form: WantedForm,
    app: ApplicationDep,
    owner: OwnerDep,
    caller: CallerDep,
    key: RequestKeyDep,
    settings: SettingsDep,
    request: Request,
) -> Response:
    """Approve or deny calls of a turn, all of these decisions or none; the same ones again change nothing."""
    assert caller is not None  # the access table has no open row here
    decided = await app.sessions.decide(session, turn, owner, asked.to_asked(), by=caller.name, key=key)
    going = GoingTurn(session=session, turn=turn, owner=owner, after_pos=decided.after_pos)
    if not decided.goes_on:
        view = await app.sessions.turn(session, turn, owner)
        return shown(TurnAnswer.of(view), 200, {"Content-Location": going.path})
    return await answer_turn(app, going, form, request, settings)
