"""axe-core, which looks at a page as people with a screen reader or poor sight have to."""

from __future__ import annotations

from typing import Any

# Has no type information.
from axe_playwright_python.async_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.async_api import Page

SERIOUS = ("serious", "critical")


async def serious_findings(page: Page) -> list[str]:
    """Look at the page as it is; give the rules that are broken, each with the element that breaks it."""
    axe: Any = Axe()
    found = await axe.run(page)
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found.response["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]
