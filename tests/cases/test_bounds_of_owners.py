"""K3: the settings of what an owner may have reach the whole service; who is over them gets 429, and later more."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from service.bootstrap import build
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import AT_ONCE, Start
from tests.web.serving import served_by, settings_with, within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]


def assert_refused(answer: httpx.Response, code: str, setting: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, code)
    assert f"({setting})" in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) >= 1


async def test_sessions_and_turns_are_bounded_by_the_settings_and_ends_make_room(start: Start) -> None:
    may_end = asyncio.Event()
    llama = StrictLlama(say("Here.", hold=may_end), say("Later."))
    service = await start(llama, sessions_per_owner=2, turns_per_owner=1)
    http = service.served.http
    session, other = await service.session(), await service.session()

    assert_refused(await http.post("/sessions", json={}), "rate_limited", "sessions_per_owner")
    turn = await service.start(session)
    await within_bound(llama.arrived)
    refused = await http.post(f"{other}/turns", json={"content": "Hi"}, headers=AT_ONCE)
    assert_refused(refused, "queue_full", "turns_per_owner")

    may_end.set()
    await service.finish(turn)
    assert (await service.turn(other))["content"] == "Later."
    assert (await http.delete(session)).status_code == 204
    await service.session()


def number_of_rows(store: Path) -> int:
    with closing(sqlite3.connect(store / "store.db")) as database:
        (number,) = database.execute("SELECT count(*) FROM sessions").fetchone()
    return number


async def test_of_sessions_that_are_asked_for_at_once_as_many_are_kept_as_are_allowed(
    start: Start, tmp_path: Path
) -> None:
    service = await start(StrictLlama(), sessions_per_owner=7)

    answers = await asyncio.gather(*(service.served.http.post("/sessions", json={}) for _ in range(30)))

    assert sorted(answer.status_code for answer in answers) == [201] * 7 + [429] * 23
    assert await asyncio.to_thread(number_of_rows, tmp_path) == 7


async def test_readings_are_bounded_by_the_settings() -> None:
    # Nothing listens there: a reading waits until its model server comes up.
    settings = settings_with(llama_url="http://127.0.0.1:9", database_url="memory:", readings_per_owner=1)
    body = {"query": "Where?", "documents": [{"name": "a.txt", "text": "It is here."}]}
    async with served_by(build, settings) as service:
        first = await service.http.post("/readings", json=body, headers=AT_ONCE)
        second = await service.http.post("/readings", json=body, headers=AT_ONCE)
        cancelled = await service.http.post(f"{first.headers['location']}/cancel")
        third = await service.http.post("/readings", json=body, headers=AT_ONCE)

    assert (first.status_code, cancelled.status_code, third.status_code) == (202, 202, 202)
    assert_refused(second, "queue_full", "readings_per_owner")
