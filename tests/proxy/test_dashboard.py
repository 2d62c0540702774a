"""The dashboard behind each proxy, in a browser: TLS, HTTP/2, and requests with an origin of the proxy's name (K1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import page_of
from tests.proxy.behind import TOKENS, Behind

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.rules("K1", "K3")]


@asynccontextmanager
async def page_behind(house: Behind) -> AsyncGenerator[Page]:
    """Open the dashboard through the proxy, with its key."""
    async with page_of(house.proxy.url, any_certificate=True) as page:
        await page.get_by_label("API key").fill(house.key["Authorization"].removeprefix("Bearer "))
        await page.keyboard.press("Enter")
        await page.get_by_label("API key").wait_for(state="hidden")
        yield page


async def test_a_person_talks_in_the_dashboard_through_the_proxy(house: Behind) -> None:
    asked = "From the dashboard."
    held = house.hold(asked)
    session = await house.session()
    async with page_behind(house) as page:
        await page.goto(f"/#{session}")
        await page.get_by_label("Message", exact=True).fill(asked)
        await page.keyboard.press("Enter")
        await expect(page.locator("article.turn")).to_contain_text(TOKENS[0].strip())
        held.open()
        await expect(page.locator("article.turn")).to_contain_text("".join(TOKENS))
        await page.locator(".outcome").wait_for()
