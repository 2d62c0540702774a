"""One browser for the tests of a module; each of their pages is that of somebody new."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.browser.chromium import browser_running


@pytest.fixture(scope="module", autouse=True)
async def browser(anyio_backend: str) -> AsyncGenerator[None]:
    """Have it from the first test to the last."""
    async with browser_running():
        yield
