"""Text of models and tools does nothing in the page, whatever it holds (K5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.browser.chromium import page_of
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ATTACKS = """Before.

<script>window.hacked = 1</script>
<img src="x" onerror="window.hacked = 2">
<svg onload="window.hacked = 3"><a href="javascript:window.hacked = 4">drawn</a></svg>
<iframe srcdoc="<script>parent.hacked = 5</script>"></iframe>
<form action="https://elsewhere.example/"><button>send</button></form>
<style>body { display: none }</style>
<a href="javascript:window.hacked = 6" onclick="window.hacked = 7">html link</a>

[markdown link](javascript:window.hacked=8) [data link](data:text/html,<script>window.hacked=9</script>)
[good link](https://elsewhere.example/page) ![picture](https://elsewhere.example/picture.png?words)

| a | b |
|---|---|
| <b onmouseover="window.hacked=10">bold</b> | two |

Behind."""

LOOK = {"name": "look", "description": "Look", "parameters": {"type": "object"}}
FORBIDDEN = "script, img, svg, iframe, form, style, object, embed, input, [onerror], [onclick], [onload], [onmouseover]"


async def open_session(page: Page, session: str) -> None:
    """Go to a session by its address."""
    await page.goto(f"/#{session}")
    await page.get_by_text("Behind.").first.wait_for()


async def check_harmless(page: Page, service: WholeService) -> None:
    """Look at what came of the attacks, and press each link that is left."""
    assert await page.evaluate("window.hacked") is None
    shown = page.locator(".markdown")
    assert "<script>window.hacked = 1</script>" in await shown.first.inner_text()
    assert await shown.locator(FORBIDDEN).count() == 0
    links = [await link.get_attribute("href") for link in await shown.locator("a[href]").all()]
    assert links == ["https://elsewhere.example/page"]
    for link in await shown.locator("a").all():
        assert "noopener" in (await link.get_attribute("rel") or "")
        assert await link.get_attribute("target") == "_blank"
    assert page.url.startswith(str(service.served.http.base_url))


@pytest.mark.rules("K5")
async def test_markup_in_an_answer_is_shown_and_never_run_live_and_from_the_log(tmp_path: Path) -> None:
    async with StrictLlama(say(ATTACKS)) as llama, service_over(tmp_path, llama) as service:
        session = await service.session()
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto(f"/#{session}")
            await page.get_by_label("Message", exact=True).fill("Go on")
            await page.keyboard.press("Enter")
            await page.get_by_text("Behind.").first.wait_for()
            await page.locator(".outcome").wait_for()
            await check_harmless(page, service)

            await page.reload()
            await page.locator(".outcome").wait_for()
            await check_harmless(page, service)


@pytest.mark.rules("K5")
async def test_markup_in_a_tools_result_in_a_message_and_in_a_title_is_text(tmp_path: Path) -> None:
    call = Call(name="look", arguments='{"where": "<img src=x onerror=hacked=1>"}')
    llama = StrictLlama(ask_for(call), say("Behind."))
    port = FakePort(LOOK, answers={"look": lambda _: ATTACKS})
    async with llama, port, service_over(tmp_path, llama, port) as service:
        session = await service.session(title="<img src=x onerror=hacked=2>")
        await service.turn(session, "<script>hacked = 3</script>")
        async with page_of(str(service.served.http.base_url)) as page:
            await open_session(page, session)
            assert await page.evaluate("window.hacked") is None
            assert await page.locator("main img, main script").count() == 0
            assert await page.get_by_text("<script>hacked = 3</script>").count() == 1
            assert await page.get_by_text("<img src=x onerror=hacked=1>").count() == 1
            await page.goto(f"/#{session}/log")
            await page.get_by_role("cell", name="turn_finished", exact=True).wait_for()
            assert await page.locator("main img, main script").count() == 0


@pytest.mark.rules("K5", "A2")
async def test_characters_that_nobody_would_see_are_visible_where_a_person_decides(tmp_path: Path) -> None:
    hidden = '{"to": "bob\\u202egro.elpmaxe\\u202c", "text": "hi\\u200b\\u0007"}'
    llama = StrictLlama(ask_for(Call(name="send", arguments=hidden)), say("Done."))
    port = FakePort({"name": "send", "description": "Send", "parameters": {"type": "object"}, "needs_approval": True})
    async with llama, port, service_over(tmp_path, llama, port) as service:
        await service.start(await service.session(), "Write to Bob")
        async with page_of(f"{service.served.http.base_url}") as page:
            await page.goto("/#/approvals")
            await page.get_by_role("button", name="Approve").first.wait_for()
            shown = await page.locator("[data-pending-call]").inner_text()
            assert "\u202e" not in shown
            assert "202e" in shown.lower()


async def test_a_line_of_a_megabyte_holds_nothing_up(tmp_path: Path) -> None:
    llama = StrictLlama(ask_for(Call(name="look")), say("Behind."), context_tokens=1_000_000)
    line = "x" * 1_000_000
    port = FakePort(LOOK, answers={"look": lambda _: line})
    async with llama, port, service_over(tmp_path, llama, port, tool_result_cap=1_000_000) as service:
        session = await service.session()
        await service.turn(session, "y" * 900_000)
        async with page_of(str(service.served.http.base_url)) as page:
            await open_session(page, session)
            # What is not shown at once costs no layout: the page holds a part of each text until it is asked for.
            assert await page.evaluate("document.body.innerText.length") < 200_000
            await page.goto(f"/#{session}/log")
            await page.get_by_role("cell", name="turn_finished", exact=True).wait_for()
            assert await page.evaluate("document.body.innerText.length") < 200_000
