"""Where the service wants a key, the page asks for it, and sends it in a header alone (K3, K5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, Request, expect

from service.core.callers import Scope
from tests.browser.chromium import page_of
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over
from tests.fakes.tool_port import spec
from tests.web.fake_keys import FakeKeys

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.rules("K3")]


def requests_of(page: Page) -> list[Request]:
    """Give what the page asks for from now on."""
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    return asked


async def log_in(page: Page, name: str) -> None:
    await page.get_by_label("API key").fill(f"key-of-{name}")
    await page.keyboard.press("Enter")
    await page.get_by_label("API key").wait_for(state="hidden")


async def test_the_page_asks_for_a_key_and_goes_on_with_the_right_one(tmp_path: Path) -> None:
    keys = FakeKeys()
    ada = keys.add("ada")
    async with StrictLlama(say("Hello")) as llama, service_over(tmp_path, llama, keys=keys) as service:
        service.served.http.headers.update(ada)
        session = await service.session(title="Behind the door")
        await service.turn(session)
        async with page_of(str(service.served.http.base_url)) as page:
            asked = requests_of(page)
            await page.get_by_label("API key").fill("key-of-nobody")
            await page.keyboard.press("Enter")
            await page.get_by_text("This key is not known").wait_for()
            await log_in(page, "ada")
            await page.get_by_role("link", name="Behind the door").click()
            await page.locator(".outcome").wait_for()

            # Kept for a reload, and forgotten when it is wanted.
            await page.reload()
            await page.locator(".outcome").wait_for()
            await page.get_by_role("button", name="Forget the key").click()
            await page.get_by_label("API key").wait_for()

            assert all("key-of-ada" not in request.url for request in asked)
            assert "key-of-ada" not in page.url
            assert await page.evaluate("[...Object.values(localStorage), document.cookie].join()") in ("", "system,")
            streams = [request for request in asked if "/events" in request.url]
            assert any(request.headers.get("authorization") == "Bearer key-of-ada" for request in streams)


async def test_a_key_that_is_revoked_while_the_page_is_open_is_asked_for_again(tmp_path: Path) -> None:
    keys = FakeKeys()
    keys.add("ada")
    async with (
        StrictLlama(say("Hello")) as llama,
        service_over(tmp_path, llama, keys=keys) as service,
        page_of(str(service.served.http.base_url)) as page,
    ):
        await log_in(page, "ada")
        await page.get_by_role("button", name="Forget the key").wait_for()
        keys.revoke("ada")
        await page.get_by_label("API key").wait_for()
        keys.add("ada")
        await log_in(page, "ada")


async def test_somebody_else_s_sessions_are_not_in_the_page(tmp_path: Path) -> None:
    keys = FakeKeys()
    ada = keys.add("ada")
    keys.add("bob")
    async with StrictLlama(say("Hello")) as llama, service_over(tmp_path, llama, keys=keys) as service:
        service.served.http.headers.update(ada)
        await service.session(title="Behind the door")
        async with page_of(str(service.served.http.base_url)) as page:
            await log_in(page, "bob")
            await page.get_by_role("button", name="Forget the key").wait_for()
            await expect(page.get_by_role("link", name="Behind the door")).to_have_count(0)


async def test_a_person_whose_key_only_decides_can_decide_in_the_page(tmp_path: Path) -> None:
    keys = FakeKeys()
    ada = keys.add("ada", Scope.TURNS)
    keys.add("boss", Scope.APPROVE, owner="ada")
    llama, port = StrictLlama(ask_for(Call(name="send")), say("Sent.")), FakePort(spec("send", needs_approval=True))
    async with llama, port, service_over(tmp_path, llama, port, keys=keys) as service:
        service.served.http.headers.update(ada)
        session = await service.session()
        turn = await service.start(session)
        async with page_of(f"{service.served.http.base_url}") as page:
            await log_in(page, "boss")
            await page.get_by_role("link", name="Approvals").click()
            await page.get_by_role("button", name="Approve").first.click()
            ended = await service.finish(turn)

    assert ended["outcome"] == "answered"
    assert len(port.calls) == 1
