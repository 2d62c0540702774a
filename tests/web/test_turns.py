"""The three forms of a turn's answer, and turns as resources."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from service.core.errors import ErrorKind, ProblemCode, RequestRefused
from service.core.records import Limit, Outcome, TurnError
from service.core.views import TurnState
from tests.web.approvals import PENDING, SHOWN
from tests.web.fakes import (
    NOON_TEXT,
    SESSION,
    TURN,
    FakeFollower,
    FakeSessions,
    Followed,
    a_turn,
    stored,
)
from tests.web.serving import Served, frames_of, within_bound

pytestmark = pytest.mark.anyio

TURNS = "/sessions/ses_1/turns"
ADDRESS = "/sessions/ses_1/turns/trn_1"
HI = {"content": "Hi"}
ANY, EVENTS, JSON = "*/*", "text/event-stream", "application/json"


@pytest.mark.rules("H1")
@pytest.mark.parametrize("prefer", [None, "wait=5"])
@pytest.mark.parametrize("accept", [None, ANY, EVENTS, "text/*", "text/html, */*;q=0.1", f"{EVENTS}, {JSON}"])
async def test_a_turn_is_answered_as_events_by_default(
    http: httpx.AsyncClient, sessions: FakeSessions, accept: str | None, prefer: str | None
) -> None:
    response = await _post(http, accept, prefer)

    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == EVENTS
    assert response.headers["content-location"] == ADDRESS
    assert sessions.followed == [Followed(SESSION, TURN, after_pos=None, until_pause=True)]


@pytest.mark.rules("H1")
@pytest.mark.parametrize("accept", [JSON, "application/*", f"{JSON}, */*", f"{EVENTS};q=0.5, {JSON}"])
async def test_a_turn_is_waited_for_where_json_is_wanted(
    http: httpx.AsyncClient, sessions: FakeSessions, accept: str
) -> None:
    sessions.turn_ended.set()

    response = await _post(http, accept, None)

    assert response.status_code == 200
    assert response.headers["content-type"] == JSON
    assert response.headers["content-location"] == ADDRESS
    assert (response.json()["state"], response.json()["content"]) == ("finished", "Hello.")


@pytest.mark.rules("H1")
@pytest.mark.parametrize("accept", [None, ANY, EVENTS, JSON, f"{JSON};q=0.1"])
@pytest.mark.parametrize("prefer", ["respond-async", "wait=100, Respond-Async"])
async def test_a_turn_is_answered_at_once_where_that_is_preferred(
    http: httpx.AsyncClient, sessions: FakeSessions, accept: str | None, prefer: str
) -> None:
    response = await _post(http, accept, prefer)

    assert response.status_code == 202
    assert response.headers["location"] == ADDRESS
    assert response.headers["content-location"] == ADDRESS
    assert response.headers["preference-applied"] == "respond-async"
    assert response.headers["content-type"] == JSON
    assert response.json()["state"] == "running"


@pytest.mark.rules("H1")
@pytest.mark.parametrize("prefer", [None, "respond-async"])
@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", f"{EVENTS};q=0, {JSON};q=0", "x"])
async def test_a_turn_that_can_be_answered_in_no_wanted_form_is_not_started(
    http: httpx.AsyncClient, sessions: FakeSessions, accept: str, prefer: str | None
) -> None:
    response = await _post(http, accept, prefer)

    assert (response.status_code, response.json()["code"]) == (406, "not_acceptable")
    assert sessions.started == []


async def _post(http: httpx.AsyncClient, accept: str | None, prefer: str | None) -> httpx.Response:
    headers = {} if prefer is None else {"Prefer": prefer}
    request = http.build_request("POST", TURNS, json=HI, headers=headers)
    del request.headers["accept"]
    if accept is not None:
        request.headers["accept"] = accept
    return await http.send(request)


@pytest.mark.rules("H1", "H6")
async def test_a_turn_s_stream_shows_it_from_its_first_record_to_its_end(
    service: Served, sessions: FakeSessions
) -> None:
    sessions.follower = FakeFollower([stored(2)], [stored(3, "assistant"), stored(4, "turn_finished")])

    async with service.http.stream("POST", TURNS, json=HI) as response:
        frames = [frame async for frame in frames_of(response)]

    assert [frame.field("event") for frame in frames] == [None, "user", "assistant", "turn_finished"]
    assert [frame.field("id") for frame in frames] == [None, "20", "30", "40"]


@pytest.mark.rules("H6")
@pytest.mark.parametrize("headers", [{"Last-Event-ID": "7"}, {"Last-Event-ID": "nonsense"}])
async def test_a_cursor_means_nothing_where_a_turn_is_started(
    http: httpx.AsyncClient, sessions: FakeSessions, headers: dict[str, str]
) -> None:
    response = await http.post(f"{TURNS}?after=x", json=HI, headers=headers)

    assert response.status_code == 200
    assert sessions.followed[0].after_pos is None


@pytest.mark.rules("H5")
async def test_a_caller_who_waits_for_json_and_leaves_is_no_longer_waited_for(
    service: Served, sessions: FakeSessions
) -> None:
    asking = asyncio.create_task(service.http.post(TURNS, json=HI, headers={"Accept": JSON}))
    await within_bound(sessions.waiting)

    asking.cancel()

    await within_bound(sessions.wait_cancelled)
    assert sessions.started


@pytest.mark.rules("H5")
async def test_a_caller_whose_turn_goes_with_him_is_told_on_when_he_leaves_a_wait(
    service: Served, sessions: FakeSessions
) -> None:
    path = f"{TURNS}?on_disconnect=cancel"
    asking = asyncio.create_task(service.http.post(path, json=HI, headers={"Accept": JSON}))
    await within_bound(sessions.waiting)

    asking.cancel()

    await within_bound(sessions.someone_left)
    assert len(sessions.left_turns) == 1


@pytest.mark.rules("H5")
@pytest.mark.parametrize(("query", "left"), [("?on_disconnect=cancel", 1), ("", 0)])
async def test_a_caller_who_leaves_a_stream_takes_his_turn_with_him_only_if_he_said_so(
    service: Served, sessions: FakeSessions, query: str, left: int
) -> None:
    follower = sessions.follower = FakeFollower(ends=False)
    async with (
        httpx.AsyncClient(base_url=service.http.base_url, trust_env=False) as reader,
        reader.stream("POST", f"{TURNS}{query}", json=HI) as response,
    ):
        await anext(frames_of(response))
        await within_bound(follower.entered)
    await within_bound(follower.left)
    if left:
        await within_bound(sessions.someone_left)
    assert len(sessions.left_turns) == left


@pytest.mark.rules("H5")
async def test_a_caller_who_stays_to_the_end_cancels_nothing(service: Served, sessions: FakeSessions) -> None:
    sessions.follower = FakeFollower([stored(2)], [stored(3, "turn_finished")])
    async with service.http.stream("POST", f"{TURNS}?on_disconnect=cancel", json=HI) as response:
        frames = [frame async for frame in frames_of(response)]
    sessions.turn_ended.set()
    await service.http.post(f"{TURNS}?on_disconnect=cancel", json=HI, headers={"Accept": JSON})

    assert frames[-1].field("event") == "turn_finished"
    assert sessions.left_turns == []


@pytest.mark.rules("H1")
async def test_a_session_that_is_deleted_while_a_caller_waits_is_not_found(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    sessions.turn_ended.set()
    sessions.wait_refusal = RequestRefused(ProblemCode.NOT_FOUND, "it was deleted")

    response = await http.post(TURNS, json=HI, headers={"Accept": JSON})

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


async def test_a_turn_is_shown_with_every_field(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.turn_shown = replace(
        a_turn(TurnState.FINISHED),
        outcome=Outcome.FAILED,
        limit=Limit.MAX_TOKENS,
        error=TurnError(kind=ErrorKind.UPSTREAM_HTTP, message="no", status=500),
        pending=(PENDING,),
    )

    assert (await http.get(ADDRESS)).json() == {
        "id": "trn_1",
        "session": "ses_1",
        "state": "finished",
        "created_at": NOON_TEXT,
        "finished_at": NOON_TEXT,
        "outcome": "failed",
        "limit": "max_tokens",
        "truncated": False,
        "error": {"kind": "upstream_http", "message": "no", "status": 500},
        "content": "Hello.",
        "steps": 1,
        "usage": {
            "prompt_tokens": 0,
            "cached_tokens": 0,
            "completion_tokens": 0,
            "reasoning_tokens": 0,
            "completions": 0,
            "tool_calls": 0,
        },
        "pending": [SHOWN],
        "first_seq": 2,
        "last_seq": 5,
    }


async def test_a_running_turn_has_its_empty_fields_as_null(http: httpx.AsyncClient) -> None:
    turn = (await http.get(ADDRESS)).json()

    assert {name for name, value in turn.items() if value is None} == {
        "finished_at",
        "outcome",
        "limit",
        "error",
        "content",
    }


async def test_an_error_without_a_status_has_none(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    error = TurnError(kind=ErrorKind.CONNECT, message="refused")
    sessions.turn_shown = replace(a_turn(TurnState.FINISHED), error=error)

    assert (await http.get(ADDRESS)).json()["error"] == {"kind": "connect", "message": "refused"}


async def test_the_turns_of_a_session_are_listed(http: httpx.AsyncClient) -> None:
    listing = (await http.get(TURNS)).json()

    assert list(listing) == ["items"]
    assert [turn["id"] for turn in listing["items"]] == ["trn_1"]


@pytest.mark.rules("T13")
@pytest.mark.parametrize(("state", "status"), [(TurnState.RUNNING, 202), (TurnState.FINISHED, 200)])
async def test_cancelling_tells_whether_the_turn_had_ended_before(
    http: httpx.AsyncClient, sessions: FakeSessions, state: TurnState, status: int
) -> None:
    sessions.turn_shown = a_turn(state)

    response = await http.post(f"{ADDRESS}/cancel")

    assert (response.status_code, response.json()["id"]) == (status, "trn_1")


@pytest.mark.parametrize("path", [f"{TURNS}/trn_2", f"{TURNS}/trn_2/events", "/sessions/ses_2/turns"])
async def test_a_turn_that_is_not_there_is_not_found(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


async def test_a_turn_that_is_not_there_is_not_cancelled(http: httpx.AsyncClient) -> None:
    assert (await http.post(f"{TURNS}/trn_2/cancel")).status_code == 404
