"""Requests are strict: what is not understood is refused, with the field that is wrong."""

import json
from typing import Any

import httpx
import pytest

from service.core.baseline import Compaction, Thinking, ToolMode
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import OnToolLimit, ToolChoice
from service.turns.requests import ForkAsked, OnBusy, SessionAsked, ToolsAsked, TurnAsked
from tests.web.fakes import FakeSessions

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H2")]

TURNS = "/sessions/ses_1/turns"
AT_ONCE = {"Prefer": "respond-async"}
MIB = 1024 * 1024


def faults(response: httpx.Response) -> dict[str, str]:
    assert response.status_code == 422
    document = response.json()
    assert document["code"] == "validation"
    told = {fault["field"]: fault["detail"] for fault in document["errors"]}
    assert all(field in document["detail"] for field in list(told)[:3])
    return told


@pytest.mark.parametrize("content", [None, b"{}"])
async def test_a_session_needs_no_body(http: httpx.AsyncClient, sessions: FakeSessions, content: bytes | None) -> None:
    headers = {} if content is None else {"Content-Type": "application/json"}

    response = await http.post("/sessions", content=content, headers=headers)

    assert response.status_code == 201
    assert sessions.created == [SessionAsked()]


async def test_a_session_is_asked_for_in_full(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    body = {
        "agent": "weather",
        "system": "Be brief.",
        "tools": {"mode": "direct", "names": ["get_weather"]},
        "model": "small",
        "title": "Rain",
        "metadata": {"ticket": "7"},
        "sampling": {"temperature": 0, "top_k": 1, "stop": ["a", "b"], "seed": 7},
        "limits": {"tool_iterations": 1, "max_tokens": 5},
        "thinking": "off",
        "compaction": "off",
    }

    assert (await http.post("/sessions", json=body)).status_code == 201

    assert sessions.created == [
        SessionAsked(
            agent="weather",
            system="Be brief.",
            tools=ToolsAsked(names=("get_weather",), mode=ToolMode.DIRECT),
            model="small",
            title="Rain",
            metadata={"ticket": "7"},
            sampling={"temperature": 0.0, "top_k": 1, "stop": ["a", "b"], "seed": 7},
            limits={"tool_iterations": 1, "max_tokens": 5},
            thinking=Thinking.OFF,
            compaction=Compaction.OFF,
        )
    ]


@pytest.mark.parametrize(
    ("tools", "asked"),
    [
        ({}, ToolsAsked()),
        ({"names": None, "mode": None}, ToolsAsked()),
        ({"names": [], "mode": "auto"}, ToolsAsked(names=())),
        ({"mode": "discover"}, ToolsAsked(mode=ToolMode.DISCOVER)),
    ],
)
async def test_no_names_means_all_tools_and_an_empty_list_none(
    http: httpx.AsyncClient, sessions: FakeSessions, tools: dict[str, object], asked: ToolsAsked
) -> None:
    await http.post("/sessions", json={"tools": tools})

    assert sessions.created[0].tools == asked


async def test_a_turn_is_asked_for_in_full(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    body = {
        "content": "Hi",
        "on_busy": "reject",
        "tool_choice": "required",
        "on_tool_limit": "conclude",
        "limits": {
            "tool_iterations": 0.0,
            "max_tokens": None,
            "repeat_detection": True,
            "denied_repeats": 1,
            "thinking_tokens": 0,
            "tool_result_cap": 256,
            "turn_time_s": 0,
        },
        "response_format": {"type": "json_object"},
    }

    assert (await http.post(TURNS, json=body, headers=AT_ONCE)).status_code == 202

    assert sessions.started == [
        TurnAsked(
            content="Hi",
            tool_choice=ToolChoice.REQUIRED,
            on_tool_limit=OnToolLimit.CONCLUDE,
            limits={
                "tool_iterations": 0,
                "repeat_detection": True,
                "denied_repeats": 1,
                "thinking_tokens": 0,
                "tool_result_cap": 256,
                "turn_time_s": 0,
            },
            response_format={"type": "json_object"},
        )
    ]


async def test_null_is_the_same_as_left_out(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    fields = ("on_busy", "tool_choice", "on_tool_limit", "limits", "response_format")

    response = await http.post(TURNS, json={"content": "Hi", **dict.fromkeys(fields)}, headers=AT_ONCE)

    assert response.status_code == 202
    assert sessions.started == [TurnAsked(content="Hi")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", None),
        ("content", 5),
        ("content", ""),
        ("content", [{"type": "text", "text": "Hi"}]),
        ("on_busy", "wait"),
        ("tool_choice", "always"),
        ("tool_choice", True),
        ("on_tool_limit", "Stop"),
        ("limits.tool_iterations", "5"),
        ("limits.tool_iterations", 5.5),
        ("limits.tool_iterations", True),
        ("limits.tool_iterations", -1),
        ("limits.max_tokens", 0),
        ("limits.thinking_tokens", -1),
        ("limits.denied_repeats", 0),
        ("limits.tool_result_cap", 255),
        ("limits.turn_time_s", -1),
        ("limits.repeat_detection", "on"),
        ("limits.tokens", 5),
        ("limits", []),
        ("response_format", "json"),
        ("contents", "Hi"),
    ],
)
async def test_a_wrong_field_of_a_turn_is_named(
    http: httpx.AsyncClient, sessions: FakeSessions, field: str, value: object
) -> None:
    response = await http.post(TURNS, json=_with({"content": "Hi"}, field, value))

    assert list(faults(response)) == [field]
    assert sessions.started == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("system", 5),
        ("agent", ""),
        ("model", []),
        ("title", 5),
        ("title", "x" * 201),
        ("metadata", []),
        ("metadata.n", 5),
        ("metadata.n", None),
        ("metadata.n", "x" * 513),
        ("metadata.n", "é" * 257),
        ("metadata", {f"key{number}": "" for number in range(17)}),
        ("thinking", "maybe"),
        ("thinking", True),
        ("compaction", ""),
        ("tools", []),
        ("tools.names", "get_weather"),
        ("tools.mode", "all"),
        ("sampling.temperature", "0.5"),
        ("sampling.temperature", True),
        ("sampling.temperature", -0.1),
        ("sampling.top_p", 1.1),
        ("sampling.top_k", 1.5),
        ("sampling.top_k", -1),
        ("sampling.min_p", -0.1),
        ("sampling.typical_p", 0),
        ("sampling.repeat_penalty", 0),
        ("sampling.presence_penalty", 2.1),
        ("sampling.frequency_penalty", -2.1),
        ("sampling.seed", "7"),
        ("sampling.seed", 2**32),
        ("sampling.stop", 5),
        ("sampling.stop", [5]),
        ("sampling.stop", False),
        ("sampling.grammar", "root ::= x"),
        ("sampling.n_predict", 5),
        ("owner", "me"),
    ],
)
async def test_a_wrong_field_of_a_session_is_named(
    http: httpx.AsyncClient, sessions: FakeSessions, field: str, value: object
) -> None:
    response = await http.post("/sessions", json=_with({}, field, value))

    assert list(faults(response)) == [field]
    assert sessions.created == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "é" * 200),
        ("metadata", {"k" * 512: "v" * 512}),
        ("metadata", {f"key{number}": "" for number in range(16)}),
        ("sampling.stop", "END"),
        ("sampling.stop", []),
        ("sampling.seed", -1),
        ("sampling.seed", 2**32 - 1),
        ("sampling.temperature", 2),
        ("sampling.top_p", 1),
        ("system", "x" * MIB),
    ],
)
async def test_a_value_at_its_bound_is_taken(http: httpx.AsyncClient, field: str, value: object) -> None:
    assert (await http.post("/sessions", json=_with({}, field, value))).status_code == 201


