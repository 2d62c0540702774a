"""What `/health`, `/props` and the template tell of a server (L10)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest
import respx

from service.adapters.llama import LlamaTimes
from service.core.baseline import TemplateProfile
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.ports import ServerFacts
from tests.adapters.llama_routes import mocked
from tests.adapters.scripted_llama import Step, answer, llama_at, never, scripted
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
    async with scripted(script) as server, llama_at(server.url, LlamaTimes(answer_ms=100)) as llama:
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


async def facts(router: respx.MockRouter, props: dict[str, Any], **rendered: httpx.Response) -> ServerFacts:
    """Ask for the facts of a server with these props, which renders the probe so with thinking on and off."""

    def render(request: httpx.Request) -> httpx.Response:
        off = json.loads(request.content).get("chat_template_kwargs") == {"enable_thinking": False}
        return rendered.get("off" if off else "on", httpx.Response(404))

    router.get("/props").respond(200, json=props)
    router.post("/apply-template").mock(side_effect=render)
    async with mocked(router) as llama:
        return await llama.facts()


@pytest.mark.rules("L10")
async def test_the_facts_of_a_server_are_read_from_its_props(router: respx.MockRouter) -> None:
    assert await facts(router, PROPS) == ServerFacts(
        context_tokens=2048,
        slots=2,
        model="smol",
        template=TemplateProfile(
            hash=HASH, tools=True, parallel=True, system_role=True, object_arguments=False, thinking_off="none"
        ),
    )


@pytest.mark.rules("L10")
@pytest.mark.parametrize("missing", ["supports_tools", "supports_tool_calls"])
async def test_a_template_without_tools_or_without_calls_has_no_tools(router: respx.MockRouter, missing: str) -> None:
    caps = {**PROPS["chat_template_caps"], missing: False}

    assert not (await facts(router, {**PROPS, "chat_template_caps": caps})).template.tools


@pytest.mark.rules("L10")
@pytest.mark.parametrize("caps", [None, {}, [], {"supports_tools": "yes", "supports_parallel_tool_calls": 1}])
async def test_older_builds_that_tell_less_are_taken_as_most_are(router: respx.MockRouter, caps: Any) -> None:
    props = {"default_generation_settings": {"n_ctx": 512}, "chat_template_caps": caps, "model_alias": ""}

    assert await facts(router, props) == ServerFacts(
        context_tokens=512,
        slots=1,
        model=None,
        template=TemplateProfile(hash=hashlib.sha256(b"").hexdigest(), tools=True, parallel=False),
    )


@pytest.mark.rules("L10")
@pytest.mark.parametrize(
    "props",
    [{}, {"default_generation_settings": {}}, {"default_generation_settings": {"n_ctx": 0}}, {"status": "ok"}],
)
async def test_a_server_without_a_context_size_is_none_of_ours(router: respx.MockRouter, props: dict[str, Any]) -> None:
    with pytest.raises(ModelFailure, match="tells no n_ctx") as caught:
        await facts(router, props)
    assert caught.value.kind is ErrorKind.PROTOCOL


def prompt(text: object) -> httpx.Response:
    return httpx.Response(200, json={"prompt": text})


PROBE = "Where does the tide come from?"


@pytest.mark.rules("L6", "L10")
@pytest.mark.parametrize(
    ("on", "off", "where"),
    [
        (prompt(f"<s>{PROBE}</s>"), prompt(f"<s>{PROBE}</s>"), "none"),
        (prompt(f"<s>{PROBE}</s><think>"), prompt(f"<s>{PROBE}</s><think></think>"), "tail"),
        (prompt(f"<s>think{PROBE}</s>"), prompt(f"<s>{PROBE}</s>"), "head"),
        (prompt(f"<s>think {PROBE}</s>"), prompt(f"<s>brief {PROBE}</s>"), "head"),
        (prompt("<s>no probe 1"), prompt("<s>no probe 2"), "head"),
        (prompt(None), prompt(f"{PROBE}"), "none"),
        (prompt(f"{PROBE}"), prompt(7), "none"),
        (httpx.Response(404), httpx.Response(404), "none"),
        (prompt(f"{PROBE}"), httpx.Response(500), "none"),
    ],
    ids=["equal", "tail", "head", "same length", "not rendered", "no prompt", "no text", "no route", "refused"],
)
async def test_where_thinking_off_changes_the_prompt_is_found_by_rendering(
    router: respx.MockRouter, on: httpx.Response, off: httpx.Response, where: str
) -> None:
    assert (await facts(router, PROPS, on=on, off=off)).template.thinking_off == where


@pytest.mark.rules("L10")
@pytest.mark.parametrize("system", [True, False])
async def test_the_probe_has_a_system_message_where_the_template_takes_one(
    router: respx.MockRouter, system: bool
) -> None:
    caps = {**PROPS["chat_template_caps"], "supports_system_role": system}

    await facts(router, {**PROPS, "chat_template_caps": caps}, on=prompt(""), off=prompt(""))

    requests: list[httpx.Request] = [call.request for call in router.calls]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    probes = [json.loads(request.content) for request in requests if request.method == "POST"]
    roles = ["system", "user"] if system else ["user"]
    assert [[message["role"] for message in probe["messages"]] for probe in probes] == [roles, roles]


@pytest.mark.rules("L10")
async def test_a_server_that_begins_to_load_while_it_is_asked_is_not_judged(router: respx.MockRouter) -> None:
    with pytest.raises(UpstreamHttp) as caught:
        await facts(router, PROPS, on=httpx.Response(503, json={"error": {"message": "Loading model"}}))
    assert caught.value.status == 503
