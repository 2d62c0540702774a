"""What waits for people, as a list, and the forms in which a decision is answered (A2, A6, H1, H2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from service.core.decisions import DecisionAsked
from service.core.errors import ProblemCode, RequestRefused
from service.core.records import DecisionSignature
from service.core.views import TurnState
from service.turns.pauses import Decided
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port
from tests.web.approvals import PENDING, SHOWN
from tests.web.fakes import SESSION, TURN, FakeSessions, Followed, a_turn
from tests.web.serving import Frame, Served
from tests.web.test_whole_way import new_session, served_house, stream

pytestmark = pytest.mark.anyio

DECISIONS = "/sessions/ses_1/turns/trn_1/decisions"
YES = {"call": 2, "approved": True, "digest": "sha256:ab"}


@pytest.mark.rules("A6")
async def test_what_waits_is_listed_with_its_count(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    empty = await http.get("/approvals")
    sessions.waiting_calls = [PENDING]
    one = await http.get("/approvals")

    assert empty.json() == {"items": [], "count": 0}
    assert one.json() == {"items": [SHOWN], "count": 1}


@pytest.mark.rules("A1", "A6")
async def test_a_turn_shows_what_it_waits_for(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.turn_shown = replace(a_turn(TurnState.AWAITING_APPROVAL), pending=(PENDING,))

    shown = (await http.get("/sessions/ses_1/turns/trn_1")).json()

    assert (shown["state"], shown["pending"]) == ("awaiting_approval", [SHOWN])
    assert "child" not in shown


@pytest.mark.rules("A2", "H1")
async def test_the_last_decision_is_answered_with_what_the_turn_does_from_there_on(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    response = await http.post(DECISIONS, json={"decisions": [YES]})

    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == "text/event-stream"
    assert response.headers["content-location"] == "/sessions/ses_1/turns/trn_1"
    assert sessions.followed == [Followed(SESSION, TURN, after_pos=40, until_pause=True)]
    assert sessions.decisions == [((DecisionAsked(call=2, approved=True, digest="sha256:ab"),), "local")]


@pytest.mark.rules("A2", "H1")
async def test_the_last_decision_can_be_waited_with_or_left_alone(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    sessions.turn_ended.set()

    waited = await http.post(DECISIONS, json={"decisions": [YES]}, headers={"Accept": "application/json"})
    left = await http.post(DECISIONS, json={"decisions": [YES]}, headers={"Prefer": "respond-async"})

    assert (waited.status_code, waited.json()["outcome"]) == (200, "answered")
    assert (left.status_code, left.headers["location"]) == (202, "/sessions/ses_1/turns/trn_1")
    assert left.headers["preference-applied"] == "respond-async"


@pytest.mark.rules("A2")
@pytest.mark.parametrize("headers", [{}, {"Accept": "application/json"}, {"Prefer": "respond-async"}])
async def test_while_other_calls_wait_the_answer_is_the_turn(
    http: httpx.AsyncClient, sessions: FakeSessions, headers: dict[str, str]
) -> None:
    sessions.decided = Decided(goes_on=False, after_pos=40)

    response = await http.post(DECISIONS, json={"decisions": [YES]}, headers=headers)

    assert (response.status_code, response.json()["id"]) == (200, TURN)
    assert sessions.followed == []


@pytest.mark.rules("A2", "A5", "H3")
async def test_all_that_belongs_to_a_decision_reaches_the_sessions(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    decision = {**YES, "arguments": '{"to": "Bob"}', "reason": "ok", "signature": {"key": "ann", "value": "c2ln"}}

    await http.post(DECISIONS, json={"decisions": [decision]}, headers={"Idempotency-Key": "k1"})

    ((asked, _),) = sessions.decisions
    assert asked == (
        DecisionAsked(
            call=2,
            approved=True,
            digest="sha256:ab",
            arguments='{"to": "Bob"}',
            reason="ok",
            signature=DecisionSignature(key="ann", value="c2ln"),
        ),
    )
    assert [key.key for key in sessions.keys if key is not None] == ["k1"]


@pytest.mark.rules("H2")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decisions": []},
        {"decisions": [{**YES, "approved": "yes"}]},
        {"decisions": [{**YES, "call": "2"}]},
        {"decisions": [{**YES, "call": 0}]},
        {"decisions": [{**YES, "arguments": {"to": "Bob"}}]},
        {"decisions": [{**YES, "signature": "x"}]},
        {"decisions": [{"call": 2, "approved": True}]},
        {"decisions": [YES], "more": 1},
    ],
)
async def test_decisions_of_another_shape_are_refused(
    http: httpx.AsyncClient, sessions: FakeSessions, body: dict[str, Any]
) -> None:
    response = await http.post(DECISIONS, json=body)

    assert (response.status_code, response.json()["code"]) == (422, "validation")
    assert sessions.decisions == []


@pytest.mark.rules("H2", "A2")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ProblemCode.NOT_PENDING, 409),
        (ProblemCode.DIGEST_MISMATCH, 409),
        (ProblemCode.NOT_FOUND, 404),
        (ProblemCode.FORBIDDEN, 403),
    ],
)
async def test_a_refused_decision_says_why_as_a_problem(
    http: httpx.AsyncClient, sessions: FakeSessions, code: ProblemCode, status: int
) -> None:
    sessions.refusal = RequestRefused(code, "No.")

    response = await http.post(DECISIONS, json={"decisions": [YES]})

    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"


def paying_house() -> House:
    return House(ScriptedLlama(ask_for(call("pay", '{"city": "Rome"}')), say("Paid.")), asking_port())


def types_of(frames: list[Frame]) -> list[str]:
    kinds = [frame.field("event") for frame in frames]
    return [kind for kind in kinds if kind is not None and kind not in ("content", "progress", "queued")]


async def paused(service: Served) -> tuple[str, dict[str, Any]]:
    """Run a turn to its pause; give its address and what it waits for."""
    session = await new_session(service)
    frames = await stream(service, "POST", f"{session}/turns", json={"content": "Pay"})
    asked = frames[-1].data
    assert asked["type"] == "approval_requested"
    return f"{session}/turns/{asked['turn']}", asked["calls"][0]


@pytest.mark.rules("H1", "A1", "A2")
async def test_over_http_a_stream_ends_at_the_pause_and_the_decisions_stream_begins_there() -> None:
    async with served_house(paying_house()) as service:
        turn, pending = await paused(service)
        listed = (await service.http.get("/approvals")).json()
        body = {"decisions": [{"call": pending["call"], "approved": True, "digest": pending["digest"]}]}

        went_on = await stream(service, "POST", f"{turn}/decisions", json=body)
        again = await stream(service, "POST", f"{turn}/decisions", json=body)
        all_of_it = await stream(service, "GET", f"{turn}/events")

    assert listed == {"items": [pending], "count": 1}
    rest = ["approval_decided", "tool_call_started", "tool_result", "assistant", "usage", "turn_finished"]
    assert types_of(went_on) == rest
    assert types_of(again) == rest
    assert types_of(all_of_it) == ["user", "assistant", "usage", "approval_requested", *rest]


@pytest.mark.rules("A2", "H1")
async def test_over_http_json_is_answered_at_the_pause_and_again_at_the_end() -> None:
    as_json = {"Accept": "application/json"}
    async with served_house(paying_house()) as service:
        session = await new_session(service)
        waits = (await service.http.post(f"{session}/turns", json={"content": "Pay"}, headers=as_json)).json()
        (pending,) = waits["pending"]
        shown = (await service.http.get(session)).json()
        body = {"decisions": [{"call": pending["call"], "approved": False, "digest": pending["digest"]}]}
        done = await service.http.post(f"{session}/turns/{waits['id']}/decisions", json=body, headers=as_json)

    assert (waits["state"], shown["state"]) == ("awaiting_approval", "awaiting_approval")
    assert (done.status_code, done.json()["outcome"], done.json()["pending"]) == (200, "answered", [])
