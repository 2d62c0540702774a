"""Sessions as resources."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from service.core.baseline import Baseline, TemplateProfile, Thinking, ToolSelection
from service.core.ids import SessionId, TurnId
from service.core.records import ParentLink
from service.core.session_status import SessionState, SessionStatus
from service.core.usage import UsageTotals
from service.core.views import ContextFill
from tests.web.fakes import NOON_TEXT, TURN, FakeSessions, a_session

pytestmark = pytest.mark.anyio

USAGE = {
    "prompt_tokens": 1,
    "cached_tokens": 2,
    "completion_tokens": 3,
    "reasoning_tokens": 4,
    "completions": 5,
    "tool_calls": 6,
}
TEMPLATE: dict[str, Any] = {
    "hash": "h",
    "tools": True,
    "parallel": False,
    "call_id": "nine",
    "system_role": True,
    "alternates": False,
    "object_arguments": True,
    "thinking_off": "tail",
    "keeps_turns": True,
    "keeps_steps": False,
}


async def test_a_created_session_is_answered_with_its_address(http: httpx.AsyncClient) -> None:
    response = await http.post("/sessions", json={"title": "Rain", "metadata": {"ticket": "7"}})

    assert response.status_code == 201
    assert response.headers["location"] == "/sessions/ses_1"
    assert response.headers["content-type"] == "application/json"
    assert (response.json()["title"], response.json()["metadata"]) == ("Rain", {"ticket": "7"})
    assert response.json()["owner"] == "local"


async def test_a_session_is_shown_with_every_field(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.session = replace(
        a_session(),
        title="Rain",
        agent="weather",
        parent=ParentLink(session=SessionId("ses_0"), turn=TurnId("trn_0"), call=3),
        baseline=Baseline(
            system="Be brief.",
            tools=ToolSelection(hash="secret detail", names=("get_weather",), tokens=90),
            sampling={"temperature": 0.5},
            thinking=Thinking.OFF,
            template=TemplateProfile(**TEMPLATE),
        ),
        status=SessionStatus(
            state=SessionState.RUNNING, running=TURN, queued=(TurnId("trn_2"),), usage=UsageTotals(**USAGE)
        ),
        context=ContextFill(used_tokens=10, size_tokens=100, fill=0.1),
    )

    assert (await http.get("/sessions/ses_1")).json() == {
        "id": "ses_1",
        "title": "Rain",
        "metadata": {},
        "owner": "local",
        "state": "running",
        "created_at": NOON_TEXT,
        "updated_at": NOON_TEXT,
        "agent": "weather",
        "parent": {"session": "ses_0", "turn": "trn_0", "call": 3},
        "fork": None,
        "baseline": {
            "system": "Be brief.",
            "tools": {"mode": "direct", "names": ["get_weather"], "count": 1, "tokens": 90},
            "model": None,
            "sampling": {"temperature": 0.5},
            "limits": {
                "tool_iterations": 8,
                "repeat_detection": True,
                "denied_repeats": 2,
                "thinking_tokens": 8192,
                "tool_result_cap": 16384,
                "turn_time_s": 0,
                "max_tokens": 4096,
            },
            "thinking": "off",
            "compaction": "on",
            "template": TEMPLATE,
        },
        "running": "trn_1",
        "queued": ["trn_2"],
        "last_seq": 1,
        "usage": USAGE,
        "context": {"used_tokens": 10, "size_tokens": 100, "fill": 0.1},
    }


async def test_a_new_session_has_its_empty_fields_as_null(http: httpx.AsyncClient) -> None:
    session = (await http.get("/sessions/ses_1")).json()

    assert {name for name, value in session.items() if value is None} == {"agent", "parent", "fork", "running"}
    assert session["context"] == {"used_tokens": 0, "size_tokens": None, "fill": None}


async def test_sessions_come_in_pages(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.next_page = SessionId("ses_0")

    first = (await http.get("/sessions")).json()
    second = (await http.get("/sessions?limit=200&after=ses_0")).json()

    assert sessions.pages == [(50, None), (200, "ses_0")]
    assert list(first) == list(second) == ["items", "next"]
    assert first["next"] == "ses_0"
    assert [session["id"] for session in first["items"]] == ["ses_1"]


@pytest.mark.parametrize(
    ("query", "search"),
    [("", ""), ("?search=", ""), ("?search=100%25_%C3%84pfel", "100%_Äpfel"), (f"?search={'x' * 200}", "x" * 200)],
)
async def test_sessions_are_searched_for_a_text(
    http: httpx.AsyncClient, sessions: FakeSessions, query: str, search: str
) -> None:
    response = await http.get(f"/sessions{query}")

    assert response.status_code == 200
    assert sessions.searches == [search]


@pytest.mark.rules("H2")
@pytest.mark.parametrize("search", ["x" * 201, "a%00b"])
async def test_a_text_that_no_store_can_look_for_is_refused(
    http: httpx.AsyncClient, sessions: FakeSessions, search: str
) -> None:
    response = await http.get(f"/sessions?search={search}")

    assert (response.status_code, response.json()["code"]) == (422, "validation")
    assert response.json()["errors"][0]["field"] == "search"
    assert sessions.searches == []


async def test_the_last_page_has_no_next(http: httpx.AsyncClient) -> None:
    assert (await http.get("/sessions?limit=1")).json()["next"] is None


@pytest.mark.parametrize(
    ("change", "title", "metadata"),
    [
        ({"title": "New"}, "New", {"a": "1"}),
        ({"title": ""}, "", {"a": "1"}),
        ({"metadata": {}}, "Old", {}),
        ({"metadata": {"b": "2"}, "title": None}, "Old", {"b": "2"}),
        ({}, "Old", {"a": "1"}),
    ],
)
async def test_what_is_left_out_of_a_change_stays(
    http: httpx.AsyncClient,
    sessions: FakeSessions,
    change: dict[str, object],
    title: str,
    metadata: dict[str, str],
) -> None:
    sessions.session = replace(a_session(), title="Old", metadata={"a": "1"})

    changed = await http.patch("/sessions/ses_1", json=change)

    assert changed.status_code == 200
    assert (changed.json()["title"], changed.json()["metadata"]) == (title, metadata)


@pytest.mark.rules("H2")
@pytest.mark.parametrize("change", [{"title": "x" * 201}, {"agent": "a"}, {"metadata": {"a": 1}}])
async def test_nothing_else_of_a_session_can_be_changed(http: httpx.AsyncClient, change: dict[str, object]) -> None:
    assert (await http.patch("/sessions/ses_1", json=change)).status_code == 422


async def test_the_prompt_is_shown(http: httpx.AsyncClient) -> None:
    assert (await http.get("/sessions/ses_1/messages")).json() == {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [],
    }
