"""What `turnkeeper doctor` sees of a llama-server that is away, in trouble, or started otherwise than it should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from service.core.diagnosis.findings import Code, Part, Severity
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.http_fake import Exchange, HttpFake
from tests.cases.rendering import render
from tests.cli.examined_parts import HANGS, NOWHERE, Told, ToldLlama, codes, examine_with, said
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
REFUSED = {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}
NOT_FOUND = {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}
OFF = {"error": {"code": 501, "message": "This server does not support it", "type": "not_supported_error"}}
# As a real router answers.
ROUTER = {
    "role": "router",
    "max_instances": 4,
    "model_alias": "llama-server",
    "model_path": "none",
    "default_generation_settings": {"params": None, "n_ctx": 0},
    "build_info": "b11434-0123abc",
}
ROUTED = {"data": [{"id": "big", "status": {"value": "unloaded"}}, {"id": "small", "status": {"value": "loaded"}}]}


def of_the_server(found: set[Code]) -> set[Code]:
    return {code for code in found if code.part is Part.LLAMA_SERVER}


def patience_ms(told: dict[str, Told | None]) -> int:
    """How long to wait for an answer: short where one never comes, but enough for the others."""
    return 1000 if HANGS in told.values() else 5000


async def test_a_server_that_is_as_it_should_be_has_nothing_bad(tmp_path: Path) -> None:
    async with ToldLlama() as llama:
        found = await examine_with(tmp_path, llama_url=llama.url)

    assert of_the_server(codes(found)) == {Code.LLAMA_OK, Code.TEMPLATE_OK}
    assert said(Code.LLAMA_OK, found) == f"{llama.url} answers: 2 slots of 8192 tokens, model fake, build fake."
    assert "/v1/chat/completions" not in llama.paths


async def test_a_server_that_is_away_is_told_with_its_address_and_the_reason(tmp_path: Path) -> None:
    found = await examine_with(tmp_path, llama_url=NOWHERE)

    assert of_the_server(codes(found)) == {Code.LLAMA_AWAY}
    assert said(Code.LLAMA_AWAY, found).startswith(f"Nothing answers at {NOWHERE} (Connection refused).")


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"/health": (503, LOADING)}, Code.LLAMA_LOADING),
        ({"/props": (503, LOADING)}, Code.LLAMA_LOADING),
        ({"/props": (401, REFUSED)}, Code.LLAMA_KEY_MISSING),
        ({"/health": HANGS}, Code.LLAMA_SILENT),
        ({"/health": (404, NOT_FOUND), "/props": (404, NOT_FOUND)}, Code.LLAMA_IS_SOMETHING_ELSE),
        ({"/props": (200, b"<html>")}, Code.LLAMA_IS_SOMETHING_ELSE),
        ({"/props": (200, {"n_ctx": 5})}, Code.LLAMA_IS_SOMETHING_ELSE),
        ({"/props": (200, ROUTER), "/v1/models": (200, ROUTED)}, Code.LLAMA_IS_A_ROUTER),
        ({"/props": (400, NOT_FOUND), "/v1/models": (200, ROUTED)}, Code.LLAMA_IS_A_ROUTER),
    ],
)
async def test_what_keeps_a_server_from_being_used_is_the_only_thing_said_of_it(
    tmp_path: Path, told: dict[str, Told | None], code: Code
) -> None:
    async with ToldLlama(told) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, answer_ms=patience_ms(told))

    assert of_the_server(codes(found)) == {code}
    assert code.severity is Severity.WRONG


async def test_a_key_that_is_refused_is_another_thing_than_one_that_is_missing_and_is_not_shown(tmp_path: Path) -> None:
    async with ToldLlama({"/props": (401, REFUSED)}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, llama_api_key="sesame-sesame")

    assert of_the_server(codes(found)) == {Code.LLAMA_KEY_REFUSED}
    assert "sesame" not in str(found)


async def test_an_address_that_ends_with_v1_is_told_without_it(tmp_path: Path) -> None:
    async with ToldLlama({"/v1/health": (404, NOT_FOUND), "/v1/props": (404, NOT_FOUND)}) as llama:
        found = await examine_with(tmp_path, llama_url=f"{llama.url}/v1")

    assert of_the_server(codes(found)) == {Code.LLAMA_URL_HAS_V1}
    (finding,) = [finding for finding in found if finding.code is Code.LLAMA_URL_HAS_V1]
    assert finding.do == f"Set TURNKEEPER_LLAMA_URL to {llama.url}."


async def test_an_address_with_v1_that_works_is_fine(tmp_path: Path) -> None:
    async with ToldLlama({"/v1/metrics": (200, b""), "/v1/v1/models": (200, {"data": []})}) as llama:
        found = await examine_with(tmp_path, llama_url=f"{llama.url}/v1")

    assert Code.LLAMA_OK in codes(found)


async def test_a_router_is_told_with_its_models(tmp_path: Path) -> None:
    async with ToldLlama({"/props": (200, ROUTER), "/v1/models": (200, ROUTED)}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url)

    assert "a router of several models (big, small)" in said(Code.LLAMA_IS_A_ROUTER, found)


async def test_a_router_that_is_told_which_model_is_meant_is_a_server_like_others(tmp_path: Path) -> None:
    async with ToldLlama({"/v1/models": (200, ROUTED)}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, model="small & quick")

    assert of_the_server(codes(found)) == {Code.LLAMA_OK, Code.TEMPLATE_OK}
    assert "/props?model=small+%26+quick" in llama.addresses


async def test_a_router_that_has_not_the_model_that_is_meant_is_told(tmp_path: Path) -> None:
    unknown = {"error": {"code": 400, "message": "model 'huge' not found", "type": "invalid_request_error"}}
    async with ToldLlama({"/props": (400, unknown), "/v1/models": (200, ROUTED)}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, model="huge")

    assert of_the_server(codes(found)) == {Code.LLAMA_IS_A_ROUTER}
    assert "TURNKEEPER_MODEL names none of them" in said(Code.LLAMA_IS_A_ROUTER, found)


async def test_what_speaks_no_http_is_no_llama_server(tmp_path: Path) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.raw(b"220 mail.example ESMTP\r\n")

    async with HttpFake(answer) as mail:
        found = await examine_with(tmp_path, llama_url=mail.url)

    assert of_the_server(codes(found)) == {Code.LLAMA_IS_SOMETHING_ELSE}
    assert "does not speak HTTP" in said(Code.LLAMA_IS_SOMETHING_ELSE, found)


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"/metrics": (501, OFF)}, Code.LLAMA_METRICS_OFF),
        ({"/slots": (501, OFF)}, Code.LLAMA_SLOTS_HIDDEN),
        ({"/slots": HANGS}, Code.LLAMA_STUCK),
        ({"/v1/chat/completions/control": (404, NOT_FOUND)}, Code.LLAMA_TOO_OLD),
        ({"/v1/chat/completions/input_tokens": (404, NOT_FOUND)}, Code.LLAMA_TOO_OLD),
        ({"/apply-template": (503, LOADING)}, Code.TEMPLATE_UNKNOWN),
        ({"/apply-template": HANGS}, Code.TEMPLATE_UNKNOWN),
    ],
)
async def test_how_a_server_was_started_is_seen(tmp_path: Path, told: dict[str, Told | None], code: Code) -> None:
    async with ToldLlama(told) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, answer_ms=patience_ms(told))

    bad = {code for code in codes(found) if code.severity is not Severity.OK}
    assert of_the_server(bad) == {code}


async def test_four_slots_may_be_those_that_share_one_context(tmp_path: Path) -> None:
    models: JsonObject = {"data": [{"id": "fake", "meta": {"n_ctx_train": 8192}}]}
    async with ToldLlama({"/v1/models": (200, models)}, slots=4) as llama:
        whole = await examine_with(tmp_path, llama_url=llama.url)
    async with ToldLlama(slots=4) as llama:
        part = await examine_with(tmp_path, llama_url=llama.url)

    assert "Most likely they share 8192 tokens" in said(Code.LLAMA_SLOTS_SHARED, whole)
    assert Code.LLAMA_SLOTS_MAYBE_SHARED in codes(part)
    assert Code.LLAMA_SLOTS_SHARED not in codes(part)


async def test_a_slot_that_is_empty_shows_by_itself_nothing_of_how_the_server_was_started(tmp_path: Path) -> None:
    # As a real server answers that was given a request up, and one with a unified cache when another slot has worked.
    slots = [
        {"id": 0, "n_ctx": 8192, "is_processing": False, "id_task": 0, "n_prompt_tokens": 0},
        {"id": 1, "n_ctx": 8192, "is_processing": False, "id_task": 2, "n_prompt_tokens": 155},
    ]
    async with ToldLlama({"/slots": (200, slots)}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url)

    assert of_the_server(codes(found)) == {Code.LLAMA_OK, Code.TEMPLATE_OK}


async def test_a_server_that_sleeps_is_not_woken_by_a_question_for_its_slots(tmp_path: Path) -> None:
    props = {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 2, "is_sleeping": True}
    async with ToldLlama({"/props": (200, props)}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url)

    assert "it sleeps" in said(Code.LLAMA_OK, found)
    assert "/slots" not in llama.paths


async def test_a_context_that_is_too_small_is_wrong_and_a_small_one_a_warning(tmp_path: Path) -> None:
    async with ToldLlama(context_tokens=500) as llama:
        tiny = await examine_with(tmp_path, llama_url=llama.url)
    async with ToldLlama(context_tokens=2048) as llama:
        small = await examine_with(tmp_path, llama_url=llama.url)
        larger_room = await examine_with(tmp_path, llama_url=llama.url, min_room=2000)

    assert Code.CONTEXT_TOO_SMALL in codes(tiny)
    assert Code.CONTEXT_SMALL in codes(small)
    assert Code.CONTEXT_TOO_SMALL in codes(larger_room)


def without_thoughts_of_turns(body: JsonObject) -> str:
    """Render as many templates of thinking models do: thoughts before the last question are dropped."""
    messages: list[JsonObject] = body["messages"]
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    shown = [
        {**message, "reasoning_content": ""} if place < last else message for place, message in enumerate(messages)
    ]
    return render({**body, "messages": shown})


def without_thoughts(body: JsonObject) -> str:
    """Render with a text at the end that the next prompt does not have."""
    return f"{render(body)}<thinks {len(body['messages'])}>"


@pytest.mark.rules("L10")
@pytest.mark.parametrize(
    ("template", "code"),
    [
        (without_thoughts_of_turns, Code.TEMPLATE_REWRITES_TURNS),
        (without_thoughts, Code.TEMPLATE_REWRITES_STEPS),
    ],
)
async def test_what_a_template_that_rewrites_costs_is_measured_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: Callable[[JsonObject], str], code: Code
) -> None:
    monkeypatch.setattr("tests.cases.strict_llama.render", template)
    async with TokenizingLlama() as llama, FakePort(spec("weather")) as port:
        found = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url)

    assert "In a trial turn of " in said(code, found)
    assert "at the 250 tokens a second that it evaluates." in said(code, found)


class TokenizingLlama(ToldLlama):
    """Takes each character for a token."""

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.path == "/tokenize":
            await exchange.answer({"tokens": [1] * len(json.loads(exchange.body)["content"])})
        else:
            await super()._answer(exchange)
