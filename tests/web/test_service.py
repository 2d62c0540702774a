"""Health, registry, the front door, and HEAD."""

import inspect
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from service import __version__
from service.access.gate import Holder
from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import TemplateProfile
from service.core.labels import DataClass
from service.core.slot_state import SlotState
from service.core.tool_port import LeftOutTool, ToolSpec
from service.turns.readiness import Check
from service.turns.server_view import ServerNow
from service.web.routes import ROUTERS
from tests.web.fakes import SESSION, TURN, FakeApplication, FakeFollower, FakeSessions, stored
from tests.web.serving import Served

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
async def test_the_process_says_that_it_lives_and_its_version(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).json() == {"status": "ok", "version": __version__}


async def test_a_service_is_ready_when_all_that_it_needs_answers(
    http: httpx.AsyncClient, application: FakeApplication
) -> None:
    application.readiness.checks = [Check(name="store", ok=True, message="ok")]

    response = await http.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"ready": True, "checks": [{"name": "store", "ok": True, "message": "ok"}]}


async def test_a_service_that_lacks_something_says_what(http: httpx.AsyncClient, application: FakeApplication) -> None:
    application.readiness.checks = [
        Check(name="store", ok=True, message="ok"),
        Check(name="llama_server", ok=False, message="loading the model"),
    ]

    response = await http.get("/readyz")

    assert response.status_code == 503
    assert response.json()["ready"] is False
    assert response.json()["checks"][1] == {
        "name": "llama_server",
        "ok": False,
        "message": "loading the model",
    }


async def test_tools_are_listed_with_those_left_out(http: httpx.AsyncClient, application: FakeApplication) -> None:
    schema: dict[str, Any] = {"type": "object"}
    application.tools.specs = (
        ToolSpec(name="get_weather", description="Tell it.", parameters=schema, data_class=DataClass.SECRET),
    )
    application.tools.left_out = (LeftOutTool(name="find_tool", reason="the name is taken"),)

    assert (await http.get("/tools")).json() == {
        "items": [
            {
                "name": "get_weather",
                "title": None,
                "description": "Tell it.",
                "parameters": schema,
                "needs_approval": False,
                "acts_outside": False,
                "repeatable": False,
                "idempotent": False,
                "timeout_ms": 120000,
                "class": "secret",
                "untrusted": False,
            }
        ],
        "left_out": [{"name": "find_tool", "reason": "the name is taken"}],
    }


@pytest.mark.rules("G1")
async def test_agents_are_listed_with_the_default_one(http: httpx.AsyncClient, application: FakeApplication) -> None:
    profiles = [AgentProfile(name="chat", tool_names=()), AgentProfile(name="weather", description="Tells it.")]
    application.agents = AgentProfiles(profiles={profile.name: profile for profile in profiles}, default="chat")

    items = (await http.get("/agents")).json()["items"]

    assert [(item["name"], item["default"], item["tools"]["names"]) for item in items] == [
        ("chat", True, []),
        ("weather", False, None),
    ]
    assert set(items[1]) == {
        "name",
        "description",
        "default",
        "system",
        "tools",
        "model",
        "sampling",
        "limits",
        "thinking",
    }


async def test_the_front_door_names_every_address(http: httpx.AsyncClient) -> None:
    index = (await http.get("/")).json()
    document = (await http.get("/openapi.json")).json()

    assert (index["name"], index["version"]) == ("turnkeeper", __version__)
    assert set(index["addresses"]) == {
        f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods
    }
    assert all(index["addresses"].values())


READS = [
    "/",
    "/sessions",
    "/sessions/ses_1",
    "/sessions/ses_1/messages",
    "/sessions/ses_1/records",
    "/sessions/ses_1/turns",
    "/sessions/ses_1/turns/trn_1",
    "/sessions/ses_1/turns/trn_1/events",
    "/sessions/ses_1/events",
    "/tools",
    "/agents",
    "/slots",
    "/livez",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/sessions/ses_2",
    "/sessions?limit=0",
]


@pytest.mark.rules("H1")
@pytest.mark.parametrize("path", READS)
async def test_head_is_get_without_a_body(service: Served, path: str) -> None:
    head = await service.http.head(path)
    got = await service.http.get(path)

    assert head.content == b""
    assert head.status_code == got.status_code
    assert _told(head) == _told(got)


def _told(response: httpx.Response) -> dict[str, str]:
    # How a body is framed differs where there is none; and the numbers of a scrape have as many digits as they have.
    unlike = ("date", "transfer-encoding", *(["content-length"] if response.url.path == "/metrics" else []))
    return {name: value for name, value in response.headers.items() if name not in unlike}


@pytest.mark.rules("H1")
@pytest.mark.parametrize("path", ["/sessions/ses_1/events", "/sessions/ses_1/turns/trn_1/events", "/events"])
async def test_head_of_a_stream_ends_at_once(service: Served, sessions: FakeSessions, path: str) -> None:
    sessions.follower = FakeFollower(ends=False)

    assert (await service.http.head(path)).status_code == 200


@pytest.mark.rules("H1")
async def test_head_of_an_export_reads_one_page(service: Served, sessions: FakeSessions) -> None:
    sessions.log = [stored(seq) for seq in range(1, 451)]

    response = await service.http.head("/sessions/ses_1/records", headers={"Accept": "application/x-ndjson"})

    assert response.status_code == 200
    assert len(sessions.reads) == 1


@pytest.mark.rules("L10", "L9")
async def test_slots_are_listed_with_those_who_run_and_wait_and_the_template_in_words(
    http: httpx.AsyncClient, application: FakeApplication
) -> None:
    holder = Holder(session=SESSION, turn=TURN, step=2)
    application.server.shown = ServerNow(
        slots=(SlotState(id=0, processing=True, context_tokens=2048, decoded=7),),
        message=None,
        permits=2,
        running=(holder,),
        queued=(holder,),
        template=TemplateProfile(hash="h", tools=True, parallel=False),
        words=("One call at a time.",),
    )

    shown = (await http.get("/slots")).json()

    told = {"session": SESSION, "turn": TURN, "step": 2, "reading": None, "chunk": None}
    assert shown["items"] == [
        {
            "id": 0,
            "processing": True,
            "context_tokens": 2048,
            "prompt_tokens": None,
            "prompt_processed": None,
            "prompt_cached": None,
            "decoded": 7,
        }
    ]
    assert (shown["running"], shown["queued"], shown["permits"]) == ([told], [told], 2)
    assert (shown["words"], shown["template"]["parallel"], shown["message"]) == (["One call at a time."], False, None)


@pytest.mark.rules("L10")
async def test_a_server_that_is_away_is_shown_with_the_reason(http: httpx.AsyncClient) -> None:
    answer = await http.get("/slots")
    assert (answer.status_code, answer.json()["items"], answer.json()["message"]) == (200, [], "away")


def test_no_dependency_of_a_route_is_run_in_a_thread() -> None:
    slow = [
        f"{route.path}: {dependant.call}"
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for dependant in every_dependant(route.dependant)
        if dependant.call is not None and not inspect.iscoroutinefunction(dependant.call)
    ]
    assert slow == []


def every_dependant(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for inner in dependant.dependencies:
        yield from every_dependant(inner)
