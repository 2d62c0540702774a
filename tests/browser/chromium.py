"""A page of the dashboard in a real browser, which reports each fault that the browser reports."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import pytest
from playwright.async_api import Browser, ConsoleMessage, Error, Page, async_playwright, expect

PROGRAM = os.environ.get("TURNKEEPER_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
# Set where the tests must not pass without having looked.
NEEDED = os.environ.get("TURNKEEPER_TEST_NEEDS_BROWSER") == "1"
ABSENT = "no chromium: install Debian's package, or name the program in TURNKEEPER_TEST_CHROMIUM"

# What the page waits for at most, in milliseconds: a model on two cores that others use as well takes its time.
PATIENCE_MS = 60_000

WIDE = (1280, 800)
NARROW = (390, 844)

Theme = Literal["light", "dark"]


@dataclass
class Faults:
    """What the browser complained about: errors of scripts, and what the policy of the page forbade."""

    seen: list[str] = field(default_factory=list)

    def note(self, message: ConsoleMessage) -> None:
        # A service that is away or that refuses is no fault of the page.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.seen.append(message.text)

    def note_error(self, error: Error) -> None:
        self.seen.append(f"{error.name}: {error.message}\n{error.stack}")


_running: list[Browser] = []


@asynccontextmanager
async def browser_running() -> AsyncGenerator[Browser]:
    """Have one browser for all pages that are opened meanwhile: its start takes longer than most looks at a page."""
    if PROGRAM is None:
        (pytest.fail if NEEDED else pytest.skip)(ABSENT)
    async with async_playwright() as playwright:
        # Its sandbox wants rights that a container and root don't give; it opens our own pages alone.
        browser = await playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        _running.append(browser)
        try:
            yield browser
        finally:
            _running.remove(browser)
            await browser.close()


@asynccontextmanager
async def page_of(
    address: str, *, size: tuple[int, int] = WIDE, theme: Theme = "light", any_certificate: bool = False
) -> AsyncGenerator[Page]:
    """Open the dashboard at an address, as somebody new; the browser must have nothing to complain about."""
    faults = Faults()
    async with AsyncExitStack() as stack:
        browser = _running[-1] if _running else await stack.enter_async_context(browser_running())
        width, height = size
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            base_url=address,
            ignore_https_errors=any_certificate,
        )
        stack.push_async_callback(context.close)
        context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page = await context.new_page()
        page.on("console", faults.note)
        page.on("pageerror", faults.note_error)
        await page.goto("/")
        yield page
    assert faults.seen == [], "\n".join(faults.seen)