async def test_a_metadata_key_has_a_bound_too(http: httpx.AsyncClient) -> None:
    told = faults(await http.post("/sessions", json={"metadata": {"k" * 513: ""}}))

    assert list(told.values()) == ["should have at most 512 bytes of UTF-8"]


async def test_a_message_has_at_most_a_mebibyte_of_utf8(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    at_bound = await _post_raw(http, {"content": "é" * (MIB // 2)})
    above = await _post_raw(http, {"content": "é" * (MIB // 2) + "x"})

    assert at_bound.status_code == 202
    assert faults(above) == {"content": "should have at most 1048576 bytes of UTF-8"}
    assert len(sessions.started) == 1


async def _post_raw(http: httpx.AsyncClient, body: object) -> httpx.Response:
    content = json.dumps(body, ensure_ascii=False).encode()
    return await http.post(TURNS, content=content, headers={"Content-Type": "application/json", **AT_ONCE})


@pytest.mark.rules("H4")
@pytest.mark.parametrize("on_busy", list(OnBusy))
async def test_a_busy_session_is_met_as_the_message_says(
    http: httpx.AsyncClient, sessions: FakeSessions, on_busy: OnBusy
) -> None:
    await http.post(TURNS, json={"content": "Hi", "on_busy": on_busy}, headers=AT_ONCE)

    assert [asked.on_busy for asked in sessions.started] == [on_busy]


@pytest.mark.rules("H10")
async def test_a_fork_is_asked_for(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    body = {"fork": {"session": "ses_1", "before": "trn_1"}, "title": "Another way", "system": None}

    assert (await http.post("/sessions", json=body)).status_code == 201

    fork = ForkAsked(session=SessionId("ses_1"), before=TurnId("trn_1"))
    assert sessions.created == [SessionAsked(fork=fork, title="Another way")]


@pytest.mark.rules("H10")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"fork": {"session": "ses_1", "before": "trn_1"}, "system": "x", "tools": {}}, "the body"),
        ({"fork": {"session": "ses_1"}}, "fork.before"),
        ({"fork": {"session": "ses_1", "before": "trn_1", "after": "trn_0"}}, "fork.after"),
        ({"fork": "ses_1"}, "fork"),
    ],
)
async def test_a_fork_with_what_it_has_already_is_refused(
    http: httpx.AsyncClient, sessions: FakeSessions, body: dict[str, object], field: str
) -> None:
    assert list(faults(await http.post("/sessions", json=body))) == [field]
    assert sessions.created == []


@pytest.mark.rules("H3")
@pytest.mark.parametrize(("path", "body"), [("/sessions", {}), (TURNS, {"content": "Hi"})])
async def test_a_key_is_handed_on_with_method_path_and_what_the_body_says(
    http: httpx.AsyncClient, sessions: FakeSessions, path: str, body: dict[str, object]
) -> None:
    for content in (json.dumps(body), json.dumps(body, indent=2)):
        headers = {"Idempotency-Key": "k1", "Content-Type": "application/json", "Prefer": "respond-async"}
        await http.post(path, content=content, headers=headers)

    key = sessions.keys[0]
    assert key is not None
    assert (key.owner, key.method, key.path, key.key) == (LOCAL_OWNER, "POST", path, "k1")
    assert sessions.keys[1] == key


@pytest.mark.rules("H3")
@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "k\u00e9"])
async def test_a_key_that_is_none_is_refused(http: httpx.AsyncClient, sessions: FakeSessions, key: str) -> None:
    response = await http.post("/sessions", json={}, headers={b"Idempotency-Key": key.encode("latin-1")})

    assert list(faults(response)) == ["Idempotency-Key"]
    assert sessions.created == []


@pytest.mark.rules("H3")
async def test_two_keys_are_refused(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    response = await http.post("/sessions", json={}, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])

    assert list(faults(response)) == ["Idempotency-Key"]
    assert sessions.created == []


@pytest.mark.rules("H5")
async def test_another_word_for_a_client_that_leaves_is_refused(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    response = await http.post(f"{TURNS}?on_disconnect=stay", json={"content": "Hi"})

    assert list(faults(response)) == ["on_disconnect"]
    assert sessions.started == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "limit=", "limit=1.5", "Limit=1", "page=2", "limit=1&offset=3"]
)
async def test_a_wrong_query_is_refused(http: httpx.AsyncClient, query: str) -> None:
    name = query.rpartition("&")[2].partition("=")[0]

    assert list(faults(await http.get(f"/sessions?{query}"))) == [name]


@pytest.mark.parametrize("body", [b"null", b"[]", b"7", b'"text"'])
async def test_a_body_that_is_no_object_is_refused(http: httpx.AsyncClient, body: bytes) -> None:
    response = await http.post("/sessions", content=body, headers={"Content-Type": "application/json"})

    assert list(faults(response)) == ["the body"]


async def test_a_body_that_is_missing_is_told_so(http: httpx.AsyncClient) -> None:
    assert faults(await http.post(TURNS)) == {"the body": "is required"}


async def test_a_body_with_very_many_faults_is_told_in_bounds(http: httpx.AsyncClient) -> None:
    body = {"x" * 1000 + str(number): 1 for number in range(1000)}

    response = await http.post("/sessions", json=body)

    assert response.status_code == 422
    assert len(response.content) < 5000


def _with(body: dict[str, Any], field: str, value: object) -> dict[str, Any]:
    outer, dot, inner = field.partition(".")
    return {**body, outer: {inner: value} if dot else value}
