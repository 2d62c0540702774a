"""The `Idempotency-Key` of `POST /calls`."""

import asyncio

import pytest

from service.example_port.app import create_app
from tests.example_port.counting_tools import CountingTool, GatedTool, tool
from tests.example_port.port_client import BOUND_S, PortClient, connected, served

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]


async def test_the_same_key_runs_a_tool_once_and_answers_the_same(port: PortClient) -> None:
    first = await port.call("add_note", {"text": "one"}, key='"ses_1/1"')
    again = await port.call("add_note", {"text": "one"}, key='"ses_1/1"')
    assert first == again == {"status": "result", "content": "Saved as note 2."}
    listed = await port.call("list_notes", {})
    assert [note["text"] for note in listed["content"]][1:] == ["one"]


async def test_another_key_and_no_key_run_again(port: PortClient) -> None:
    contents = [(await port.call("add_note", {"text": "one"}, key=key))["content"] for key in ("a", "b", None, None)]
    assert contents == [f"Saved as note {note}." for note in (2, 3, 4, 5)]


async def test_a_failure_is_remembered_too() -> None:
    counting = CountingTool(fails=True)
    async with connected(create_app([tool("count", counting)])) as port:
        answers = [await port.call("count", {}, key="k") for _ in range(2)]
    assert answers == [{"status": "failed", "message": "run 1"}] * 2
    assert counting.runs == 1


@pytest.mark.parametrize(("name", "arguments"), [("count", {"n": 2}), ("other", {"n": 1})])
async def test_a_key_with_another_call_is_refused(name: str, arguments: dict[str, int]) -> None:
    counting, other = CountingTool(), CountingTool()
    async with connected(create_app([tool("count", counting), tool("other", other)])) as port:
        await port.call("count", {"n": 1}, key="k")
        response = await port.post(name, arguments, key="k")
    assert response.status_code == 422
    assert response.json()["code"] == "idempotency_mismatch"
    assert (counting.runs, other.runs) == (1, 0)


async def test_the_order_of_arguments_does_not_make_another_call(port: PortClient) -> None:
    first = await port.call("get_weather", {"city": "Paris", "unit": "C"}, key="k")
    assert await port.call("get_weather", {"unit": "C", "city": "Paris"}, key="k") == first


async def test_a_key_too_long_to_remember_is_refused(port: PortClient) -> None:
    assert (await port.post("list_notes", {}, key="k" * 256)).status_code == 200
    response = await port.post("list_notes", {}, key="k" * 257)
    assert (response.status_code, response.json()["code"]) == (422, "validation")


async def test_two_requests_at_once_with_one_key_run_the_tool_once() -> None:
    gated = GatedTool()
    app = create_app([tool("gated", gated), tool("count", CountingTool())])
    async with served(app) as port, asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(port.call("gated", {}, key="k")) for _ in range(2)]
        await gated.started.wait()
        # A whole exchange with another key: it isn't held up, and the second of the two arrives meanwhile.
        assert (await port.call("count", {}, key="other"))["content"] == 1
        gated.gate.set()
    assert [task.result() for task in both] == [{"status": "result", "content": 1}] * 2
    assert gated.runs == 1


async def test_a_caller_that_left_finds_the_answer_when_it_comes_back() -> None:
    gated = GatedTool()
    async with served(create_app([tool("gated", gated)])) as port, asyncio.timeout(BOUND_S):
        leaving = asyncio.create_task(port.call("gated", {}, key="k"))
        await gated.started.wait()
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        gated.gate.set()
        assert await port.call("gated", {}, key="k") == {"status": "result", "content": 1}
    assert gated.runs == 1
