"""Ten thousand records: the page shows a part of them at a time, and what is new costs no more than in a short session.

What is bounded is counted, since a clock says as much of the machine as of the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import page_of
from tests.browser.held_reply import BEFORE_TEXT, HeldPieces
from tests.browser.long_session import repeat_turn
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

# A turn of one step has four records, and the session one of its own.
TURNS = 2500
RECORDS = 4 * TURNS + 1
SHOWN_AT_ONCE = 30
# Measured: 830 with 30 turns.
MOST_ELEMENTS = 1200
MOST_ROWS = 200

PLACE_OF_FIRST = "document.querySelector('.turn').getBoundingClientRect().top"
PLACE_OF = "(id) => document.getElementById(id).getBoundingClientRect().top"

# Takes down in which part of the page something changes, from now on.
WATCH = """(turn) => {
  const parts = { turn: `#${turn}`, head: ".session-head", row: ".list .item" };
  window.changed = {};
  new MutationObserver((mutations) => {
    for (const { target } of mutations) {
      const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
      const found = Object.entries(parts).find(([, selector]) => element?.closest(selector));
      const name = found ? found[0] : (element?.outerHTML.slice(0, 200) ?? "detached");
      window.changed[name] = (window.changed[name] ?? 0) + 1;
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
}"""


@pytest.fixture
async def long_session(tmp_path: Path) -> str:
    """Give the path of a session of so many turns, in the store of this test."""
    async with StrictLlama(say("An **answer** to it")) as llama, service_over(tmp_path, llama) as service:
        session = await service.session(title="Long")
        await service.turn(session, "A question")
    await repeat_turn(tmp_path, session, TURNS - 1)
    return session


async def check_bounded(page: Page, turns: int) -> None:
    """See that so many turns are shown, and no more is in the page than belongs to them."""
    await expect(page.locator("article.turn")).to_have_count(turns)
    assert await page.locator("*").count() < MOST_ELEMENTS * (turns // SHOWN_AT_ONCE)


async def test_a_session_of_ten_thousand_records_shows_its_newest_turns_and_more_when_asked(
    tmp_path: Path, long_session: str
) -> None:
    async with StrictLlama(say("Unused")) as llama, service_over(tmp_path, llama) as service:
        assert len(await service.records(long_session)) == RECORDS
        async with page_of(str(service.served.http.base_url)) as page:
            await page.goto(f"/#{long_session}")
            await check_bounded(page, SHOWN_AT_ONCE)
            earlier = page.get_by_role("button", name="Show 30 of 2,470 earlier turns")

            # What was read stays where it was when earlier turns come before it.
            await page.locator(".turns").evaluate("(turns) => { turns.scrollTop = 0; }")
            first = await page.locator(".turn").first.get_attribute("id")
            place = await page.evaluate(PLACE_OF_FIRST)
            await earlier.click()
            await check_bounded(page, 2 * SHOWN_AT_ONCE)
            assert await page.evaluate(PLACE_OF, first) == pytest.approx(place, abs=2)
            await expect(page.get_by_role("button", name="Show 30 of 2,440 earlier turns")).to_be_visible()


async def test_what_streams_in_a_long_session_touches_its_own_turn_alone(tmp_path: Path, long_session: str) -> None:
    held = HeldPieces()
    words = [f"word{number} " for number in range(60)]
    llama = StrictLlama(say(words, hold=held), context_tokens=2_000_000)
    async with llama, service_over(tmp_path, llama) as service, page_of(str(service.served.http.base_url)) as page:
        await page.goto(f"/#{long_session}")
        await check_bounded(page, SHOWN_AT_ONCE)
        turn = await service.start(long_session, "And now?")
        held.let(BEFORE_TEXT + 1)
        newest = page.locator(f"[id='turn-{turn.rpartition('/')[2]}']")
        await expect(newest).to_contain_text("word0")

        await page.evaluate(WATCH, await newest.get_attribute("id"))
        for count in range(1, 51):
            held.let(1)
            await expect(newest).to_contain_text(f"word{count}")
        changed = await page.evaluate("window.changed")
        held.open()
        await expect(newest.locator(".outcome")).to_be_visible()
        # It stays in sight, as somebody who reads the end wants it.
        await expect(newest.locator(".outcome")).to_be_in_viewport()

    assert set(changed) <= {"turn", "head", "row"}
    assert changed["turn"] > 0


async def test_the_log_of_a_long_session_is_shown_by_pages(tmp_path: Path, long_session: str) -> None:
    async with (
        StrictLlama(say("Unused")) as llama,
        service_over(tmp_path, llama) as service,
        page_of(str(service.served.http.base_url)) as page,
    ):
        await page.goto(f"/#{long_session}/log")
        rows = page.locator(".records tbody tr")
        # At first its end: the records behind the last whole page.
        await expect(page.get_by_text(re.compile("^Records 10,001 . 10,001 of 10,001$"))).to_be_visible()
        await page.get_by_role("button", name="Previous").click()
        await expect(rows).to_have_count(MOST_ROWS)

        await page.get_by_label("Record", exact=True).fill("5003")
        await page.get_by_role("button", name="Go there").click()
        await expect(page.get_by_role("button", name="Record 5003, assistant")).to_be_focused()
        await expect(page.get_by_role("button", name="Record 5003, assistant")).to_be_in_viewport()
        await expect(rows).to_have_count(MOST_ROWS)

        # What is filtered is looked for until a page is full: here in 1,000 records.
        await page.get_by_label("Type").select_option("usage")
        await expect(page.get_by_text("200 found in records")).to_be_visible()
        await expect(rows).to_have_count(MOST_ROWS)
