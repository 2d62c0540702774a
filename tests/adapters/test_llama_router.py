"""A router of several models is told in each question which of them is meant."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

import pytest

from tests.adapters.every_question import ASK, PATIENT, of_llama, told_by
from tests.adapters.scripted_llama import Received, answer, llama_at, scripted

pytestmark = [pytest.mark.anyio, pytest.mark.rules("L1", "L10")]

QUESTIONS = (
    "GET /health",
    "GET /props",
    "GET /slots",
    "POST /tokenize",
    "POST /apply-template",
    "POST /v1/chat/completions/input_tokens",
    "POST /v1/chat/completions/control",
    "POST /v1/chat/completions",
)
NAME = "small/model & more"
AS_QUERY = "model=small%2Fmodel+%26+more"


async def asked(name: str, model: str | None) -> Received:
    """Ask one question, and give the request that came of it."""
    refusal = answer(HTTPStatus.NOT_FOUND, b"{}")
    async with scripted([refusal], slots=[[refusal]]) as server, llama_at(server.url, PATIENT, model=model) as llama:
        await told_by(of_llama(llama, replace(ASK, model=model))[name])
    return (server.requests or server.looks)[0]


async def test_these_are_all_questions() -> None:
    async with llama_at("http://127.0.0.1:1") as llama:
        assert tuple(of_llama(llama)) == QUESTIONS


@pytest.mark.parametrize("name", QUESTIONS)
async def test_each_question_names_the_model_that_is_set(name: str) -> None:
    method, path = name.split()
    received = await asked(name, NAME)

    if method == "GET":
        assert received.line == f"GET {path}?{AS_QUERY} HTTP/1.1"
    else:
        assert received.line == f"POST {path} HTTP/1.1"
        assert received.json["model"] == NAME


@pytest.mark.parametrize("name", QUESTIONS)
async def test_no_question_names_a_model_where_none_is_set(name: str) -> None:
    received = await asked(name, None)

    assert received.line == f"{name} HTTP/1.1"
    assert b"model" not in received.body
