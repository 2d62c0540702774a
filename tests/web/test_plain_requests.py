"""The short way of plain requests: which ones take it, and that they get what the ordinary way gives (H1, H2)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request, Response

from service.web.plain_requests import ShortWay, ShortWays
from service.web.routes import SHORT_WAYS
from service.web.strict_json import StrictJsonRoute
from tests.web.fakes import SESSION, FakeApplication
from tests.web.serving import called

pytestmark = pytest.mark.anyio

# Means nothing to us, but keeps a request from the short way.
ORDINARY = {"Prefer": "handling=lenient"}
TURNS = f"/sessions/{SESSION}/turns"
JSON_ANSWER = {"Accept": "application/json"}


async def _short(request: Request) -> Response | None:
    asked = await request.json()
    if asked == "broken":
        raise ValueError("a mistake of ours")
    return None if asked == "not this" else Response(f"short {request.path_params['place']}")


router = APIRouter(route_class=StrictJsonRoute)


@router.post("/way/{place}")
async def way(request: Request) -> Response:
    """Tell what came the ordinary way."""
    return Response(b"ordinary " + await request.body())


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    app = FastAPI()
    app.include_router(router)
    app.add_middleware(ShortWays, ways=(ShortWay(re.compile("/way/(?P<place>[^/]+)"), _short),))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ({"json": 1}, "short here"),
        ({"json": 1, "headers": {"Accept": "text/html"}}, "short here"),
        ({"json": 1, "params": {"on_disconnect": "cancel"}}, "ordinary 1"),
        ({"json": 1, "headers": {"Prefer": "respond-async"}}, "ordinary 1"),
        ({"json": 1, "headers": {"Idempotency-Key": "k"}}, "ordinary 1"),
        ({"json": "not this"}, 'ordinary "not this"'),
    ],
    ids=["plain", "accept", "query", "preference", "key", "declined"],
)
async def test_what_is_unusual_takes_the_ordinary_way(http: httpx.AsyncClient, asked: dict[str, Any], way: str) -> None:
    assert (await http.post("/way/here", **asked)).text == way


async def test_what_has_no_answer_is_a_mistake_of_ours_and_raised(http: httpx.AsyncClient) -> None:
    with pytest.raises(ValueError, match="a mistake of ours"):
        await http.post("/way/here", json="broken")


@pytest.mark.parametrize("path", ["/sessions", TURNS])
def test_sessions_and_turns_have_a_short_way(path: str) -> None:
    assert [way for way in SHORT_WAYS if way.path.fullmatch(path)]


@pytest.mark.rules("H1", "H2")
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/sessions", {}),
        ("/sessions", {"json": {"title": "A title", "sampling": {"seed": 1}}}),
        ("/sessions", {"json": None}),
        ("/sessions", {"json": {"colour": "red"}}),
        ("/sessions", {"content": b"{", "headers": {"Content-Type": "application/json"}}),
        (TURNS, {"json": {"content": "Hi"}, "headers": JSON_ANSWER}),
        (TURNS, {"json": {"content": "Hi"}}),
        (TURNS, {"json": {"content": ""}}),
        (TURNS, {"json": {"content": "Hi", "limits": {"max_tokens": 0}}}),
        (TURNS, {"json": {"content": "Hi"}, "headers": {"Accept": "image/png"}}),
        (TURNS, {"content": b'{"content": NaN}', "headers": {"Content-Type": "application/json"}}),
        (TURNS, {}),
    ],
)
async def test_both_ways_give_the_same_answer(path: str, asked: dict[str, Any]) -> None:
    answers: list[tuple[int, dict[str, str], bytes]] = []
    for more in ({}, ORDINARY):
        application = FakeApplication()
        application.sessions.turn_ended.set()
        async with called(application) as client:
            whole: dict[str, Any] = {**asked, "headers": {**asked.get("headers", {}), **more}}
            answer = await client.post(path, **whole)
        answers.append((answer.status_code, dict(answer.headers), answer.content))

    assert answers[0] == answers[1]
