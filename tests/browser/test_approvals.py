"""People decide in the page: the inbox, its count, and what changes when somebody else was faster (A1, A2, A6)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from service.core.json_types import JsonObject
from tests.browser.chromium import page_of
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

SEND: JsonObject = {"name": "send", "title": "Send a letter", "description": "Send", "parameters": {"type": "object"}}
ASKS = {**SEND, "needs_approval": True}
NOTHING_WAITS = re.compile(r"^[^(]")
LETTER = '{"to": "bob@example.org", "text": "See you at nine"}'


def writer() -> StrictLlama:
    return StrictLlama(ask_for(Call(name="send", arguments=LETTER)), say("It is done."))


async def waiting_turn(service: WholeService, **session: object) -> tuple[str, JsonObject]:
    """Run a turn up to its question; give its path and the call that waits."""
    turn = await service.start(await service.session(**session), "Write to Bob")
    async with service.served.http.stream("GET", f"{turn}/events") as response:
        async for line in response.aiter_lines():
            if line.startswith("event: approval_requested"):
                break
    return turn, (await service.served.http.get(turn)).json()["pending"][0]


async def test_a_call_is_seen_counted_and_approved(tmp_path: Path) -> None:
    llama, port = writer(), FakePort(ASKS)
    async with llama, port, service_over(tmp_path, llama, port) as service:
        turn, _ = await waiting_turn(service)
        async with page_of(str(service.served.http.base_url)) as page:
            await expect(page).to_have_title(re.compile(r"^\(1\) "))
            await page.get_by_role("link", name="Approvals").click()
            shown = page.locator("[data-pending-call]")
            for text in ("Send a letter", "bob@example.org", "See you at nine"):
                assert text in await shown.inner_text()
            await page.get_by_role("button", name="Approve “Send a letter”").click()
            await expect(page).to_have_title(NOTHING_WAITS)
        ended = await service.finish(turn)

    assert (ended["outcome"], [call.arguments for call in port.calls]) == ("answered", [json.loads(LETTER)])


async def test_a_denial_carries_its_reason(tmp_path: Path) -> None:
    llama, port = writer(), FakePort(ASKS)
    async with llama, port, service_over(tmp_path, llama, port) as service:
        turn, _ = await waiting_turn(service)
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto("/#/approvals")
            await page.get_by_role("button", name="Deny … “Send a letter”").click()
            await page.get_by_label("Why not?").fill("Not to Bob")
            await page.get_by_role("button", name="Deny call").click()
            await expect(page).to_have_title(NOTHING_WAITS)
        await service.finish(turn)
        (decided,) = await service.records(turn.rpartition("/turns/")[0], "approval_decided")

    assert (decided["approved"], decided["reason"], port.calls) == (False, "Not to Bob", [])


async def test_changed_arguments_are_what_runs(tmp_path: Path) -> None:
    llama, port = writer(), FakePort(ASKS)
    async with llama, port, service_over(tmp_path, llama, port) as service:
        turn, _ = await waiting_turn(service)
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto("/#/approvals")
            await page.get_by_role("button", name="Edit arguments").click()
            field = page.get_by_label("Arguments, as JSON")
            await field.fill("{")
            assert await page.get_by_role("button", name="Approve with these").is_disabled()
            await field.fill(LETTER.replace("nine", "ten"))
            await page.get_by_role("button", name="Approve with these").click()
            await expect(page).to_have_title(NOTHING_WAITS)
        await service.finish(turn)

    assert [call.arguments["text"] for call in port.calls] == ["See you at ten"]


async def test_a_call_that_was_decided_elsewhere_says_so_and_can_be_put_away(tmp_path: Path) -> None:
    llama, port = writer(), FakePort(ASKS)
    async with llama, port, service_over(tmp_path, llama, port) as service:
        turn, call = await waiting_turn(service)
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto("/#/approvals")
            await page.get_by_role("button", name="Approve “Send a letter”").wait_for()
            decision = {"call": call["call"], "approved": False, "digest": call["digest"], "reason": "I was faster"}
            await service.served.http.post(f"{turn}/decisions", json={"decisions": [decision]})
            await page.get_by_text("I was faster").wait_for()
            assert await page.get_by_role("button", name="Approve “Send a letter”").count() == 0
            await page.get_by_role("button", name="Put away").click()
            await page.get_by_text("I was faster").wait_for(state="detached")


async def test_a_call_can_be_approved_where_it_stands_in_its_session(tmp_path: Path) -> None:
    llama, port = writer(), FakePort(ASKS)
    async with llama, port, service_over(tmp_path, llama, port) as service:
        turn, _ = await waiting_turn(service)
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto(f"/#{turn.rpartition('/turns/')[0]}")
            await page.get_by_role("button", name="Approve “Send a letter”").click()
            await page.get_by_text("It is done.").wait_for()
            assert await page.get_by_text("Approved by").count() == 1
