"""The dashboard in a real browser, over the real service and a real llama-server."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import browser_running, page_of
from tests.live.client import Client
from tests.live.given_port import given_port, spec
from tests.live.killed_service import KilledService
from tests.live.processes import DEMO, service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

DELETE = {
    **spec("delete_file", "Delete a file.", {"id": {"type": "integer", "minimum": 1, "maximum": 99}}),
    "needs_approval": True,
}
STORY = "Tell me a long story."


@pytest.fixture(scope="module")
def watched_service(demo_llama: str, folder: Path) -> Generator[str]:
    # Without agents there is one tool alone, which the model then has to take.
    with (
        given_port([DELETE], lambda call: f"{call['approval']['by']} had it deleted") as tools,
        service(demo_llama, tools, folder) as address,
    ):
        yield address


@pytest.fixture(scope="module", autouse=True)
async def browser(anyio_backend: str) -> AsyncGenerator[None]:
    async with browser_running():
        yield


@pytest.fixture
async def page(watched_service: str) -> AsyncGenerator[Page]:
    async with page_of(watched_service) as opened:
        yield opened


async def say(page: Page, words: str) -> None:
    await page.get_by_label("Message", exact=True).fill(words)
    await page.keyboard.press("Enter")


async def new_session(page: Page) -> None:
    """Begin a session without tools."""
    await page.get_by_role("button", name="New session").click()
    await page.get_by_label("Which").select_option("none")
    await page.get_by_role("button", name="Begin").click()
    # It takes the focus once, when it is known that nothing was said yet; options that are open would close by that.
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()


@asynccontextmanager
async def telling(page: Page) -> AsyncGenerator[None]:
    """In a new session: a long story has begun to be told, and it ends after the body."""
    await new_session(page)
    await page.get_by_text("Options").click()
    await page.get_by_label("Longest answer, in tokens").fill("200")
    await say(page, STORY)
    await expect(page.locator(".answer")).to_contain_text(" ")
    await page.get_by_role("button", name="Stop").wait_for()
    yield
    await page.locator(".outcome").wait_for()


async def the_turn(page: Page, http: httpx.AsyncClient, address: str) -> dict[str, object]:
    """Ask the service for the turn that the page shows."""
    session = page.url.partition("#/sessions/")[2]
    return (await http.get(f"{address}/sessions/{session}/turns")).json()["items"][0]


async def test_a_message_is_answered_as_one_looks_on(page: Page, watched_service: str, http: httpx.AsyncClient) -> None:
    async with telling(page):
        pass

    turn = await the_turn(page, http, watched_service)
    assert turn["outcome"] == "answered"
    words = str(turn["content"]).split()
    # As Markdown it is laid out otherwise; its words are the same.
    shown = await page.locator(".answer").inner_text()
    assert shown.split()[:5] == words[:5]
    # The first words have become its title, in the list and above it.
    await expect(page.get_by_role("link", name=STORY).first).to_be_visible()


async def test_a_turn_is_stopped(page: Page, watched_service: str, http: httpx.AsyncClient) -> None:
    async with telling(page):
        await page.get_by_role("button", name="Stop").click()

    assert (await the_turn(page, http, watched_service))["outcome"] == "cancelled"
    await expect(page.locator(".outcome")).to_contain_text("cancelled")


@pytest.mark.rules("H6")
async def test_a_page_that_is_loaded_again_in_mid_turn_shows_all_of_it(
    page: Page, watched_service: str, http: httpx.AsyncClient
) -> None:
    async with telling(page):
        begun = (await page.locator(".answer").inner_text()).split()[0]
        await page.reload()
        await expect(page.locator(".answer")).to_contain_text(begun)

    turn = await the_turn(page, http, watched_service)
    assert turn["outcome"] == "answered"
    assert (await page.locator(".answer").inner_text()).split()[-1] in str(turn["content"])


@pytest.mark.rules("H6", "S4")
async def test_a_service_that_is_killed_in_mid_turn_and_comes_back_is_followed_without_a_reload(
    demo_llama: str, tool_port_url: str, folder: Path, http: httpx.AsyncClient
) -> None:
    agents = str(DEMO / "agents.toml")
    with KilledService(demo_llama, tool_port_url, folder, agents_file=agents) as killed:
        async with page_of(killed.address) as page:
            await page.evaluate("window.sameDocument = true")
            async with telling(page):
                killed.kill()
                await page.get_by_text("Reconnecting").first.wait_for()
                killed.start()
                await page.get_by_text("Reconnecting").first.wait_for(state="detached")
            turn = await the_turn(page, http, killed.address)
            shown = (await page.locator(".answer").inner_text()).split()

            assert await page.evaluate("window.sameDocument") is True
            assert turn["outcome"] == "answered"
            assert shown[-1] in str(turn["content"])
            # And it goes on.
            await say(page, "Say hello.")
            await expect(page.locator(".outcome")).to_have_count(2)


@pytest.mark.rules("A1", "A2")
async def test_a_call_of_the_model_is_approved_in_the_inbox(
    page: Page, watched_service: str, http: httpx.AsyncClient
) -> None:
    client = Client(watched_service, http)
    await page.get_by_role("link", name="Approvals").click()
    asked = {
        "content": "Delete file 7.",
        "tool_choice": "required",
        "limits": {"tool_iterations": 1, "max_tokens": 64, "thinking_tokens": 16},
        "on_tool_limit": "conclude",
    }
    frames = await client.turn_that_tells("approval_requested", {"tools": {"names": ["delete_file"]}}, asked)

    # The small model may ask for more than one at once.
    pending, session = frames[-1].data["calls"], frames[-1].data["session"]
    for call in pending:
        await page.get_by_role("button", name=f"Approve “Delete file”, call {call['call']}").click()
    await page.goto(f"/#/sessions/{session}")
    await page.locator(".outcome").wait_for()

    turn = (await http.get(f"{watched_service}/sessions/{session}/turns")).json()["items"][0]
    log = await client.records(session)
    calls = {call["call"] for call in pending}
    results = [record for record in log if record["type"] == "tool_result" and record["call"] in calls]
    assert turn["state"] == "finished"
    assert results
    assert all("local had it deleted" in result["content"] for result in results)
    await expect(page.get_by_text("Approved by").first).to_be_visible()


@pytest.mark.rules("R1", "R2")
async def test_a_text_is_read_and_each_gate_is_seen(page: Page) -> None:
    await page.get_by_role("link", name="Readings").click()
    await page.get_by_label("Question", exact=True).fill("What is the password of the lighthouse?")
    await page.get_by_role("button", name="Paste a text").click()
    text = "The captain painted the old harbour. " * 40 + "The password is marmalade seven. " + "A letter came. " * 60
    await page.get_by_label("Text of pasted text").fill(text)
    await page.locator("summary", has_text="Options").click()
    await page.get_by_label("Memory budget, in tokens").fill("64")
    await page.get_by_label("Tokens in a chunk").fill("300")
    await page.get_by_role("button", name="Begin reading").click()

    cells = page.get_by_role("toolbar").get_by_role("button")
    await expect(cells.first).to_be_visible()
    reading = page.url.rpartition("/")[2]
    # The end: what it came to is said in words.
    await page.get_by_text("of use").first.wait_for()
    await page.wait_for_function(
        "async (id) => ['finished'].includes((await (await fetch(`readings/${id}`)).json()).state)", arg=reading
    )
    records = await page.evaluate("async (id) => (await fetch(`readings/${id}`)).json()", reading)
    assert await cells.count() == records["documents"][0]["chunks"], json.dumps(records)
    await cells.first.click()
    await expect(page.get_by_role("heading", name="Chunk 1")).to_be_visible()
