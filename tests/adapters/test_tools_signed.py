"""Requests to the tool port that are signed: what is signed, and that the example port can tell (section 8)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone

import httpx
import pytest
from standardwebhooks import Webhook

from service.adapters.tools import RequestSigner, ToolPortHttp, build_tool_client
from service.core.errors import ToolPortFailure
from service.core.ids import SessionId, TurnId
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolRequest
from service.core.trace_context import own_context
from service.example_port.app import create_app
from service.port_wire.signatures import Signatures
from tests.adapters.scripted_port import PortRequest, ScriptedPort, as_json, says
from tests.example_port.port_client import served

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K4")]

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER_SECRET = "whsec_Zm9yIGEgcG9ydCB0aGF0IGlzIG5vdCB0aGlzIG9uZS4u"
NOON = datetime(2026, 11, 30, 12, 0, 0, 999_999, tzinfo=UTC)
REFUSED = "the tool port refuses our token or signature (HTTP 401)"


def request(number: int = 7, *, city: str = "Köln") -> ToolRequest:
    return ToolRequest(
        session=SessionId("ses_1"),
        turn=TurnId("trn_2"),
        call=number,
        tool="get_weather",
        arguments={"city": city},
        timeout_ms=10_000,
        idempotency_key=f"ses_1/{number}",
        trace=own_context("trn_2"),
    )


def now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def recorded(
    answer: object, secret: str | None = SECRET, *, clock: Callable[[], datetime] = now
) -> AsyncGenerator[tuple[list[PortRequest], ToolPortHttp]]:
    signer = RequestSigner(secret, now=clock) if secret is not None else None
    async with ScriptedPort(says(as_json(answer))) as fake, build_tool_client(fake.url, None) as client:
        yield fake.requests, ToolPortHttp(client, signer=signer)


async def test_a_call_is_signed_over_the_bytes_that_are_sent_and_under_its_key() -> None:
    async with recorded({"status": "result", "content": 1}) as (requests, port):
        await port.call(request())

    (sent,) = requests
    assert sent.headers["webhook-id"] == "ses_1/7"
    assert sent.headers["idempotency-key"] == '"ses_1/7"'
    assert "Köln".encode() in sent.body
    Webhook(SECRET).verify(sent.body, sent.headers)


async def test_the_time_is_that_of_the_clock_in_whole_seconds_of_utc() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    signed: list[str] = []
    for time in (NOON, elsewhere):
        async with recorded({"tools": []}, clock=lambda time=time: time) as (requests, port):
            await port.call(request())
            signed.append(requests[0].headers["webhook-signature"])
            assert requests[0].headers["webhook-timestamp"] == str(int(NOON.timestamp()))

    expected = Webhook(SECRET).sign("ses_1/7", NOON, requests[0].body.decode())
    assert signed == [expected, expected]


async def test_a_request_for_the_list_is_signed_over_an_empty_body_under_an_id_of_its_own() -> None:
    async with recorded({"tools": []}) as (requests, port):
        await port.list_tools()
        await port.list_tools()

    assert [sent.line for sent in requests] == ["GET /tools HTTP/1.1"] * 2
    assert len({sent.headers["webhook-id"] for sent in requests}) == 2
    for sent in requests:
        assert sent.body == b""
        Webhook(SECRET).verify(b"", sent.headers, json_parse=False)


async def test_without_a_secret_nothing_is_signed() -> None:
    async with recorded({"tools": []}, secret=None) as (requests, port):
        await port.list_tools()
        await port.call(request())

    assert [name for sent in requests for name in sent.headers if name.startswith("webhook")] == []


@asynccontextmanager
async def example_port(secret: str | None, *, clock: Callable[[], datetime] = now) -> AsyncGenerator[ToolPortHttp]:
    """The example port, which has SECRET, and an adapter that has another one or none."""
    async with served(create_app(signatures=Signatures(SECRET))) as example:
        signer = RequestSigner(secret, now=clock) if secret is not None else None
        async with build_tool_client(str(example.http.base_url), None) as client:
            yield ToolPortHttp(client, signer=signer)


async def test_a_port_with_the_same_secret_lists_and_runs() -> None:
    async with example_port(SECRET) as port:
        assert "get_weather" in [tool["name"] for tool in await port.list_tools()]
        answer = await port.call(request(city="Paris"))

    assert answer == ToolAnswer(status=AnswerStatus.RESULT, text="18 degrees, sunny")


@pytest.mark.rules("X1")
@pytest.mark.parametrize("secret", [OTHER_SECRET, None], ids=["another", "none"])
async def test_with_another_secret_or_none_a_call_fails_in_a_few_words(secret: str | None) -> None:
    expected = REFUSED if secret is not None else "the tool port refuses our token (HTTP 401)"
    async with example_port(secret) as port:
        assert await port.call(request()) == ToolAnswer(status=AnswerStatus.FAILED, text=expected)
        with pytest.raises(ToolPortFailure) as failure:
            await port.list_tools()

    assert str(failure.value) == expected


@pytest.mark.rules("X1")
@pytest.mark.parametrize("minutes", [-6, 6])
async def test_a_clock_that_is_minutes_off_is_refused(minutes: int) -> None:
    async with example_port(SECRET, clock=lambda: now() + timedelta(minutes=minutes)) as port:
        assert (await port.call(request())).text == REFUSED


async def test_a_clock_that_is_a_little_off_is_not_refused() -> None:
    for minutes in (-4, 4):
        async with example_port(SECRET, clock=lambda m=minutes: now() + timedelta(minutes=m)) as port:
            assert (await port.call(request(city="Paris"))).status is AnswerStatus.RESULT


async def test_nothing_that_was_signed_can_be_used_for_something_else() -> None:
    signer = RequestSigner(SECRET, now=now)
    async with ScriptedPort(says(as_json({"tools": []}))) as fake, build_tool_client(fake.url, None) as client:
        await ToolPortHttp(client, signer=signer).call(request(city="Paris"))
    overheard = fake.requests[0]
    del overheard.headers["host"], overheard.headers["content-length"]
    changed = {
        "another body": (overheard.headers, overheard.body.replace(b"Paris", b"Rome!")),
        "another key": (overheard.headers | {"idempotency-key": '"ses_1/8"'}, overheard.body),
        "another id": (overheard.headers | {"webhook-id": "ses_1/8", "idempotency-key": '"ses_1/8"'}, overheard.body),
        "a later time": (overheard.headers | {"webhook-timestamp": "99999999999"}, overheard.body),
        "a time that is none": (overheard.headers | {"webhook-timestamp": "nan"}, overheard.body),
        "a signature that is none": (overheard.headers | {"webhook-signature": "v1"}, overheard.body),
        "another version": (overheard.headers | {"webhook-signature": "v9,AAAA"}, overheard.body),
        "no UTF-8": (overheard.headers, b"\xff"),
        "no key": ({k: v for k, v in overheard.headers.items() if k != "idempotency-key"}, overheard.body),
        **{
            f"no {name}": ({k: v for k, v in overheard.headers.items() if k != name}, overheard.body)
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        },
    }
    async with served(create_app(signatures=Signatures(SECRET))) as example:
        answers: dict[str, httpx.Response] = {
            name: await example.http.post("/calls", headers=headers, content=body)
            for name, (headers, body) in changed.items()
        }
        as_it_was = await example.http.post("/calls", headers=overheard.headers, content=overheard.body)

    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(changed, 401)
    assert {answer.json()["code"] for answer in answers.values()} == {"unauthorized"}
    assert as_it_was.status_code == 200
