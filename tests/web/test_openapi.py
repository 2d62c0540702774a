"""The API's description: true, valid, and the committed file is up to date."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate

from service import __version__
from service.core.errors import ProblemCode
from service.web.openapi import openapi_document

DOCUMENT = openapi_document()
FILE = Path(__file__).parents[2] / "openapi" / "openapi.json"

Operation = tuple[str, str, dict[str, Any]]


def operations() -> Iterator[Operation]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_committed_file_is_up_to_date() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == DOCUMENT, "run: make openapi"


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["info"]["version"] == __version__


def test_the_schema_of_a_stream_is_what_the_next_openapi_calls_the_schema_of_its_items() -> None:
    document: dict[str, Any] = deepcopy(DOCUMENT) | {"openapi": "3.2.0"}
    streams: list[dict[str, Any]] = [
        content
        for methods in document["paths"].values()
        for operation in methods.values()
        for answer in operation["responses"].values()
        for media_type, content in answer.get("content", {}).items()
        if media_type in ("text/event-stream", "application/x-ndjson")
    ]
    for content in streams:
        content["itemSchema"] = content.pop("schema")

    assert len(streams) == 8
    validate(document)


def test_no_setting_changes_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_ALLOWED_ORIGINS", '["https://app.example"]')
    monkeypatch.setenv("TURNKEEPER_PORT", "not a port")

    assert openapi_document() == DOCUMENT


def test_each_operation_has_a_name_of_its_own_a_tag_and_a_sentence() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]

    assert sorted(names) == sorted(set(names))
    assert all(name.isidentifier() for name in names)
    assert all(operation["tags"] and operation["description"] for _, _, operation in operations())


@pytest.mark.rules("H2")
def test_each_operation_lists_its_refusals_in_one_shape() -> None:
    for method, path, operation in operations():
        refused = {status: answer for status, answer in operation["responses"].items() if status[0] in "45"}
        assert {"403", "421", "422", "500"} <= set(refused), (method, path)
        for status, answer in refused.items():
            if (path, status) == ("/readyz", "503"):
                continue
            schema = answer["content"]["application/problem+json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Problem"}, (method, path, status)
        if "{session}" in path or "{reading}" in path:
            assert "404" in refused, (method, path)


@pytest.mark.rules("H2")
def test_the_document_knows_every_code() -> None:
    assert DOCUMENT["components"]["schemas"]["ProblemCode"]["enum"] == [code.value for code in ProblemCode]


@pytest.mark.rules("H2")
@pytest.mark.anyio
async def test_no_operation_takes_a_query_parameter_that_it_does_not_know(http: httpx.AsyncClient) -> None:
    for method, path, _ in operations():
        address = path.format(session="ses_1", turn="trn_1", reading="rdg_1", seq=1)
        body = {"content": "Hi"} if path.endswith("/turns") else {}
        json_body = body if method in ("POST", "PATCH") else None
        response = await http.request(method, f"{address}?colour=red", json=json_body)

        assert (response.status_code, response.json()["code"]) == (422, "validation"), (method, path)


def test_a_turn_s_answer_is_described_in_each_of_its_forms() -> None:
    responses = DOCUMENT["paths"]["/sessions/{session}/turns"]["post"]["responses"]

    assert set(responses["200"]["content"]) == {"application/json", "text/event-stream"}
    assert set(responses["202"]["content"]) == {"application/json"}
