"""What comes between: a service that goes and comes, a model server that is away, and turns in trouble, in words."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.adapters.cutting_proxy import cutting_proxy
from tests.browser.chromium import page_of
from tests.browser.held_reply import HeldPieces
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.http_fake import Exchange
from tests.cases.replies import Call, ask_for, say
from tests.cases.streaming import place_of
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

LONG = "word " * 200
LOADING = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}


class UnsteadyLlama(StrictLlama):
    """A model server that can be loading its model, and lose its cache."""

    loading = False

    async def _answer(self, exchange: Exchange) -> None:
        if self.loading:
            await exchange.answer(LOADING, 503)
        else:
            await super()._answer(exchange)

    def forget(self) -> None:
        """Lose what was kept of all conversations."""
        self._cache.clear()


@asynccontextmanager
async def page_at(address: str, session: str) -> AsyncGenerator[Page]:
    """The page of a session."""
    async with page_of(address) as page:
        await page.goto(f"/#{session}")
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        yield page


def page_on(service: WholeService, session: str) -> AbstractAsyncContextManager[Page]:
    """The page of a session of this service."""
    return page_at(str(service.served.http.base_url), session)


@pytest.mark.rules("H6")
async def test_a_service_that_comes_back_is_followed_without_a_reload_and_nothing_is_missed(tmp_path: Path) -> None:
    async with StrictLlama(say("Hello to you")) as llama, AsyncExitStack() as opened:
        async with service_over(tmp_path, llama) as service:
            session = await service.session(title="Followed")
            await service.turn(session, "Before")
            # It stays at its address, while the service behind it is now this one, now that one.
            proxy = await opened.enter_async_context(cutting_proxy(service.served.port))
            page = await opened.enter_async_context(page_at(proxy.url, session))
            await expect(page.locator(".outcome")).to_have_count(1)
            await page.evaluate("window.sameDocument = true")
            proxy.is_closed = True
            proxy.cut()
        told = page.get_by_text("Reconnecting …")
        await expect(told).to_be_visible()
        await expect(page.locator(".session-head")).to_contain_text("reconnecting")

        async with service_over(tmp_path, llama) as again:
            # What happens while the page can't see it.
            await again.turn(session, "Meanwhile")
            await again.session(title="Begun meanwhile")
            await expect(told).to_be_visible()
            proxy.target, proxy.is_closed = again.served.port, False
            await expect(page.get_by_text("Meanwhile", exact=True)).to_be_visible()
            await expect(page.get_by_role("link", name="Begun meanwhile")).to_be_visible()
            await expect(told).to_have_count(0)
            await expect(page.locator(".session-head")).not_to_contain_text("reconnecting")

            # It is live again: what happens now is seen as well, each thing once.
            await again.turn(session, "Afterwards")
            await expect(page.locator(".said .text")).to_have_text(["Before", "Meanwhile", "Afterwards"])
            await expect(page.locator(".outcome")).to_have_count(3)
            assert await page.evaluate("window.sameDocument") is True
            proxy.cut()


async def test_a_session_that_is_deleted_elsewhere_says_so(tmp_path: Path) -> None:
    async with StrictLlama(say("Hello")) as llama, service_over(tmp_path, llama) as service:
        session = await service.session(title="Not for long")
        await service.turn(session)
        async with page_on(service, session) as page:
            await expect(page.locator(".outcome")).to_be_visible()
            await service.served.http.delete(session)
            await expect(page.get_by_role("alert")).to_contain_text("This session was deleted")
            await page.get_by_role("link", name="Back to the sessions").click()
            await expect(page.get_by_role("link", name="Not for long")).to_have_count(0)


@pytest.mark.rules("L2", "L7")
async def test_a_turn_says_what_it_waits_for_and_one_behind_it_says_its_place(tmp_path: Path) -> None:
    async with UnsteadyLlama(say("Here I am")) as llama, service_over(tmp_path, llama) as service:
        session = await service.session()
        await service.turn(session, "Are you there?")
        async with page_on(service, session) as page:
            llama.loading = True
            await service.start(session, "And now?")
            await service.start(session, "And then?", on_busy="queue")
            await service.start(session, "And in the end?", on_busy="queue")
            turns = page.locator("article.turn")
            await expect(turns.nth(1)).to_contain_text(
                "The model server cannot be reached yet, or is loading its model. Waited for"
            )
            for turn, place in ((2, 1), (3, 2)):
                await expect(turns.nth(turn)).to_contain_text(
                    f"Runs when the turns before it have ended, place {place}."
                )
            await turns.nth(2).get_by_role("button", name="Take it out of the queue").click()
            await expect(turns.nth(2).locator(".outcome")).to_contain_text("cancelled")

            llama.loading = False
            await expect(page.locator(".outcome")).to_have_count(4)
            await expect(turns.nth(3).locator(".answer")).to_have_text("Here I am")


@pytest.mark.rules("L6", "L7", "P5")
async def test_a_broken_attempt_a_lost_cache_and_what_the_model_thought_are_explained(tmp_path: Path) -> None:
    held = HeldPieces()
    thought = say("It is there.", thought="I look into the drawer first.", hold=held)
    broken = say("It is nowhere at all.", reset=True)
    llama = UnsteadyLlama(
        say("It is nowhere at all.", reset=True, cut_at=place_of(broken, b"nowhere") + 80), thought, say("Still there.")
    )
    async with llama, service_over(tmp_path, llama) as service:
        session = await service.session(limits={"thinking_tokens": 300})
        async with page_on(service, session) as page:
            first = await service.start(session, LONG)
            # Told from the log, which stays; the line that counts the wait is gone as soon as the next attempt is read.
            await expect(page.get_by_text("Attempt 1 of this step did not work")).to_be_visible()
            held.open()
            await expect(page.locator(".outcome")).to_have_count(1)
            await expect(page.locator(".answer")).to_have_text("It is there.")

            # Thoughts are folded away, with their count.
            thoughts = page.locator("details.thought")
            await expect(thoughts.locator("summary")).to_have_text(re.compile(r"^Thought, (about )?\d+ of 300 tokens$"))
            await expect(page.get_by_text("I look into the drawer first.")).to_have_count(0)
            await thoughts.locator("summary").click()
            await expect(page.get_by_text("I look into the drawer first.")).to_be_visible()

            llama.forget()
            await service.turn(session, "And now?")
            await expect(page.get_by_text("tokens that should have been in the server's cache")).to_be_visible()
        assert (await service.finish(first))["outcome"] == "answered"


@pytest.mark.rules("T5")
async def test_a_limit_is_named_with_its_setting_and_the_log_is_saved_whole(tmp_path: Path) -> None:
    llama, port = StrictLlama(ask_for(Call(name="look"))), FakePort(open_spec("look"))
    async with llama, port, service_over(tmp_path, llama, port) as service:
        session = await service.session(limits={"tool_iterations": 1})
        async with page_on(service, session) as page:
            await service.turn(session, "Look", on_tool_limit="stop")
            outcome = page.locator(".outcome")
            await expect(outcome).to_contain_text("the greatest number of rounds of tool calls was reached")
            await expect(outcome.locator("code")).to_have_text("tool_iterations")

            await page.get_by_label("What can be done with this session").click()
            async with page.expect_download() as saving:
                await page.get_by_role("button", name="Export the log").click()
            saved = await saving.value
            assert saved.suggested_filename == f"{session.rpartition('/')[2]}.ndjson"
            lines = await asyncio.to_thread((await saved.path()).read_bytes)
        answer = await service.served.http.get(f"{session}/records", headers={"Accept": "application/x-ndjson"})

    assert lines == answer.content
