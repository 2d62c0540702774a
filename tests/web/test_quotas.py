"""K3: how often a caller may ask and for how much at a time, decided before anything is done, and given back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message, Receive, Scope, Send

from service.core.callers import LOCAL_CALLER, Caller
from service.core.callers import Scope as KeyScope
from service.core.ids import OwnerId
from service.core.json_types import JsonObject
from service.web.authentication import CALLER
from service.web.early_answers import HEALTH_PATHS
from service.web.quotas import Quotas
from tests.web.serving import BOUND_S

# On a busy machine a test may reach into the next minute.
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("hand_time"), pytest.mark.rules("K3")]

ANN, BOB = (Caller(name=name, owner=OwnerId("team"), scopes=frozenset({KeyScope.TURNS})) for name in ("ann", "bob"))
STREAM = "/sessions/ses_1/events"


class HeldApp:
    """An app that begins its answers and holds them until they are let go, or told how to end."""

    def __init__(self) -> None:
        self.begun = 0
        self.failure: Exception | None = None
        self.go_on = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.go_on.wait()
        if self.failure is not None:
            raise self.failure
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Asked:
    """One request, and what has come of it so far."""

    def __init__(self, quotas: Quotas, caller: Caller | None, path: str, method: str) -> None:
        self.messages: list[Message] = []
        self.answered = asyncio.Event()
        scope: Scope = {"type": "http", "method": method, "path": path, "headers": []}
        if caller is not None:
            scope[CALLER] = caller
        self.task = asyncio.create_task(quotas(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Message) -> None:
        self.messages.append(message)
        self.answered.set()

    @property
    def status(self) -> int:
        return self.messages[0]["status"]

    @property
    def retry_after(self) -> int:
        return int(dict(self.messages[0]["headers"])[b"retry-after"])

    @property
    def problem(self) -> JsonObject:
        return json.loads(self.messages[1]["body"])


def quotas_over(app: HeldApp, *, per_minute: int = 0, requests: int = 0, streams: int = 0) -> Quotas:
    return Quotas(app, requests_per_minute=per_minute, requests_at_once=requests, streams_at_once=streams)


async def ask(quotas: Quotas, caller: Caller | None = ANN, path: str = "/sessions", method: str = "GET") -> Asked:
    asked = Asked(quotas, caller, path, method)
    async with asyncio.timeout(BOUND_S):
        await asked.answered.wait()
    return asked


@asynccontextmanager
async def held_app() -> AsyncGenerator[HeldApp]:
    app = HeldApp()
    yield app
    app.go_on.set()


async def ended(*asked: Asked) -> None:
    async with asyncio.timeout(BOUND_S):
        await asyncio.wait([each.task for each in asked])


def assert_refused(asked: Asked, setting: str) -> None:
    assert asked.status == 429
    assert asked.problem["code"] == "rate_limited"
    assert f"({setting})" in str(asked.problem["detail"])
    assert asked.retry_after >= 1


@pytest.mark.parametrize(("path", "setting"), [("/sessions", "requests_at_once"), (STREAM, "streams_at_once")])
async def test_as_many_are_answered_at_a_time_as_are_allowed_and_an_end_makes_room(path: str, setting: str) -> None:
    async with held_app() as app:
        quotas = quotas_over(app, requests=3, streams=3)
        held = [await ask(quotas, path=path) for _ in range(3)]
        assert [asked.status for asked in held] == [200] * 3

        assert_refused(await ask(quotas, path=path), setting)

        assert app.begun == 3
        assert quotas.open == {"ann": 3}
        app.go_on.set()
        await ended(*held)
        assert quotas.open == {}
        assert (await ask(quotas, path=path)).status == 200


async def test_streams_and_requests_are_counted_apart() -> None:
    async with held_app() as app:
        quotas = quotas_over(app, requests=1, streams=1)
        await ask(quotas, path=STREAM)
        await ask(quotas, path="/sessions")

        assert_refused(await ask(quotas, path="/events"), "streams_at_once")
        assert_refused(await ask(quotas, path="/sessions/ses_1"), "requests_at_once")


@pytest.mark.parametrize(
    ("method", "path", "is_stream"),
    [
        ("GET", "/events", True),
        ("GET", "/sessions/s/events", True),
        ("GET", "/sessions/s/turns/t/events", True),
        ("GET", "/readings/r/events", True),
        ("HEAD", "/events", False),
        ("GET", "/sessions/s", False),
        # Its turn would have begun when it shows that its answer is a stream.
        ("POST", "/sessions/s/turns", False),
        ("POST", "/readings", False),
    ],
)
async def test_what_counts_as_a_stream_is_told_by_method_and_address(method: str, path: str, is_stream: bool) -> None:
    async with held_app() as app:
        quotas = quotas_over(app, requests=1, streams=1)
        await ask(quotas, path="/events" if is_stream else "/sessions")

        assert_refused(
            await ask(quotas, path=path, method=method), "streams_at_once" if is_stream else "requests_at_once"
        )


async def test_each_key_has_its_own_numbers_also_where_two_have_one_owner() -> None:
    async with held_app() as app:
        quotas = quotas_over(app, per_minute=2, requests=1)
        await ask(quotas, ANN)
        assert_refused(await ask(quotas, ANN), "requests_at_once")
        assert_refused(await ask(quotas, ANN), "requests_per_minute")

        assert (await ask(quotas, BOB)).status == 200


async def test_a_key_sends_so_many_requests_in_a_minute_and_is_told_when_to_come_back() -> None:
    async with held_app() as app:
        app.go_on.set()
        quotas = quotas_over(app, per_minute=3)
        assert [(await ask(quotas)).status for _ in range(3)] == [200] * 3

        refused = await ask(quotas)

        assert_refused(refused, "requests_per_minute")
        assert f"in {refused.retry_after} s" in str(refused.problem["detail"])
        assert app.begun == 3
        assert quotas.open == {}


async def test_the_caller_of_a_service_without_keys_has_bounds_at_a_time_but_no_rate() -> None:
    async with held_app() as app:
        quotas = quotas_over(app, per_minute=1, requests=2)
        for _ in range(2):
            assert (await ask(quotas, LOCAL_CALLER)).status == 200

        assert_refused(await ask(quotas, LOCAL_CALLER), "requests_at_once")


@pytest.mark.parametrize("path", sorted(HEALTH_PATHS))
@pytest.mark.parametrize("caller", [None, ANN, LOCAL_CALLER])
async def test_questions_after_the_services_health_are_never_refused(path: str, caller: Caller | None) -> None:
    async with held_app() as app:
        quotas = quotas_over(app, per_minute=1, requests=1)

        assert [(await ask(quotas, caller, path)).status for _ in range(3)] == [200] * 3

        assert quotas.open == {}


async def test_without_bounds_nothing_is_refused() -> None:
    async with held_app() as app:
        quotas = quotas_over(app)

        for path in ("/sessions", STREAM):
            assert {(await ask(quotas, path=path)).status for _ in range(20)} == {200}


@pytest.mark.parametrize("path", ["/sessions", STREAM])
@pytest.mark.parametrize("way", ["fails", "is cancelled"])
async def test_a_request_that_ends_badly_gives_its_place_back(path: str, way: str) -> None:
    async with held_app() as app:
        quotas = quotas_over(app, requests=1, streams=1)
        held = await ask(quotas, path=path)
        if way == "fails":
            app.failure = RuntimeError("a mistake of ours")
            app.go_on.set()
        else:
            held.task.cancel()
        await ended(held)

        # What went wrong is raised as before.
        assert held.task.cancelled() or isinstance(held.task.exception(), RuntimeError)
        assert quotas.open == {}
        assert (await ask(quotas, path=path)).status == 200
        app.failure = None
