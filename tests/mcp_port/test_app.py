"""The port over HTTP, over servers that a test plays: what is listed, run once, refused, passed on and cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from standardwebhooks import Webhook

from service.mcp_port.app import create_app
from service.mcp_port.config_file import ServerConfig, StdioServer, ToolRules
from service.mcp_port.keyed_calls import KeyedCalls
from service.mcp_port.listed import CallFault, ServerState, ServerTools
from service.port_wire.signatures import Signatures
from tests.example_port.port_client import PortClient, connected, served
from tests.mcp_port.odd import heard_log

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X1", "X3")]

BOUND_S = 10.0
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class PlayedServers:
    """Servers that answer as a test says."""

    def __init__(self, *servers: ServerTools) -> None:
        self.servers = list(servers) or [up("files", "read", "write")]
        self.calls: list[tuple[str, str, dict[str, Any], float, str | None]] = []
        self.answer: CallToolResult | Exception = said("hello")
        self.waited: list[float] = []
        self.ups: dict[str, ServerTools] = {}
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    def listed(self) -> Sequence[ServerTools]:
        return self.servers

    async def settled(self, within_s: float, server: str | None = None) -> None:
        self.waited.append(within_s)
        self.servers = [self.ups.get(one.name, one) if server == one.name else one for one in self.servers]

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], *, timeout_s: float, traceparent: str | None
    ) -> CallToolResult:
        self.calls.append((server, tool, arguments, timeout_s, traceparent))
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def said(text: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], **more)


def up(name: str, *tools: str) -> ServerTools:
    listed = tuple(Tool(name=tool, input_schema=SCHEMA) for tool in tools)
    return ServerTools(name=name, state=ServerState.UP, tools=listed)


def config(name: str = "files", **more: Any) -> ServerConfig:
    return ServerConfig(name=name, transport=StdioServer(command="x", env={}), **more)


async def test_tools_are_listed_with_how_the_servers_are() -> None:
    down = ServerTools(name="web", state=ServerState.DOWN, said="can't be reached; the next try is 4 s later")
    servers = PlayedServers(up("files", "write", "read"), down)
    async with connected(create_app([config(), config("web")], servers=servers)) as port:
        answer = (await port.http.get("/tools")).json()

    assert [tool["name"] for tool in answer["tools"]] == ["files__read", "files__write"]
    assert answer["servers"] == [
        {"name": "files", "state": "up"},
        {"name": "web", "state": "down", "said": "can't be reached; the next try is 4 s later"},
    ]
    # Turnkeeper waits for 10 s.
    assert servers.waited == [4.0]


async def test_a_call_goes_to_its_server_with_its_arguments_time_and_place_in_a_trace() -> None:
    servers = PlayedServers()
    app = create_app([config(rules=ToolRules(timeout_ms=5000))], servers=servers)
    async with connected(app) as port:
        port.http.headers["traceparent"] = TRACE
        answer = await port.call("files__read", {"path": "/a"}, key='"ses_1/1"')

    assert answer == {"status": "result", "content": "hello"}
    assert servers.calls == [("files", "read", {"path": "/a"}, 5.0, TRACE)]


@pytest.mark.parametrize("given", ["", "nonsense", TRACE + "-more", TRACE.upper()])
async def test_what_is_no_place_in_a_trace_is_not_passed_on(given: str) -> None:
    servers = PlayedServers()
    async with connected(create_app([config()], servers=servers)) as port:
        port.http.headers["traceparent"] = given
        await port.call("files__read", {})

    assert servers.calls[0][4] is None


async def test_a_fault_is_a_failure_in_its_words() -> None:
    servers = PlayedServers()
    servers.answer = CallFault("the MCP server files ended with exit code 3")
    async with connected(create_app([config()], servers=servers)) as port:
        answer = await port.call("files__read", {})

    assert answer == {"status": "failed", "message": "the MCP server files ended with exit code 3"}


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_defect_fails_its_call_alone_and_its_words_stay_in_the_log(key: str | None) -> None:
    servers = PlayedServers()
    servers.answer = KeyError("a secret of the inside")
    async with connected(create_app([config()], servers=servers)) as port:
        with heard_log() as log:
            answer = await port.call("files__read", {}, key=key)
        servers.answer = said("hello")
        assert (await port.call("files__write", {}))["content"] == "hello"

    message = "the MCP port made a mistake of its own; its log says more"
    assert answer == {"status": "failed", "message": message}
    assert log.all[0] == "'files__read': a defect of the port"


async def test_an_error_of_an_untrusted_tool_stays_untrusted() -> None:
    servers = PlayedServers()
    servers.answer = said("no such file", is_error=True)
    async with connected(create_app([config()], servers=servers)) as port:
        stranger = await port.call("files__read", {})
    async with connected(create_app([config(rules=ToolRules(untrusted=False))], servers=servers)) as port:
        trusted = await port.call("files__read", {})

    assert stranger == {"status": "result", "untrusted": True, "content": "The tool failed: no such file"}
    assert trusted == {"status": "failed", "message": "no such file"}


async def test_a_tool_that_is_not_offered_is_not_run() -> None:
    down = ServerTools(name="web", state=ServerState.DOWN, said="can't be reached")
    servers = PlayedServers(up("files", "read", "write"), down)
    app = create_app([config(deny=("write",)), config("web")], servers=servers)
    async with connected(app) as port:
        answers = [await port.call(name, {}) for name in ("files__write", "nothing", "read", "web__fetch")]

    assert [answer["message"] for answer in answers] == [
        "there is no tool 'files__write'",
        "there is no tool 'nothing'",
        "there is no tool 'read'",
        "the MCP server web can't be reached",
    ]
    assert servers.calls == []


async def test_a_call_of_a_server_that_still_starts_waits_for_it() -> None:
    starting = ServerTools(name="files", state=ServerState.STARTING, said="is being started")
    servers = PlayedServers(starting)
    servers.ups["files"] = up("files", "read")
    async with connected(create_app([config()], servers=servers)) as port:
        answer = await port.call("files__read", {})
        none = await port.call("files__nothing", {})

    assert (answer["status"], none["message"]) == ("result", "there is no tool 'files__nothing'")
    assert servers.waited == [60.0]


@pytest.mark.rules("A1")
async def test_a_tool_that_needs_an_approval_does_not_run_without_one() -> None:
    servers = PlayedServers()
    app = create_app([config(tool_rules=(("read", ToolRules(needs_approval=True)),))], servers=servers)
    async with connected(app) as port:
        asked = await port.call("files__read", {})
        assert servers.calls == []
        approved = await port.call("files__read", {}, approval={"by": "ann"})

    assert asked["status"] == "pending_approval"
    assert approved["status"] == "result"


async def test_the_same_key_runs_a_tool_once_and_with_another_call_it_is_refused() -> None:
    servers = PlayedServers()
    async with connected(create_app([config()], servers=servers)) as port:
        answers = [await port.call("files__read", {"a": 1}, key="k") for _ in range(3)]
        other = await port.post("files__read", {"a": 2}, key="k")

    assert answers == [answers[0]] * 3
    assert len(servers.calls) == 1
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


async def test_a_key_whose_answer_is_gone_runs_nothing_and_says_so() -> None:
    servers = PlayedServers()
    async with connected(create_app([config()], servers=servers, keyed=KeyedCalls(max_bytes=0))) as port:
        await port.call("files__read", {}, key="k")
        again = await port.call("files__read", {}, key="k")

    assert again["status"] == "failed"
    assert "ran before" in again["message"]
    assert len(servers.calls) == 1


@pytest.mark.parametrize("key", [None, '"ses_1/1"'])
async def test_a_caller_who_leaves_cancels_the_request(key: str | None) -> None:
    servers = PlayedServers()
    servers.go_on.clear()
    async with asyncio.timeout(BOUND_S), served(create_app([config()], servers=servers)) as port:
        calling = asyncio.create_task(port.call("files__read", {}, key=key))
        await servers.begun.wait()
        calling.cancel()
        await servers.cancelled.wait()
        # The port is as it was.
        servers.go_on.set()
        assert (await port.call("files__write", {}, key='"ses_1/2"'))["status"] == "result"


async def test_a_caller_who_leaves_does_not_cancel_what_another_waits_for() -> None:
    servers = PlayedServers()
    servers.go_on.clear()
    async with asyncio.timeout(BOUND_S), served(create_app([config()], servers=servers)) as port:
        async with httpx.AsyncClient(base_url=port.http.base_url, timeout=BOUND_S, trust_env=False) as other:
            leaving = asyncio.create_task(PortClient(other).call("files__read", {}, key="k"))
            await servers.begun.wait()
            staying = asyncio.create_task(port.call("files__read", {}, key="k"))
            assert (await port.http.get("/healthz")).status_code == 200
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        assert (await port.http.get("/healthz")).status_code == 200
        servers.go_on.set()

        assert (await staying)["status"] == "result"
    assert not servers.cancelled.is_set()


async def test_without_the_token_or_the_signature_nothing_is_listed_and_nothing_runs() -> None:
    servers = PlayedServers()
    app = create_app([config()], token="swordfish", signatures=Signatures(SECRET), servers=servers)
    async with connected(app) as port:
        assert (await port.http.get("/tools")).status_code == 401
        port.http.headers["Authorization"] = "Bearer swordfish"
        assert (await port.http.get("/tools")).status_code == 401
        assert (await port.post("files__read", {}, key="k")).status_code == 401
        assert servers.calls == []

        signed = _signed(b"", "req_1")
        assert (await port.http.get("/tools", headers=signed)).status_code == 200


async def test_web_pages_are_refused() -> None:
    async with connected(create_app([config()], servers=PlayedServers())) as port:
        assert (await port.http.get("/tools", headers={"Origin": "http://localhost:8000"})).status_code == 403


async def test_a_list_that_changes_is_another_list_the_next_time() -> None:
    servers = PlayedServers()
    async with connected(create_app([config()], servers=servers)) as port:
        before = await port.specs()
        servers.servers = [up("files", "read", "search")]
        after = await port.specs()

    assert (list(before), list(after)) == (["files__read", "files__write"], ["files__read", "files__search"])


async def test_hints_of_servers_arrive_in_the_list() -> None:
    hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tool = Tool(name="read", description="Reads.", input_schema=SCHEMA, annotations=hints)
    servers = PlayedServers(ServerTools(name="files", state=ServerState.UP, tools=(tool,)))
    async with connected(create_app([config()], servers=servers)) as port:
        specs = await port.specs()

    assert specs["files__read"] == {
        "name": "files__read",
        "description": "Reads.",
        "parameters": SCHEMA,
        "idempotent": True,
        "untrusted": True,
    }


def _signed(body: bytes, number: str) -> dict[str, str]:
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    return {
        "webhook-id": number,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(SECRET).sign(number, now, body.decode()),
    }
