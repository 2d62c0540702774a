"""The forms in which a turn that goes on is answered: its stream, its resource at the end, or its address (H1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response

from service.bootstrap import Application
from service.config import Settings
from service.core.ids import OwnerId, SessionId, TurnId
from service.web.negotiation import EVENT_STREAM, AnswerForm
from service.web.routes.streaming import TURN_STREAM, stream_of
from service.web.schemas.answers import TurnAnswer
from service.web.waiting import unless_gone

_PLAIN_PATH = re.compile(r"[/0-9A-Z_a-z]*")


def going_answers(now: str, later: str) -> dict[int | str, dict[str, Any]]:
    """Describe the forms for the OpenAPI document: what is answered `now`, and what with `respond-async`."""
    return {
        200: {"description": now, "content": {EVENT_STREAM: TURN_STREAM}},
        202: {"description": f"{later} (`Prefer: respond-async`).", "model": TurnAnswer},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingTurn:
    """A turn that goes on because of this request; its stream begins behind `after_pos`, or with its first record."""

    session: SessionId
    turn: TurnId
    owner: OwnerId
    after_pos: int | None = None
    cancel_when_left: bool = False

    @property
    def path(self) -> str:
        """Its address."""
        path = f"/sessions/{self.session}/turns/{self.turn}"
        # Ids of ours are plain, and the quoting costs more than all the rest of the head.
        return path if _PLAIN_PATH.fullmatch(path) else quote(path)


async def answer_turn(
    app: Application, going: GoingTurn, form: AnswerForm, request: Request, settings: Settings
) -> Response:
    """Answer with the turn in the form that was asked for."""
    session, turn, owner = going.session, going.turn, going.owner
    headers = {"Content-Location": going.path}
    if form is AnswerForm.ASYNC:
        headers |= {"Location": going.path, "Preference-Applied": "respond-async"}
        return shown(TurnAnswer.of(await app.sessions.turn(session, turn, owner)), 202, headers)
    if form is AnswerForm.JSON:
        view = await unless_gone(request.receive, app.sessions.wait(session, turn, owner))
        if view is None and going.cancel_when_left:
            app.sessions.left(session, turn, owner)
        # Whoever has left gets nothing, whatever this says.
        return Response(status_code=202) if view is None else shown(TurnAnswer.of(view), 200, headers)
    # From the turn's first record on, or from the decision's: what happened since is in the log, so there is no gap.
    follower = await app.sessions.follow(session, owner, turn=turn, after_pos=going.after_pos, until_pause=True)
    when_left = partial(app.sessions.left, session, turn, owner) if going.cancel_when_left else None
    return stream_of(follower, session, turn, settings, headers, when_left)


def shown(answer: TurnAnswer, status: int, headers: dict[str, str]) -> Response:
    """Write a turn resource."""
    return Response(answer.model_dump_json(), status, headers, media_type="application/json")
