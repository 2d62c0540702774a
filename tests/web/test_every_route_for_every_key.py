"""Every route of the description, for everyone who may ask: without a key, with a wrong one, with each scope, with
somebody else's key (K3). A route that is new has no row here and fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from service.core.callers import Scope
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import JSON, WholeService, service_over
from tests.fakes.tool_port import spec
from tests.web.fake_keys import FakeKeys
from tests.web.serving import BOUND_S, Frame, frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text())

T, A, M = Scope.TURNS, Scope.APPROVE, Scope.ADMIN
EVERYBODY: frozenset[Scope] = frozenset()
"""No key is asked for."""

# Written by hand and not read from the service: what the document says of scopes is held against it.
LET_IN: Mapping[tuple[str, str], AbstractSet[Scope]] = {
    ("get", "/"): EVERYBODY,
    ("get", "/livez"): EVERYBODY,
    ("get", "/readyz"): EVERYBODY,
    ("get", "/metrics"): {M},
    ("get", "/tools"): {T, A, M},
    ("get", "/agents"): {T, A, M},
    ("get", "/slots"): {T, A, M},
    ("post", "/sessions"): {T},
    ("get", "/sessions"): {T, A},
    ("get", "/sessions/{session}"): {T, A},
    ("patch", "/sessions/{session}"): {T},
    ("delete", "/sessions/{session}"): {T},
    ("get", "/sessions/{session}/messages"): {T, A},
    ("post", "/sessions/{session}/turns"): {T},
    ("get", "/sessions/{session}/turns"): {T, A},
    ("get", "/sessions/{session}/turns/{turn}"): {T, A},
    ("post", "/sessions/{session}/turns/{turn}/cancel"): {T},
    ("post", "/sessions/{session}/turns/{turn}/decisions"): {A},
    ("post", "/sessions/{session}/compact"): {T},
    ("get", "/sessions/{session}/turns/{turn}/events"): {T, A},
    ("get", "/sessions/{session}/events"): {T, A},
    ("get", "/events"): {T, A},
    ("get", "/sessions/{session}/records"): {T, A},
    ("get", "/sessions/{session}/records/{seq}/full"): {T, A},
    ("get", "/approvals"): {T, A},
    ("post", "/readings"): {T},
    ("get", "/readings"): {T, A},
    ("get", "/readings/{reading}"): {T, A},
    ("get", "/readings/{reading}/events"): {T, A},
    ("post", "/readings/{reading}/cancel"): {T},
}

OF_SOMEBODY = ("{session}", "{turn}", "{reading}")


def operations() -> Iterator[tuple[str, str]]:
    """Give the method and the path of each operation, as the description has them."""
    for path, methods in DOCUMENT["paths"].items():
        yield from ((method, path) for method in methods)


EVERY = pytest.mark.parametrize(("method", "path"), list(operations()), ids=[" ".join(each) for each in operations()])


def body_of(method: str, path: str, digest: str = "0" * 64) -> JsonObject | None:
    """Give a body that fits the operation."""
    if path.endswith("/turns") and method == "post":
        return {"content": "Hello"}
    if path.endswith("/decisions"):
        return {"decisions": [{"call": 1, "approved": True, "digest": digest}]}
    if path == "/readings" and method == "post":
        return {"query": "What?", "documents": [{"name": "a.txt", "text": "All is well."}]}
    return {} if method in ("post", "patch") else None


@dataclass(frozen=True)
class Ground:
    """A service with keys, and what belongs to Ada in it."""

    service: WholeService
    keys: FakeKeys
    ada: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], ids: Mapping[str, str]
    ) -> tuple[httpx.Response, bytes]:
        """Ask, and give the answer with what of its body comes at once: a stream is not waited for."""
        address = path.format(**{"session": "ses_0", "turn": "trn_0", "reading": "rdg_0", "seq": "2", **ids})
        body = body_of(method, path)
        http = self.service.served.http
        async with http.stream(method.upper(), address, json=body, headers={**headers}) as answer:
            if answer.headers["content-type"].startswith("text/event-stream"):
                return answer, await anext(answer.aiter_bytes())
            return answer, await answer.aread()


@asynccontextmanager
async def ground(folder: Path) -> AsyncGenerator[Ground]:
    """Serve with keys; Ada has a session with a turn that waits for a person, and a reading."""
    keys = FakeKeys()
    ada = keys.add("ada")
    async with (
        StrictLlama(ask_for(Call(name="send")), say("Sent.")) as llama,
        FakePort(spec("send", needs_approval=True)) as port,
        service_over(folder, llama, port, keys=keys) as service,
    ):
        http = service.served.http
        session = (await http.post("/sessions", headers=ada)).json()["id"]
        body = {"content": "Send it"}
        turn = await http.post(f"/sessions/{session}/turns", json=body, headers={**ada, "Accept": "application/json"})
        assert turn.json()["state"] == "awaiting_approval"
        asked = body_of("post", "/readings")
        reading = await http.post("/readings", json=asked, headers={**ada, "Prefer": "respond-async"})
        assert reading.status_code == 202
        ids = {"session": session, "turn": turn.json()["id"], "reading": reading.json()["id"]}
        yield Ground(service, keys, ada, ids)


def test_each_route_has_a_row_and_each_row_a_route() -> None:
    assert set(LET_IN) == set(operations())


@EVERY
def test_the_description_says_what_a_key_needs(method: str, path: str) -> None:
    operation, let_in = DOCUMENT["paths"][path][method], LET_IN[method, path]

    if let_in == EVERYBODY:
        assert operation["security"] == []
        assert "x-scopes" not in operation
    else:
        assert operation["security"] == [{}, {"bearer": []}, {"apiKey": []}]
        assert operation["x-scopes"] == sorted(let_in)


async def test_nobody_is_let_in_without_a_key_or_with_a_wrong_one(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        for method, path in operations():
            bare, _ = await there.ask(method, path, {}, there.ids)
            wrong, said = await there.ask(method, path, {"X-API-Key": "key-of-nobody"}, there.ids)

            assert (bare.status_code == 401) is (LET_IN[method, path] != EVERYBODY), (method, path)
            # Whoever sends a key is told that it is wrong, also where none is asked for.
            assert (wrong.status_code, json.loads(said)["code"]) == (401, "unauthorized"), (method, path)
            assert wrong.headers["www-authenticate"] == 'Bearer error="invalid_token"'
            if bare.status_code == 401:
                assert bare.headers["www-authenticate"] == "Bearer"
        for nowhere in ("/nothing", "/sessions/ses_0/nothing", "/openapi.json"):
            assert (await there.service.served.http.get(nowhere)).status_code == 401
        # The page must come without a key: it asks for one.
        page = await there.service.served.http.get("/", headers={"Accept": "text/html"})
        script = await there.service.served.http.get("/dashboard/app.js")
        assert (page.status_code, script.status_code) == (200, 200)


@pytest.mark.parametrize("scope", list(Scope))
async def test_a_key_with_one_scope_is_let_in_where_that_is_enough_and_nowhere_else(
    tmp_path: Path, scope: Scope
) -> None:
    async with ground(tmp_path) as there:
        key = there.keys.add("one", scope, owner="ada")
        for method, path in operations():
            # What would end or change something is asked of what doesn't exist.
            ids = there.ids if method == "get" else {}
            answer, said = await there.ask(method, path, key, ids)

            let_in = LET_IN[method, path]
            if let_in == EVERYBODY or scope in let_in:
                assert answer.status_code not in (401, 403), (method, path, said)
            else:
                assert (answer.status_code, json.loads(said)["code"]) == (403, "forbidden"), (method, path)
                assert f"this one has {scope}" in json.loads(said)["detail"]
                assert json.loads(said)["scopes"] == sorted(let_in)


def _told(answer: httpx.Response, said: bytes) -> str:
    """Give what an answer tells but for the ids that were in the question."""
    if answer.headers["content-type"] != "application/problem+json":
        return said.decode()
    problem = json.loads(said)
    return json.dumps({name: problem[name] for name in problem.keys() - {"instance", "detail"}})


async def test_with_all_scopes_nobody_finds_what_is_somebody_else_s(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        stranger = there.keys.add("bob")
        before = await there.service.served.http.get(f"/sessions/{there.ids['session']}/records", headers=there.ada)
        for method, path in operations():
            answer, said = await there.ask(method, path, stranger, there.ids)

            if any(name in path for name in OF_SOMEBODY):
                assert (answer.status_code, json.loads(said)["code"]) == (404, "not_found"), (method, path)
            assert not any(id in _told(answer, said) for id in there.ids.values()), (method, path)
        after = await there.service.served.http.get(f"/sessions/{there.ids['session']}/records", headers=there.ada)
        assert after.content == before.content


async def test_lists_and_counts_hold_only_what_is_one_s_own(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        stranger = there.keys.add("bob")
        friend = there.keys.add("boss", A, owner="ada")
        http = there.service.served.http
        for path in ("/sessions", "/approvals", "/readings"):
            assert (await http.get(path, headers=stranger)).json()["items"] == []
            mine = (await http.get(path, headers=there.ada)).json()["items"]
            assert len(mine) == 1
            # Another key of the same owner sees the same.
            assert (await http.get(path, headers=friend)).json()["items"] == mine
        assert (await http.get("/approvals", headers=stranger)).json()["count"] == 0


async def test_the_stream_of_all_sessions_tells_of_one_s_own_alone(tmp_path: Path) -> None:
    keys = FakeKeys()
    ada, bob = keys.add("ada"), keys.add("bob")
    async with StrictLlama(say("All is well.")) as llama, service_over(tmp_path, llama, keys=keys) as service:
        http = service.served.http
        async with asyncio.timeout(BOUND_S), http.stream("GET", "/events", headers=bob) as answer:
            frames = frames_of(answer)
            await anext(frames)
            for key in (ada, bob):
                session = (await http.post("/sessions", headers=key)).headers["location"]
                await http.post(f"{session}/turns", json={"content": "Hello"}, headers={**key, **JSON})
            # Both turns have ended, Ada's first: what is told of hers would have come before the end of Bob's.
            told = [frame async for frame in until(frames, "turn_finished")]

    assert {frame.data["session"] for frame in told} == {session.removeprefix("/sessions/")}
    assert "assistant" in [frame.field("event") for frame in told]


async def until(frames: AsyncGenerator[Frame], last: str) -> AsyncGenerator[Frame]:
    """Give frames up to the first of this kind."""
    async for frame in frames:
        yield frame
        if frame.field("event") == last:
            return


async def test_who_runs_in_the_model_server_is_told_to_the_owner_alone(tmp_path: Path) -> None:
    keys, hold = FakeKeys(), asyncio.Event()
    ada, bob = keys.add("ada"), keys.add("bob", M, owner="bob")
    async with StrictLlama(say("Wait", hold=hold)) as llama, service_over(tmp_path, llama, keys=keys) as service:
        http = service.served.http
        session = (await http.post("/sessions", headers=ada)).headers["location"]
        async with http.stream("POST", f"{session}/turns", json={"content": "Hello"}, headers=ada) as answer:
            async with asyncio.timeout(BOUND_S):
                _ = [frame async for frame in until(frames_of(answer), "progress")]
            mine = (await http.get("/slots", headers=ada)).json()["running"]
            theirs = (await http.get("/slots", headers=bob)).json()["running"]
            hold.set()

    assert [holder["session"] for holder in mine] == [session.removeprefix("/sessions/")]
    # That there is somebody is told, as it explains why one waits.
    assert theirs == [dict.fromkeys(mine[0])]


async def test_a_session_of_somebody_else_can_t_be_forked(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        stranger = there.keys.add("bob")
        fork = {"fork": {"session": there.ids["session"], "before": there.ids["turn"]}}

        answer = await there.service.served.http.post("/sessions", json=fork, headers=stranger)

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_two_owners_may_use_the_same_idempotency_key(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        stranger = there.keys.add("bob")
        http, key = there.service.served.http, {"Idempotency-Key": "again"}

        first = await http.post("/sessions", headers={**there.ada, **key})
        other = await http.post("/sessions", headers={**stranger, **key}, json={"title": "Bob's"})
        again = await http.post("/sessions", headers={**there.ada, **key})

        assert (first.status_code, other.status_code) == (201, 201)
        assert first.json()["id"] == again.json()["id"] != other.json()["id"]
        assert other.json()["owner"] == "bob"


async def test_a_decision_names_the_key_that_made_it(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        boss = there.keys.add("boss", A, owner="ada")
        http = there.service.served.http
        (pending,) = (await http.get("/approvals", headers=boss)).json()["items"]
        decisions = {"decisions": [{"call": pending["call"], "approved": True, "digest": pending["digest"]}]}

        path = f"/sessions/{there.ids['session']}/turns/{there.ids['turn']}/decisions"
        decided = await http.post(path, json=decisions, headers={**boss, "Accept": "application/json"})

        assert decided.status_code == 200, decided.text
        records = (await http.get(f"/sessions/{there.ids['session']}/records", headers=boss)).json()["items"]
        (record,) = [record for record in records if record["type"] == "approval_decided"]
        assert record["by"] == "boss"


async def test_why_something_is_not_ready_is_told_to_those_who_run_the_service(tmp_path: Path) -> None:
    async with ground(tmp_path) as there:
        http = there.service.served.http
        admin = there.keys.add("root", M)
        told: dict[str, dict[str, str]] = {}
        for name, key in (("nobody", {}), ("admin", admin)):
            checks = (await http.get("/readyz", headers=key)).json()["checks"]
            told[name] = {check["name"]: check["message"] for check in checks}

        assert set(told["nobody"].values()) == {"answers"}
        assert "1 tools" in told["admin"]["tool_port"]
