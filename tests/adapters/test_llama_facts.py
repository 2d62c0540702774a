"""What `/health`, `/props` and the template tell of a server (L10)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
import respx

from service.adapters.llama import LlamaTimes
from service.adapters.llama.facts import Templates
from service.adapters.llama.request import completion_body
from service.core.baseline import TemplateProfile, Thinking
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.core.json_types import JsonObject
from service.ports import ServerFacts
from tests.adapters.llama_routes import mocked
from tests.adapters.scripted_llama import Step, answer, llama_at, never, scripted
from tests.core.toy_template import ToyTemplate
from tests.recordings.exchanges import recorded

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("script", "kind", "says"),
    [
        ([recorded("loading_health").raw], ErrorKind.UPSTREAM_HTTP, "llama-server answered 503: Loading model"),
        ([answer(200, b"ok")], ErrorKind.PROTOCOL, "/health with something that is no JSON object"),
        ([answer(200, b"[" * 100_000)], ErrorKind.PROTOCOL, "no JSON object"),
        ([answer(200, b"[]")], ErrorKind.PROTOCOL, "no JSON object"),
        ([never], ErrorKind.CONNECT, "did not answer within 0.1 s"),
        ([answer(200, b"x")[:-1], never], ErrorKind.CONNECT, "did not answer within 0.1 s"),
        ([answer(200, b"xyz")[:-1]], ErrorKind.STREAM_CLOSED, "closed the connection before it had answered"),
        ([b"SSH-2.0-OpenSSH_9\r\n"], ErrorKind.PROTOCOL, "does not speak HTTP"),
    ],
    ids=["loading", "no JSON", "deep", "no object", "silent", "half silent", "half lost", "no HTTP"],
)
async def test_a_health_that_is_none_is_a_failure(script: list[Step], kind: ErrorKind, says: str) -> None:
    # Only who waits for an answer that does not come has to wait.
    times = LlamaTimes(answer_ms=100 if kind is ErrorKind.CONNECT else 30_000)
    async with scripted(script) as server, llama_at(server.url, times) as llama:
        with pytest.raises(ModelFailure) as caught:
            await llama.check()

    assert caught.value.kind is kind
    assert says in caught.value.message


async def test_an_answer_without_end_is_not_stored() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99000000\r\n\r\n"
    async with scripted([head, *[b"x" * 1_000_000] * 9, never]) as server, llama_at(server.url) as llama:
        with pytest.raises(ModelFailure, match="more than 8388608 bytes"):
            await llama.check()


async def test_a_healthy_server_is_healthy() -> None:
    async with scripted([recorded("health").raw]) as server, llama_at(server.url) as llama:
        await llama.check()

        assert server.requests[0].line == "GET /health HTTP/1.1"


TEMPLATE = "{{ messages }}"
HASH = hashlib.sha256(TEMPLATE.encode()).hexdigest()
PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 2048, "params": {}},
    "total_slots": 2,
    "model_alias": "smol",
    "chat_template": TEMPLATE,
    "chat_template_caps": {
        "supports_tools": True,
        "supports_tool_calls": True,
        "supports_parallel_tool_calls": True,
        "supports_system_role": True,
        "supports_object_arguments": False,
    },
}


ABLE = TemplateProfile(
    hash=HASH,
    tools=True,
    parallel=True,
    call_id="any",
    system_role=True,
    alternates=False,
    object_arguments=False,
    thinking_off="tail",
    keeps_turns=True,
    keeps_steps=True,
)
NOTHING_PROMISED = TemplateProfile(
    hash=HASH,
    tools=True,
    parallel=True,
    call_id="nine",
    system_role=True,
    alternates=True,
    object_arguments=False,
    thinking_off="none",
    keeps_turns=False,
    keeps_steps=False,
)

Answer = Callable[[Any], httpx.Response]


class TemplateServer:
    """`/props` and `/apply-template` of a server; what it answers can be changed while it runs."""

    def __init__(self, router: respx.MockRouter, template: ToyTemplate | None = None) -> None:
        self.props: dict[str, Any] = PROPS
        self.template = template or ToyTemplate()
        self.answer: Answer = self.rendered
        self.probes: list[Any] = []
        router.get("/props").mock(side_effect=self._props)
        router.post("/apply-template").mock(side_effect=self._apply)

    def rendered(self, body: Any) -> httpx.Response:
        prompt = self.template.render(body)
        if prompt is None:
            return httpx.Response(500, json={"error": {"message": "roles must alternate", "type": "server_error"}})
        return httpx.Response(200, json={"prompt": prompt})

    def _props(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=self.props)

    def _apply(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.probes.append(body)
        return self.answer(body)


@pytest.fixture
def server(router: respx.MockRouter) -> TemplateServer:
    return TemplateServer(router)


@pytest.mark.rules("L10")
async def test_the_facts_of_a_server_are_read_from_its_props_and_its_renderings(
    router: respx.MockRouter, server: TemplateServer
) -> None:
    async with mocked(router) as llama:
        found = await llama.facts()

    assert found == ServerFacts(context_tokens=2048, slots=2, model="smol", template=ABLE)


@pytest.mark.rules("L10")
@pytest.mark.parametrize("system_role", ["shown", "raises", "dropped"])
async def test_the_probes_begin_with_a_system_message_where_the_template_shows_one(
    router: respx.MockRouter, server: TemplateServer, system_role: str
) -> None:
    server.template = ToyTemplate(system=system_role)

    async with mocked(router) as llama:
        found = await llama.facts()

    with_system = [body["messages"][0]["role"] == "system" for body in server.probes[3:]]
    assert found.template.system_role == (system_role == "shown")
    assert with_system == [system_role == "shown"] * 8


@pytest.mark.rules("L10")
async def test_a_template_that_is_known_costs_one_question(router: respx.MockRouter, server: TemplateServer) -> None:
    async with mocked(router) as llama:
        first = await llama.facts()
        asked = len(server.probes)
        server.props = {**PROPS, "total_slots": 3}
        second = await llama.facts()

    assert (len(server.probes), asked) == (11, 11)
    assert (second.template, second.slots) == (first.template, 3)


@pytest.mark.rules("L10")
@pytest.mark.parametrize(
    "change",
    [
        {"chat_template": "another"},
        {"build_info": "b2"},
        {"chat_template_caps": {**PROPS["chat_template_caps"], "supports_system_role": False}},
    ],
    ids=["template", "build", "caps"],
)
async def test_another_template_or_another_build_is_probed_anew(
    router: respx.MockRouter, server: TemplateServer, change: dict[str, Any]
) -> None:
    async with mocked(router) as llama:
        await llama.facts()
        server.props, server.template = {**PROPS, **change}, ToyTemplate(thoughts="dropped_later")
        found = await llama.facts()

    assert not found.template.keeps_turns


def refused_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


@pytest.mark.rules("L10")
@pytest.mark.parametrize("path", ["health", "v1/chat/completions"])
@pytest.mark.parametrize("trouble", [refused_connection, httpx.Response(503)], ids=["refused", "loading"])
async def test_a_server_that_was_away_is_probed_anew(
    router: respx.MockRouter, server: TemplateServer, path: str, trouble: Any
) -> None:
    router.route(path=f"/{path}").mock(side_effect=[trouble])
    router.get("/slots").respond(404)
    async with mocked(router) as llama:
        await llama.facts()
        with pytest.raises(ModelFailure):
            await (
                llama.check() if path == "health" else anext(llama.stream(CompletionRequest(messages=(), max_tokens=1)))
            )
        server.template = ToyTemplate(thoughts="dropped_later")
        found = await llama.facts()

    assert not found.template.keeps_turns


@pytest.mark.rules("L10")
@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
async def test_an_answer_that_says_no_is_not_taken_for_an_absence(
    router: respx.MockRouter, server: TemplateServer, status: int
) -> None:
    router.get("/health").respond(status)
    async with mocked(router) as llama:
        await llama.facts()
        with pytest.raises(UpstreamHttp):
            await llama.check()
        await llama.facts()

    assert len(server.probes) == 11


@pytest.mark.rules("L10")
@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404),
        httpx.Response(501),
        httpx.Response(401),
        httpx.Response(500),
        httpx.Response(200, content=b"no JSON"),
        httpx.Response(200, json={"prompt": 7}),
        httpx.Response(200, json={}),
    ],
    ids=["no route", "not built in", "not allowed", "raises", "no JSON", "no text", "no prompt"],
)
async def test_without_renderings_the_server_is_believed_and_nothing_else_promised(
    router: respx.MockRouter, server: TemplateServer, answer: httpx.Response
) -> None:
    server.answer = lambda _: answer

    async with mocked(router) as llama:
        first, second = await llama.facts(), await llama.facts()

    assert first.template == second.template == NOTHING_PROMISED
    assert len(server.probes) == 3


@pytest.mark.rules("L10")
@pytest.mark.parametrize("missing", ["supports_tools", "supports_tool_calls"])
async def test_a_template_without_tools_or_without_calls_has_no_tools(
    router: respx.MockRouter, server: TemplateServer, missing: str
) -> None:
    server.answer = lambda _: httpx.Response(404)
    server.props = {**PROPS, "chat_template_caps": {**PROPS["chat_template_caps"], missing: False}}

    async with mocked(router) as llama:
        assert not (await llama.facts()).template.tools


@pytest.mark.rules("L10")
@pytest.mark.parametrize("caps", [None, {}, [], {"supports_tools": "yes", "supports_parallel_tool_calls": 1}])
async def test_older_builds_that_tell_less_promise_less(
    router: respx.MockRouter, server: TemplateServer, caps: Any
) -> None:
    server.answer = lambda _: httpx.Response(404)
    server.props = {"default_generation_settings": {"n_ctx": 512}, "chat_template_caps": caps, "model_alias": ""}

    async with mocked(router) as llama:
        found = await llama.facts()

    untold = hashlib.sha256(b"").hexdigest()
    profile = replace(NOTHING_PROMISED, hash=untold, parallel=False, object_arguments=True)
    assert found == ServerFacts(context_tokens=512, slots=1, model=None, template=profile)


@pytest.mark.rules("L10")
@pytest.mark.parametrize(
    "props",
    [{}, {"default_generation_settings": {}}, {"default_generation_settings": {"n_ctx": 0}}, {"status": "ok"}],
)
async def test_a_server_without_a_context_size_is_none_of_ours(
    router: respx.MockRouter, server: TemplateServer, props: dict[str, Any]
) -> None:
    server.props = props
    async with mocked(router) as llama:
        with pytest.raises(ModelFailure, match="tells no n_ctx") as caught:
            await llama.facts()
    assert caught.value.kind is ErrorKind.PROTOCOL


@pytest.mark.rules("L6", "L10")
@pytest.mark.parametrize("switch", ["none", "tail", "head"])
async def test_where_thinking_off_changes_the_prompt_is_found_by_asking_as_a_session_does(
    router: respx.MockRouter, server: TemplateServer, switch: str
) -> None:
    server.template = ToyTemplate(switch=switch)
    body = json.loads(completion_body(CompletionRequest(messages=(), max_tokens=1, thinking=Thinking.OFF)))

    async with mocked(router) as llama:
        assert (await llama.facts()).template.thinking_off == switch

    (off,) = [probe for probe in server.probes if "chat_template_kwargs" in probe]
    assert {name: off[name] for name in ("chat_template_kwargs", "reasoning_effort")} == {
        name: body[name] for name in ("chat_template_kwargs", "reasoning_effort")
    }


@pytest.mark.rules("L10")
@pytest.mark.parametrize("place", [0, 5])
async def test_a_server_that_begins_to_load_while_it_is_asked_is_not_judged(
    router: respx.MockRouter, server: TemplateServer, place: int
) -> None:
    def loading_from_here_on(body: Any) -> httpx.Response:
        if len(server.probes) > place:
            return httpx.Response(503, json={"error": {"message": "Loading model"}})
        return server.rendered(body)

    server.answer = loading_from_here_on
    async with mocked(router) as llama:
        with pytest.raises(UpstreamHttp) as caught:
            await llama.facts()
        server.answer = server.rendered
        found = await llama.facts()

    assert caught.value.status == 503
    assert found.template == ABLE


@pytest.mark.rules("L10")
async def test_what_was_learnt_over_an_absence_is_not_kept() -> None:
    asked = 0

    async def ask(method: str, path: str, body: JsonObject | None) -> JsonObject:
        nonlocal asked
        asked += 1
        if asked == 5:
            templates.server_was_away()
        assert (method, path) == ("POST", "apply-template")
        return {"prompt": ToyTemplate().render(body or {}) or ""}

    templates = Templates(ask)
    for _ in range(3):
        await templates.facts(PROPS)

    assert asked == 22


@pytest.mark.rules("L10")
async def test_at_most_four_probes_are_on_their_way_at_the_same_time() -> None:
    on_their_way = most = 0

    async def ask(method: str, path: str, body: JsonObject | None) -> JsonObject:
        nonlocal on_their_way, most
        on_their_way += 1
        most = max(most, on_their_way)
        for _ in range(10):
            await asyncio.sleep(0)
        on_their_way -= 1
        return {"prompt": ToyTemplate().render(body or {}) or ""}

    assert (await Templates(ask).facts(PROPS)).template == ABLE
    assert most == 4
