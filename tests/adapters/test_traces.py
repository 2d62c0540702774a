"""Spans use the conventions' names, keep to a bound, and reach a collector over HTTP without holding up a turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from service.access.untraced import Untraced
from service.adapters.traces import messages, names, provider
from service.adapters.traces.provider import collector_address, traces_to
from service.bootstrap.tracing import open_tracer
from service.config import Settings
from service.core.completion_events import Completion, CompletionUsage, ModelCall
from service.core.ids import SessionId, TurnId
from service.core.trace_context import read_traceparent
from service.ports.tracer import ToolCalled, TurnBegun
from tests.cases.http_fake import Exchange, HttpFake

pytestmark = pytest.mark.anyio

BOUND_S = 10.0
CALLED = ToolCalled(name="weather", tool_call_id="call-1", call=1, arguments="{}")
BEGUN = TurnBegun(session=SessionId("ses_1"), turn=TurnId("trn_1"), agent=None, model=None, resumed=False)


class Collector:
    """Takes what is sent, or refuses it, or never answers."""

    def __init__(self, status: int | None = 200, **headers: str) -> None:
        self.status = status
        self.headers = headers
        self.paths: list[str] = []
        self.heard: list[dict[str, str]] = []
        self.sent: list[ExportTraceServiceRequest] = []
        self.come = asyncio.Event()
        self.http = HttpFake(self._answer)

    @property
    def span_names(self) -> list[str]:
        return [
            span.name
            for request in self.sent
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resource(self) -> dict[str, str]:
        return {entry.key: entry.value.string_value for entry in self.sent[0].resource_spans[0].resource.attributes}

    async def _answer(self, exchange: Exchange) -> None:
        self.paths.append(exchange.path)
        self.heard.append(exchange.headers)
        self.come.set()
        if self.status is None:
            await asyncio.get_running_loop().create_future()
            return
        self.sent.append(ExportTraceServiceRequest.FromString(exchange.body))
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        await exchange.raw(
            f"HTTP/1.1 {self.status} Status\r\n{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )


@asynccontextmanager
async def collecting(collector: Collector) -> AsyncGenerator[str]:
    async with collector.http as http:
        yield http.url


async def send_one(url: str) -> None:
    async with asyncio.timeout(BOUND_S), traces_to(url, "http://127.0.0.1:8080", share=1.0, content=False) as tracer:
        with tracer.turn(BEGUN):
            pass


def test_each_name_of_the_conventions_is_one_of_theirs() -> None:
    # By their names: what moved to another repository is marked as deprecated in this one.
    places = ("_incubating.attributes.gen_ai", "attributes.error", "attributes.server")
    modules = [vars(import_module(f"opentelemetry.semconv.{place}_attributes")) for place in places]
    theirs = {value for module in modules for name, value in module.items() if name.isupper()}
    operations = {member.value for member in modules[0]["GenAiOperationNameValues"]}
    ours = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    copied = {value for value in ours if value.startswith(("gen_ai.", "error.", "server."))}

    assert len(copied) > 30
    assert copied <= theirs
    assert {names.CHAT, names.EXECUTE_TOOL, names.INVOKE_AGENT, names.INVOKE_WORKFLOW} <= operations


def test_the_page_of_traces_names_each_attribute() -> None:
    page = (Path(__file__).parents[2] / "docs/traces.md").read_text(encoding="utf-8")
    values: list[Any] = [value for name, value in vars(names).items() if name.isupper()]
    told: set[str] = {*names.PLACES.values(), *(value for value in values if isinstance(value, str))}
    attributes = {text for text in told if text.startswith(("gen_ai.", "turnkeeper.", "error.", "server."))}

    assert len(attributes) > 45
    assert [text for text in sorted(attributes) if f"`{text}`" not in page] == []


@pytest.mark.parametrize(
    ("url", "sent_to"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("https://collector.test/v1/traces", "https://collector.test/v1/traces"),
        ("https://collector.test/api/otel", "https://collector.test/api/otel"),
    ],
)
def test_an_address_without_a_path_gets_the_usual_one(url: str, sent_to: str) -> None:
    assert collector_address(url) == sent_to


async def test_spans_reach_a_collector_when_the_service_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    async with collecting(collector := Collector()) as url:
        await send_one(url)

    assert collector.paths == ["/v1/traces"]
    assert collector.span_names == ["invoke_agent"]
    assert collector.resource["service.name"] == "turnkeeper"
    assert collector.resource["deployment.environment.name"] == "test"
    assert collector.sent[0].resource_spans[0].scope_spans[0].schema_url == names.SCHEMA_URL


async def test_the_usual_variables_name_the_service_and_add_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "the-desk")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=of-the-collector")
    async with collecting(collector := Collector()) as url:
        await send_one(url)

    assert collector.resource["service.name"] == "the-desk"
    assert collector.heard[0]["api-key"] == "of-the-collector"


@pytest.mark.rules("K4")
async def test_where_spans_go_is_for_the_settings_alone_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting(other := Collector()) as elsewhere, collecting(collector := Collector()) as url:
        for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, elsewhere)
        await send_one(url)

    assert collector.span_names == ["invoke_agent"]
    assert other.paths == []


@pytest.mark.rules("K4")
@pytest.mark.parametrize(("disabled", "kept"), [("true", False), ("TRUE", False), ("false", True), ("", True)])
async def test_where_the_environment_disables_the_library_no_spans_are_kept(
    disabled: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", disabled)
    monkeypatch.setattr(provider, "END_WITHIN_S", 0.05)
    settings = Settings.model_construct(None, traces_url="http://127.0.0.1:9")
    async with asyncio.timeout(BOUND_S), AsyncExitStack() as stack:
        tracer = await open_tracer(stack, settings)
        with tracer.turn(BEGUN) as turn, turn.tool(CALLED) as called:
            assert read_traceparent(called.context.traceparent) is not None

    assert isinstance(tracer, Untraced) is not kept


async def test_a_collector_that_redirects_is_not_followed() -> None:
    async with collecting(other := Collector()) as elsewhere:
        async with collecting(Collector(307, Location=elsewhere)) as url:
            await send_one(url)

        assert other.paths == []


async def test_a_collector_that_is_away_holds_up_neither_a_turn_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "END_WITHIN_S", 0.2)
    async with collecting(Collector()) as url:
        pass

    # Nothing listens there any more.
    await send_one(url)


async def test_a_collector_that_never_answers_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "END_WITHIN_S", 0.2)
    async with collecting(collector := Collector(None)) as url:
        await send_one(url)

        assert collector.paths == ["/v1/traces"]


def test_a_prompt_that_is_too_long_loses_its_oldest_messages_and_tells_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(messages, "MOST_CHARACTERS", 200)
    prompt = [{"role": "user", "content": f"Message {number}"} for number in range(5)]

    text, left_out = messages.prompt_of(prompt)

    told = json.loads(text)
    assert [message["parts"][0]["content"] for message in told] == ["Message 2", "Message 3", "Message 4"]
    assert (left_out, len(text) <= 200) == (2, True)


def test_a_prompt_whose_last_message_is_too_long_is_left_out_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_CHARACTERS", 20)

    assert messages.prompt_of([{"role": "user", "content": "long" * 10}]) == ("[]", 1)


def test_arguments_that_are_no_json_are_told_as_the_model_wrote_them() -> None:
    told = json.loads(messages.answer_of(_completion(ModelCall(id=None, name="clock", arguments="{noon"))))

    assert told[0]["parts"] == [{"type": "tool_call", "id": None, "name": "clock", "arguments": "{noon"}]


def test_messages_of_every_role_have_their_parts() -> None:
    called: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    prompt: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Time?"},
        {"role": "assistant", "content": "", "reasoning_content": "A clock.", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
    ]

    text, left_out = messages.prompt_of(prompt)

    assert left_out == 0
    assert json.loads(text) == [
        {"role": "user", "parts": [{"type": "text", "content": "Time?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "A clock."},
                {"type": "tool_call", "id": "c1", "name": "clock", "arguments": {}},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "noon"}]},
    ]
    assert json.loads(messages.system_of(prompt) or "") == [{"type": "text", "content": "Be brief."}]
    assert messages.system_of(prompt[1:]) is None


def _completion(*calls: ModelCall) -> Completion:
    usage = CompletionUsage(prompt_tokens=1, cached_tokens=0, completion_tokens=1, reasoning_tokens=0)
    return Completion(content="", reasoning="", calls=calls, finish_reason="tool_calls", usage=usage)
