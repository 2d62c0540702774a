"""What a tool's schema names is never fetched, and what a client sends in headers goes no further (K4, X3)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.http_fake import Exchange, HttpFake
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import Script, StrictLlama
from tests.cases.whole_service import Start
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K4")]

CANARY = "canary-9041-canary"
BOUND_S = 20


@asynccontextmanager
async def bait() -> AsyncGenerator[tuple[str, list[str]]]:
    """A server with a schema at every path, and the paths that were asked for."""
    asked: list[str] = []

    async def answer(exchange: Exchange) -> None:
        asked.append(exchange.path)
        await exchange.answer({"type": "object"})

    async with HttpFake(answer) as server:
        yield server.url, asked


def foreign_schemas(url: str, file: Path) -> dict[str, JsonObject]:
    """Schemas that lead outside, by the name of their tool."""
    targets = {
        "http": f"{url}/schema",
        "with_fragment": f"{url}/schema#/$defs/a",
        "no_scheme": f"{url.removeprefix('http:')}/schema",
        "file": file.as_uri(),
        "path": str(file),
        "relative": "schema.json",
        "upwards": "../schema.json",
        "jar": f"jar:{url}/a!/b",
        "space": f" {url}/schema",
    }
    by_keyword: dict[str, JsonObject] = {
        f"{keyword.removeprefix('$')}_{name}": {"properties": {"a": {keyword: target}}}
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef")
        for name, target in targets.items()
    }
    ours = {"type": "string"}
    tricks: dict[str, JsonObject] = {
        "unknown_dialect": {"$schema": f"{url}/dialect"},
        "dialect_in_a_file": {"$schema": file.as_uri()},
        "id_makes_it_absolute": {"$id": f"{url}/base/", "properties": {"a": {"$ref": "other"}}},
        "inner_id_makes_it_absolute": {"properties": {"a": {"$id": f"{url}/b/", "items": {"$ref": "other"}}}},
        "id_of_a_folder": {"$id": f"{file.parent.as_uri()}/", "properties": {"a": {"$ref": file.name}}},
        "id_and_a_pointer_to_nothing": {"$id": f"{url}/base", "properties": {"a": {"$ref": "#/$defs/x"}}},
        "inner_id_and_the_pointer_of_another": {
            "properties": {"a": {"$id": f"{url}/b", "$ref": "#/$defs/x"}},
            "$defs": {"x": ours},
        },
        "old_id": {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": f"{url}/base/",
            "properties": {"a": {"$ref": "other"}},
        },
        "data": {"examples": [{"$ref": f"{url}/example"}]},
        "list": {"properties": {"a": {"$ref": [f"{url}/list"]}}},
    }
    return {name: {"type": "object", **schema} for name, schema in (by_keyword | tricks).items()}


def harmless_schemas(url: str) -> dict[str, JsonObject]:
    """Schemas that name an address which nothing has to be fetched from."""
    ours = {"type": "string"}
    return {
        "named": {"$id": f"{url}/me", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": ours}},
        "inner_dialect": {"properties": {"a": {"$id": f"{url}/i", "$schema": f"{url}/inner", "type": "string"}}},
        "vocabulary": {"$vocabulary": {f"{url}/words": True}, "properties": {"a": ours}},
    }


@pytest.mark.rules("X3")
async def test_nothing_that_a_schema_names_is_fetched(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object"}', encoding="utf-8")
    async with asyncio.timeout(BOUND_S), bait() as (url, fetched):
        foreign = foreign_schemas(url, file)
        harmless = {name: {"type": "object", **schema} for name, schema in harmless_schemas(url).items()}
        listed = [{**spec(name), "parameters": schema} for name, schema in (foreign | harmless).items()]
        llama = StrictLlama(
            ask_for(*(Call(name=name, id=name, arguments='{"a": "text"}') for name in harmless)),
            ask_for(*(Call(name=name, id=f"{name}-2", arguments='{"a": 1}') for name in harmless)),
            say("Done."),
        )
        port = FakePort(*listed)
        service = await start(llama, port, discover_above_tokens=100_000)
        session = await service.session()
        await service.turn(session)
        told = (await service.served.http.get("/readyz")).text

    assert fetched == []
    assert {call.tool for call in port.calls} == set(harmless)
    assert [name for name in foreign if not re.search(rf"\b{name}\b", told)] == []
    assert {tool["function"]["name"] for tool in llama.asked[0].body["tools"]} == {*harmless, "read_result"}


class Overheard:
    """Keeps the headers of all requests to the fakes."""

    def __init__(self) -> None:
        self.headers: list[tuple[str, dict[str, str]]] = []

    def llama(self, *script: Script) -> StrictLlama:
        heard = self.headers

        class Llama(StrictLlama):
            async def _answer(self, exchange: Exchange) -> None:
                heard.append((exchange.path, exchange.headers))
                await super()._answer(exchange)

        return Llama(*script)

    def port(self) -> FakePort:
        heard = self.headers

        class Port(FakePort):
            async def _answer(self, exchange: Exchange) -> None:
                heard.append((exchange.path, exchange.headers))
                await super()._answer(exchange)

        return Port()


async def test_no_header_of_a_client_is_passed_on(start: Start) -> None:
    overheard = Overheard()
    llama = overheard.llama(ask_for(Call(name="clock", id="one")), say("It is noon."))
    service = await start(llama, overheard.port(), tool_port_token="of-the-port", llama_api_key="of-the-model")
    mine = {
        **dict.fromkeys(("Cookie", "X-Secret", "X-Request-Id", "User-Agent", "Accept-Language", "From"), CANARY),
        "Authorization": f"Bearer {CANARY}",
        "X-API-Key": CANARY,
        "Proxy-Authorization": f"Basic {CANARY}",
        "webhook-id": CANARY,
        "webhook-signature": CANARY,
        "tracestate": f"canary={CANARY}",
        "Idempotency-Key": CANARY,
    }
    service.served.http.headers.update(mine)
    async with asyncio.timeout(BOUND_S):
        session = await service.session()
        turn = await service.turn(session)

    assert turn["content"] == "It is noon."
    assert {path for path, _ in overheard.headers} >= {"/props", "/v1/chat/completions", "/tools", "/calls"}
    for path, headers in overheard.headers:
        assert CANARY not in str(headers), path
        of = "of-the-port" if path in ("/tools", "/calls") else "of-the-model"
        assert headers["authorization"] == f"Bearer {of}"
