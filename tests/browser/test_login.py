"""Where the service wants a key, the page asks for it, and sends it in a header alone (K3, K5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, Request, Route

from tests.browser.chromium import page_of
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

KEY = "tk_the-right-one"
UNAUTHORIZED = '{"type":"about:blank","title":"Unauthorized","status":401,"code":"unauthorized","detail":"no key"}'
PAGE = ("/", "/dashboard/")


async def want_key(page: Page) -> list[Request]:
    """Refuse all requests of the API without the key, as a service with keys does; gives what was asked."""
    asked: list[Request] = []

    async def judge(route: Route) -> None:
        asked.append(route.request)
        if route.request.headers.get("authorization") == f"Bearer {KEY}":
            await route.continue_()
        else:
            await route.fulfill(status=401, content_type="application/problem+json", body=UNAUTHORIZED)

    def is_api(url: str) -> bool:
        path = "/" + url.split("/", 3)[3]
        return path != "/" and not path.startswith("/dashboard/")

    await page.route(lambda url: is_api(url), judge)
    return asked


async def test_the_page_asks_for_a_key_and_goes_on_with_the_right_one(tmp_path: Path) -> None:
    async with StrictLlama(say("Hello")) as llama, service_over(tmp_path, llama) as service:
        session = await service.session(title="Behind the door")
        await service.turn(session)
        async with page_of(str(service.served.http.base_url)) as page:
            asked = await want_key(page)
            await page.reload()
            await page.get_by_label("API key").fill("tk_wrong")
            await page.keyboard.press("Enter")
            await page.get_by_text("This key is not known").wait_for()
            await page.get_by_label("API key").fill(KEY)
            await page.keyboard.press("Enter")
            await page.get_by_role("link", name="Behind the door").click()
            await page.locator(".outcome").wait_for()

            # Kept for a reload, and forgotten when it is wanted.
            await page.reload()
            await page.locator(".outcome").wait_for()
            await page.get_by_role("button", name="Forget the key").click()
            await page.get_by_label("API key").wait_for()

            assert all(KEY not in request.url for request in asked)
            assert KEY not in page.url
            assert await page.evaluate("[...Object.values(localStorage), document.cookie].join()") in ("", "system,")
            streams = [request for request in asked if "/events" in request.url]
            assert any(request.headers.get("authorization") == f"Bearer {KEY}" for request in streams)
