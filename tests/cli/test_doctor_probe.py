"""What `turnkeeper doctor --probe` measures: the cache in memory, and whether slots share one context."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from service.core.diagnosis.findings import Code
from service.core.json_types import JsonObject
from tests.cases.http_fake import Exchange
from tests.cli.examined_parts import HANGS, ToldLlama, codes, examine_with, said

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

OFF = {"error": {"code": 501, "message": "This server does not support it", "type": "not_supported_error"}}


class CachingLlama(ToldLlama):
    """Tells of each completion how many tokens were cached: `again` of one that was there before.

    `shares` empties a slot when another one works.
    """

    def __init__(
        self,
        again: int | None,
        *,
        busy: bool = False,
        refuses: bool = False,
        shares: bool | None = False,
        slots: int = 2,
    ) -> None:
        super().__init__(slots=slots)
        self.again = again
        self.busy = busy
        self.refuses = refuses
        self.shares = shares
        self.bodies: list[JsonObject] = []

    async def _answer(self, exchange: Exchange) -> None:
        match exchange.path:
            case "/slots":
                await exchange.answer([self._state(number) for number in range(self._slots)])
            case "/v1/chat/completions":
                await self._evaluate(exchange)
            case _:
                await super()._answer(exchange)

    def _state(self, number: int) -> JsonObject:
        state: JsonObject = {"id": number, "is_processing": self.busy}
        if number == 0 or any(body["id_slot"] == number for body in self.bodies):
            state["id_task"] = 7
            if self.shares is not None:
                works_last = bool(self.bodies) and self.bodies[-1]["id_slot"] != number
                state["n_prompt_tokens"] = 0 if self.shares and works_last else 100
        return state

    async def _evaluate(self, exchange: Exchange) -> None:
        body: JsonObject = json.loads(exchange.body)
        known = any(body["messages"] == earlier["messages"] for earlier in self.bodies)
        self.bodies.append(body)
        if self.refuses:
            await exchange.answer(OFF, 501)
            return
        cached = self.again if known else 20
        timings = {"cache_n": cached, "prompt_n": 100 - (cached or 0), "prompt_per_second": 50.0}
        await exchange.answer({"timings": timings})


@pytest.mark.parametrize(
    ("again", "code"),
    [(99, Code.LLAMA_RAM_CACHE_ON), (20, Code.LLAMA_RAM_CACHE_OFF), (None, Code.LLAMA_NOT_MEASURED)],
)
async def test_the_cache_in_memory_is_measured_by_three_prompts_in_one_slot(
    tmp_path: Path, again: int | None, code: Code
) -> None:
    async with CachingLlama(again) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, probe=True)

    first, second, third = llama.bodies[:3]
    assert code in codes(found)
    assert first == third != second
    # The slot that was never used holds nothing that a session would miss.
    assert {body["id_slot"] for body in llama.bodies[:3]} == {1}
    assert {body["max_tokens"] for body in llama.bodies} == {1}


@pytest.mark.parametrize(
    ("shares", "found_of_four"),
    [
        (True, {Code.LLAMA_SLOTS_SHARED}),
        (False, set[Code]()),
        (None, {Code.LLAMA_SLOTS_MAYBE_SHARED}),
    ],
)
async def test_a_prompt_in_another_slot_shows_whether_all_share_one_context(
    tmp_path: Path, shares: bool | None, found_of_four: set[Code]
) -> None:
    async with CachingLlama(99, shares=shares, slots=4) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, probe=True)

    assert [body["id_slot"] for body in llama.bodies] == [1, 1, 1, 2]
    assert codes(found) & {Code.LLAMA_SLOTS_SHARED, Code.LLAMA_SLOTS_MAYBE_SHARED} == found_of_four


async def test_without_the_cache_in_memory_a_slot_that_is_not_emptied_shows_nothing(tmp_path: Path) -> None:
    async with CachingLlama(20, slots=4) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, probe=True)

    assert len(llama.bodies) == 3
    assert Code.LLAMA_SLOTS_MAYBE_SHARED in codes(found)


async def test_nothing_is_generated_unless_it_is_asked_for(tmp_path: Path) -> None:
    async with CachingLlama(99) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url)

    assert llama.bodies == []
    assert codes(found).isdisjoint({Code.LLAMA_RAM_CACHE_ON, Code.LLAMA_RAM_CACHE_OFF, Code.LLAMA_NOT_MEASURED})


@pytest.mark.parametrize(("busy", "reason"), [(True, "no slot is free"), (False, "HTTP status 501")])
async def test_what_keeps_the_cache_from_being_measured_is_told(tmp_path: Path, busy: bool, reason: str) -> None:
    async with CachingLlama(99, busy=busy, refuses=not busy) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, probe=True)

    assert reason in said(Code.LLAMA_NOT_MEASURED, found)


async def test_a_prompt_that_is_not_evaluated_in_time_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.adapters.llama.cache_probe._WITHIN_S", 0.2)
    async with ToldLlama({"/v1/chat/completions": HANGS}) as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, probe=True)

    assert "no answer within 0.2 s" in said(Code.LLAMA_NOT_MEASURED, found)


async def test_a_connection_that_is_lost_in_between_is_told(tmp_path: Path) -> None:
    class Breaking(ToldLlama):
        async def _answer(self, exchange: Exchange) -> None:
            if exchange.path == "/v1/chat/completions":
                exchange.reset()
            else:
                await super()._answer(exchange)

    async with Breaking() as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, probe=True)

    assert "closed the connection" in said(Code.LLAMA_NOT_MEASURED, found)
