"""A trace goes through the service: from the client to the tool port, and to a collector if there is one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from service.core.trace_context import own_context
from tests.cases.fake_port import FakePort
from tests.cases.http_fake import Exchange, HttpFake, OverHttp
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import JSON, Start, WholeService, service_over

pytestmark = pytest.mark.anyio

BOUND_S = 15.0
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLER = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


class HeardPort(FakePort):
    """Remembers the place in a trace with which it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str | None]] = []

    async def _answer(self, exchange: Exchange) -> None:
        self.heard.append((exchange.path, exchange.headers.get("traceparent")))
        await super()._answer(exchange)

    @property
    def of_calls(self) -> list[str | None]:
        return [told for path, told in self.heard if path == "/calls"]


class Collector(OverHttp):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self._http = HttpFake(self._take)
        self.spans: list[Span] = []

    async def _take(self, exchange: Exchange) -> None:
        assert exchange.path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(exchange.body).resource_spans:
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)
        await exchange.answer(b"")


def clock_twice() -> StrictLlama:
    return StrictLlama(
        ask_for(Call(name="clock", id="one")), say("Noon."), ask_for(Call(name="clock", id="two")), say("Still noon.")
    )


async def turn_of(service: WholeService, session: str, headers: dict[str, str]) -> str:
    answer = await service.served.http.post(f"{session}/turns", json={"content": "Time?"}, headers={**JSON, **headers})
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


async def test_without_traces_the_port_is_called_below_the_clients_span_or_in_the_turns_own_trace(start: Start) -> None:
    port = HeardPort()
    service = await start(clock_twice(), port)
    async with asyncio.timeout(BOUND_S):
        session = await service.session()
        await turn_of(service, session, CALLER)
        alone = await turn_of(service, session, {"traceparent": "nonsense"})

    assert port.of_calls == [CALLER["traceparent"], own_context(alone).traceparent]


@pytest.mark.parametrize("more", [{}, {"Idempotency-Key": "one"}, {"Prefer": "wait=1"}])
async def test_each_way_into_the_service_takes_the_clients_place_in_a_trace(start: Start, more: dict[str, str]) -> None:
    port = HeardPort()
    service = await start(clock_twice(), port)
    async with asyncio.timeout(BOUND_S):
        await turn_of(service, await service.session(), {**CALLER, **more})

    assert port.of_calls == [CALLER["traceparent"]]


async def test_two_places_in_a_trace_are_none(start: Start) -> None:
    port = HeardPort()
    service = await start(clock_twice(), port)
    async with asyncio.timeout(BOUND_S):
        session = await service.session()
        headers = [("Accept", "application/json"), *CALLER.items(), ("traceparent", f"00-{SPAN}{SPAN}-{SPAN}-01")]
        answer = await service.served.http.post(f"{session}/turns", json={"content": "Time?"}, headers=headers)

    assert port.of_calls == [own_context(answer.json()["id"]).traceparent]


async def test_with_a_collector_the_clients_the_services_and_the_ports_spans_are_one_trace(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(BOUND_S),
        HeardPort() as port,
        Collector() as collector,
        clock_twice() as llama,
        # What is left is sent when the service ends.
        service_over(tmp_path, llama, port, traces_url=collector.url) as service,
    ):
        session = await service.session()
        turn = await turn_of(service, session, CALLER)

    spans = {span.name: span for span in collector.spans}
    agent, tool = spans["invoke_agent"], spans["execute_tool clock"]
    assert [span.name for span in collector.spans if span.parent_span_id == agent.span_id] == [
        "chat",
        "execute_tool clock",
        "chat",
    ]
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    assert agent.parent_span_id.hex() == SPAN
    assert port.of_calls == [f"00-{TRACE}-{tool.span_id.hex()}-01"]
    told = {entry.key: entry.value.string_value for entry in agent.attributes}
    assert (told["turnkeeper.turn.id"], told["gen_ai.conversation.id"]) == (turn, session.rpartition("/")[2])
    asked = {entry.key: entry.value for entry in spans["chat"].attributes}
    assert asked["server.address"].string_value == "127.0.0.1"


async def test_the_lists_of_tools_belong_to_no_trace(start: Start) -> None:
    port = HeardPort()
    service = await start(clock_twice(), port)
    async with asyncio.timeout(BOUND_S):
        await service.served.http.post("/sessions", json={}, headers=CALLER)

    assert {told for path, told in port.heard if path == "/tools"} == {None}
