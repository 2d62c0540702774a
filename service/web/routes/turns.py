"""Turns: start, show, cancel. The first station on the way of a turn."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query, Request, Response

from service.core.errors import ProblemCode
from service.core.ids import SessionId
from service.web import deps
from service.web.contract import refusals
from service.web.deps import (
    ApplicationDep,
    OwnerDep,
    RequestKeyDep,
    SessionPath,
    SettingsDep,
    TraceDep,
    TurnPath,
    WantedForm,
    only_query,
)
from service.web.negotiation import answer_form
from service.web.plain_requests import ShortWay, plain_body
from service.web.routes.turn_forms import GoingTurn, answer_turn, going_answers
from service.web.schemas.answers import TurnAnswer, TurnList
from service.web.schemas.requests import TurnRequest
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["turns"], route_class=StrictJsonRoute)

_STARTED = going_answers(
    "The turn's events until it ends or waits for a decision; or, as JSON, the turn then.", "The turn runs"
)
_START_REFUSALS = refusals(
    ProblemCode.NOT_FOUND,
    ProblemCode.NOT_ACCEPTABLE,
    ProblemCode.TURN_IN_PROGRESS,
    ProblemCode.QUEUE_FULL,
    ProblemCode.IDEMPOTENCY_MISMATCH,
    ProblemCode.SESSION_FULL,
    ProblemCode.SHUTTING_DOWN,
)


async def _start_plainly(request: Request) -> Response | None:
    form = answer_form(deps.accept_of(request), ())
    asked = await plain_body(request, TurnRequest)
    if form is None or asked is None:
        return None
    app, owner, settings = await deps.application(request), await deps.owner(request), await deps.settings(request)
    session = SessionId(request.path_params["session"])
    turn = await app.sessions.start_turn(session, owner, asked.to_asked(deps.trace_of(request)))
    return await answer_turn(app, GoingTurn(session=session, turn=turn, owner=owner), form, request, settings)


SHORT_WAYS = (ShortWay(re.compile("/sessions/(?P<session>[^/]+)/turns"), _start_plainly),)


@router.post(
    "/sessions/{session}/turns",
    # A cursor means nothing here, and clients that add one to every address may (H6).
    dependencies=[only_query("after", "on_disconnect")],
    response_model=TurnAnswer,
    responses={**_STARTED, **_START_REFUSALS},
)
async def start_turn(
    session: SessionPath,
    asked: Annotated[TurnRequest, Body()],
    form: WantedForm,
    app: ApplicationDep,
    owner: OwnerDep,
    key: RequestKeyDep,
    settings: SettingsDep,
    trace: TraceDep,
    request: Request,
    on_disconnect: Annotated[
        Literal["cancel"] | None, Query(description="Cancel the turn when the client leaves before its answer.")
    ] = None,
) -> Response:
    """Run a turn: by default its events are streamed. A client that leaves does not end the turn."""
    turn = await app.sessions.start_turn(session, owner, asked.to_asked(trace), key)
    going = GoingTurn(session=session, turn=turn, owner=owner, cancel_when_left=on_disconnect is not None)
    return await answer_turn(app, going, form, request, settings)


@router.get("/sessions/{session}/turns", dependencies=[only_query()], responses=refusals(ProblemCode.NOT_FOUND))
async def list_turns(session: SessionPath, app: ApplicationDep, owner: OwnerDep) -> TurnList:
    """List the turns of a session, oldest first."""
    views = await app.sessions.turns(session, owner)
    return TurnList(items=[TurnAnswer.of(view) for view in views])


@router.get(
    "/sessions/{session}/turns/{turn}",
    dependencies=[only_query()],
    responses=refusals(ProblemCode.NOT_FOUND),
)
async def get_turn(session: SessionPath, turn: TurnPath, app: ApplicationDep, owner: OwnerDep) -> TurnAnswer:
    """Show a turn."""
    return TurnAnswer.of(await app.sessions.turn(session, turn, owner))


@router.post(
    "/sessions/{session}/turns/{turn}/cancel",
    status_code=202,
    dependencies=[only_query()],
    responses={
        200: {"description": "The turn had ended before.", "model": TurnAnswer},
        **refusals(ProblemCode.NOT_FOUND, ProblemCode.SHUTTING_DOWN),
    },
)
async def cancel_turn(
    session: SessionPath, turn: TurnPath, app: ApplicationDep, owner: OwnerDep, response: Response
) -> TurnAnswer:
    """Cancel a turn; safe to repeat."""
    view, was_finished = await app.sessions.cancel(session, turn, owner)
    response.status_code = 200 if was_finished else 202
    return TurnAnswer.of(view)
