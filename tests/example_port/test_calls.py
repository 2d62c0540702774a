"""`POST /calls`: what a tool, a wrong call and a broken tool answer."""

import pytest

from service.example_port.app import create_app
from tests.example_port.counting_tools import ConstantTool, CountingTool, tool
from tests.example_port.port_client import PortClient, connected

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]


async def test_a_result_is_exactly_a_status_and_the_content(port: PortClient) -> None:
    assert await port.call("get_weather", {"city": "Paris"}) == {
        "status": "result",
        "content": "18 degrees, sunny",
    }


async def test_an_unknown_tool_fails_and_the_known_ones_are_named(port: PortClient) -> None:
    answer = await port.call("get_whether", {"city": "Paris"})
    assert answer["status"] == "failed"
    assert "get_whether" in answer["message"]
    assert "get_weather" in answer["message"]
    assert "search_text" in answer["message"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, '"city" is a required property'),
        ({"city": 7}, 'city: 7 is not of type "string"'),
        ({"city": None}, 'city: null is not of type "string"'),
        ({"city": ["Paris"]}, "city: "),
    ],
)
async def test_arguments_outside_the_schema_fail_with_the_validators_words(
    port: PortClient, arguments: dict[str, object], told: str
) -> None:
    answer = await port.call("get_weather", arguments)
    assert answer["status"] == "failed"
    assert told in answer["message"]


async def test_arguments_outside_the_schema_never_reach_the_tool() -> None:
    counting = CountingTool()
    async with connected(create_app([tool("count", counting)])) as port:
        assert (await port.call("count", {"n": "many"}))["status"] == "failed"
    assert counting.runs == 0


async def test_a_tool_that_breaks_fails_and_its_reason_stays_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with connected(create_app([tool("count", CountingTool(breaks=True))])) as port:
        answer = await port.call("count", {})
    assert answer == {"status": "failed", "message": "count broke; the port's log says why"}
    assert "/srv/secret/path" in caplog.text


@pytest.mark.parametrize("content", [float("nan"), float("inf"), "\ud800"])
async def test_content_that_json_cannot_hold_fails(content: float | str) -> None:
    async with connected(create_app([tool("constant", ConstantTool(content))])) as port:
        answer = await port.call("constant", {})
    assert answer == {"status": "failed", "message": "the tool's answer can't be written as JSON"}


@pytest.mark.parametrize("content", [None, True, 0, 1.5, "", "a\u2028b\u2029c\u0085\U0001f341", [], {"a": [None]}])
async def test_any_json_content_comes_out_as_it_is(content: object) -> None:
    async with connected(create_app([tool("constant", ConstantTool(content))])) as port:  # pyright: ignore[reportArgumentType]
        assert await port.call("constant", {}) == {"status": "result", "content": content}


async def test_the_labels_come_before_the_content_which_may_be_cut(port: PortClient) -> None:
    response = await port.post("search_text", {"query": "carbon rods"})
    assert list(response.json()) == ["status", "class", "content"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "JSON"),
        (b"nope", "JSON"),
        (b"[]", "body"),
        (b'"\xff"', "JSON"),
        (b"[" * 100_000, "JSON"),
        (b"{}", "session: Field required"),
        (b'{"session":1,"turn":"t","call":1,"tool":"x","arguments":{}}', "session: "),
        (b'{"session":"s","turn":"t","call":"1","tool":"x","arguments":{}}', "call: "),
        (b'{"session":"s","turn":"t","call":1,"tool":"x","arguments":"{}"}', "arguments: "),
        (b'{"session":"s","turn":"t","call":1,"tool":"x"}', "arguments: "),
        (b'{"session":"s","turn":"t","call":1,"tool":"x","arguments":{},"approval":true}', "approval: "),
    ],
)
async def test_a_malformed_body_is_a_422_problem(port: PortClient, body: bytes, told: str) -> None:
    response = await port.http.post("/calls", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == 422
    assert problem["code"] == "validation"
    assert told in problem["detail"]


async def test_unknown_fields_of_a_call_are_ignored(port: PortClient) -> None:
    body = {"session": "s", "turn": "t", "call": 1, "tool": "calculate", "arguments": {"expression": "1+1"}}
    response = await port.http.post("/calls", json=body | {"new_in_2030": {"a": 1}})
    assert response.json() == {"status": "result", "content": "2"}


async def test_a_log_line_cannot_be_faked_by_a_tool_name(port: PortClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="service.example_port")
    await port.call("x\nINFO 'delete_note': result", {})
    assert [record.getMessage() for record in caplog.records if record.name.startswith("service.")] == [
        "\"x\\nINFO 'delete_note': result\": failed"
    ]
