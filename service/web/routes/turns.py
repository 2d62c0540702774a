"""Turns: start, show, cancel. The first station on the way of a turn."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Query, Request, Response

from service.core.errors import ProblemCode
from service.core.ids import SessionId, TurnId
from service.web.contract import refusals
from service.web.deps import (
    ApplicationDep,
    OwnerDep,
    RequestKeyDep,
    SessionPath,
    SettingsDep,
    TurnPath,
    WantedForm,
    only_query,
)
from service.web.negotiation import EVENT_STREAM, AnswerForm
from service.web.routes.streaming import EVENT_STREAM_CONTENT, stream_of
from service.web.schemas.answers import TurnAnswer, TurnList
from service.web.schemas.requests import TurnRequest
from service.web.strict_json import StrictJsonRoute
from service.web.waiting import unless_gone

router = APIRouter(tags=["turns"], route_class=StrictJsonRoute)

_STARTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The turn's events until it ends or waits for a decision; or, as JSON, the turn then.",
        "content": {EVENT_STREAM: EVENT_STREAM_CONTENT},
    },
    202: {"description": "The turn runs (`Prefer: respond-async`).", "model": TurnAnswer},
}
_START_REFUSALS = refusals(
    ProblemCode.NOT_FOUND,
    ProblemCode.NOT_ACCEPTABLE,
    ProblemCode.TURN_IN_PROGRESS,
    ProblemCode.QUEUE_FULL,
    ProblemCode.IDEMPOTENCY_MISMATCH,
    ProblemCode.SESSION_FULL,
    ProblemCode.SHUTTING_DOWN,
)


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
    request: Request,
    on_disconnect: Annotated[
        Literal["cancel"] | None, Query(description="Cancel the turn when the client leaves before its answer.")
    ] = None,
) -> Response:
    """Run a turn: by default its events are streamed. A client that leaves does not end the turn."""
    turn = await app.sessions.start_turn(session, owner, asked.to_asked(), key)
    headers = {"Content-Location": _path(session, turn)}
    if form is AnswerForm.ASYNC:
        headers |= {"Location": _path(session, turn), "Preference-Applied": "respond-async"}
        return _shown(TurnAnswer.of(await app.sessions.turn(session, turn, owner)), 202, headers)
    if form is AnswerForm.JSON:
        view = await unless_gone(request.receive, app.sessions.wait(session, turn, owner))
        if view is None and on_disconnect is not None:
            app.sessions.left(session, turn, owner)
        # Whoever has left gets nothing, whatever this says.
        return Response(status_code=202) if view is None else _shown(TurnAnswer.of(view), 200, headers)
    # From the turn's first record on: what happened since it was accepted is in the log, so there is no gap.
    follower = await app.sessions.follow(session, owner, turn=turn, after_pos=None, until_pause=True)
    when_left = partial(app.sessions.left, session, turn, owner) if on_disconnect is not None else None
    return stream_of(follower, session, turn, settings, headers, when_left)


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


def _path(session: SessionId, turn: TurnId) -> str:
    return quote(f"/sessions/{session}/turns/{turn}")


def _shown(answer: TurnAnswer, status: int, headers: dict[str, str]) -> Response:
    return Response(answer.model_dump_json(), status, headers, media_type="application/json")
