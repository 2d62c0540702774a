"""Each view in each form: usable by everybody, with the keyboard alone, on a phone's width (axe-core finds nothing)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from service.core.json_types import JsonObject
from tests.browser.axe import serious_findings
from tests.browser.chromium import NARROW, WIDE, Theme, page_of
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.lengths import some

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

SEND: JsonObject = {
    "name": "send",
    "description": "Send a letter",
    "parameters": {"type": "object"},
    "needs_approval": True,
}
FORMS: list[tuple[tuple[int, int], Theme]] = [
    (WIDE, "light"),
    (NARROW, "light"),
    (NARROW, "dark"),
    (WIDE, "dark"),
]
LOOK: JsonObject = {"name": "look", "description": "Look", "parameters": {"type": "object"}}
ANSWER = "# Found\n\n1. One [link](https://example.org)\n2. Two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```"


@asynccontextmanager
async def lived_in(folder: Path) -> AsyncGenerator[tuple[WholeService, str]]:
    """A service with a conversation of some length, whose path it gives, and a call that waits."""
    llama, port = StrictLlama(), FakePort(LOOK, SEND)
    llama.play("Look", ask_for(Call(name="look", arguments='{"at": "it"}'), thought="Let me see."), say(ANSWER))
    llama.play("Send", ask_for(Call(name="send", arguments='{"to": "bob@example.org"}'), text="I will write."))
    async with llama, port, service_over(folder, llama, port) as service:
        session = await service.session(title="What was found")
        await service.turn(session, "Look")
        await service.start(await service.session(title="A letter"), "Send")
        yield service, session


@pytest.mark.parametrize(("size", "theme"), some(FORMS, every=2))
async def test_axe_finds_nothing_serious_in_any_view(tmp_path: Path, size: tuple[int, int], theme: Theme) -> None:
    found: dict[str, list[str]] = {}
    async with (
        lived_in(tmp_path) as (service, session),
        page_of(str(service.served.http.base_url), size=size, theme=theme) as page,
    ):
        for place, sign in (
            ("/", "What was found"),
            (session, "code"),
            (f"{session}/log", "turn_finished"),
            ("/approvals", "bob@example.org"),
            ("/readings", "New reading"),
            ("/server", "Tokens per second"),
        ):
            await page.goto(f"/#{place}")
            await expect(page.get_by_role("main")).to_contain_text(sign)
            found[place] = await serious_findings(page)
            # Nothing is wider than the page.
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place

    assert found == {place: [] for place in found}


async def test_axe_finds_nothing_serious_in_dialogs_and_menus(tmp_path: Path) -> None:
    found: dict[str, list[str]] = {}
    async with (
        lived_in(tmp_path) as (service, session),
        page_of(str(service.served.http.base_url)) as page,
    ):
        await page.goto(f"/#{session}")
        await page.get_by_label("What can be done with this session").click()
        found["menu"] = await serious_findings(page)
        await page.get_by_role("button", name="Rename").click()
        found["rename"] = await serious_findings(page)
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="New session").click()
        await page.get_by_label("Which").select_option("some")
        await page.get_by_role("checkbox").first.wait_for()
        found["new"] = await serious_findings(page)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)

    assert found == {place: [] for place in found}


async def test_a_session_is_begun_and_talked_to_with_the_keyboard_alone(tmp_path: Path) -> None:
    async with StrictLlama(say("Hello to you")) as llama, service_over(tmp_path, llama) as service:
        async with page_of(str(service.served.http.base_url)) as page:
            await page.get_by_role("button", name="New session").focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("textbox", name="Title")).to_be_focused()
            await page.keyboard.type("By hand")
            await page.keyboard.press("Enter")
            await expect(page.get_by_label("Message", exact=True)).to_be_focused()
            await page.keyboard.type("Hello")
            await page.keyboard.press("Shift+Enter")
            await page.keyboard.type("there")
            await page.keyboard.press("Enter")
            await expect(page.locator(".answer")).to_have_text("Hello to you")
            await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        (made,) = (await service.served.http.get("/sessions")).json()["items"]
        (said,) = await service.records(f"/sessions/{made['id']}", "user")

    assert (made["title"], said["content"]) == ("By hand", "Hello\nthere")


async def test_on_a_narrow_page_one_sees_the_list_or_the_session_and_comes_back(tmp_path: Path) -> None:
    async with (
        lived_in(tmp_path) as (service, _),
        page_of(str(service.served.http.base_url), size=NARROW) as page,
    ):
        await page.get_by_role("link", name="What was found").click()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="New session")).to_be_hidden()
        await page.get_by_label("Back to the list").click()
        await expect(page.get_by_role("button", name="New session")).to_be_visible()


async def test_a_theme_that_was_chosen_is_kept(tmp_path: Path) -> None:
    async with (
        StrictLlama(say("Hello")) as llama,
        service_over(tmp_path, llama) as service,
        page_of(str(service.served.http.base_url), theme="light") as page,
    ):
        light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.get_by_label("Theme").select_option("dark")
        dark = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.reload()
        await expect(page.get_by_label("Theme")).to_have_value("dark")
        assert light != dark == await page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.cases(11)
async def test_sessions_of_other_clients_appear_and_go_and_are_found(tmp_path: Path) -> None:
    async with (
        StrictLlama(say("Hello")) as llama,
        service_over(tmp_path, llama) as service,
        page_of(str(service.served.http.base_url)) as page,
    ):
        await expect(page.get_by_role("main")).to_contain_text("There is no session yet")
        session = await service.session(title="From elsewhere")
        await service.session(title="Another")
        await service.turn(session)
        row = page.get_by_role("link", name="From elsewhere")
        await expect(row).to_contain_text("answered")
        await page.get_by_role("searchbox").fill("elsewh")
        await expect(page.get_by_role("link", name="Another")).to_have_count(0)
        await expect(row).to_be_visible()
        await service.served.http.delete(session)
        await expect(row).to_have_count(0)


@pytest.mark.rules("H10")
async def test_an_edited_message_goes_into_a_copy_and_the_original_stays(tmp_path: Path) -> None:
    async with StrictLlama(say("Hello")) as llama, service_over(tmp_path, llama) as service:
        session = await service.session(title="The original")
        await service.turn(session, "First")
        await service.turn(session, "Second")
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto(f"/#{session}")
            await page.get_by_role("button", name="Edit").last.click()
            field = page.get_by_role("dialog").get_by_role("textbox")
            await field.fill("Otherwise")
            await page.get_by_role("dialog").locator("button[type=submit]").click()
            await expect(page).not_to_have_url(re.compile(session))
            await expect(page.get_by_text("A copy of")).to_be_visible()
            await expect(page.locator(".outcome")).to_have_count(2)
        copy = page.url.partition("#")[2]
        said = {path: [record["content"] for record in await service.records(path, "user")] for path in (session, copy)}

    assert said == {session: ["First", "Second"], copy: ["First", "Otherwise"]}
