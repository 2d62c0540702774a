"""Take the pictures of the pages in docs/ anew: `python -m tests.browser.screenshots`.

The page and the service are the real ones; the model and the tools are played, so that the pictures stay the same.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Literal

import anyio
from playwright.async_api import Page, expect

from service.config.settings import Settings
from tests.browser.chromium import page_of
from tests.cases.fake_port import FakePort, PortCall
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.readings.reader_llama import AskedChunk, ReaderLlama
from tests.readings.reading_house import ReadingHouse, document, retain, update
from tests.web.served_readings import served_readings

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZE = (1280, 800)

WEATHER = {"Paris": "18 degrees, light rain from 15:00", "Berlin": "21 degrees, sunny"}
PACKED = """For **Paris** take an umbrella: rain from three o'clock on. In **Berlin** you won't need one.

| city | at noon | umbrella |
|---|---|---|
| Paris | 18 °C | yes |
| Berlin | 21 °C | no |

Shall I put both"""
THOUGHT = (
    "Two cities, so I look both up at once. The user wants to know about an umbrella, so the rain matters most. " * 6
)

FOUND = {
    2: "The key was last seen in the hall.",
    8: "The key hangs behind the clock in the hall.",
    20: "It was moved under the third stone by the well.",
    35: "It opens the cellar, and nothing else.",
}
CHUNKS = 42


class AfterDeltas(asyncio.Event):
    """Holds a stream behind so many of its deltas."""

    def __init__(self, deltas: int) -> None:
        super().__init__()
        self._deltas = deltas

    async def wait(self) -> Literal[True]:
        self._deltas -= 1
        return True if self._deltas >= 0 else await super().wait()


def weather(call: PortCall) -> str:
    return WEATHER[str(call.arguments["city"])]


def spec(name: str, description: str, **more: object) -> dict[str, object]:
    return {"name": name, "description": description, "parameters": {"type": "object"}, **more}


async def session_picture() -> None:
    """A turn in mid-answer, after a thought and two calls, beside other sessions."""
    # Two of progress, one with the role, and the text as one.
    held = AfterDeltas(3)
    llama = StrictLlama(say("It is done."), context_tokens=8192)
    llama.play(
        "I travel to Paris and Berlin tomorrow. Do I need an umbrella?",
        ask_for(
            Call(name="get_weather", arguments='{"city": "Paris"}', id="a"),
            Call(name="get_weather", arguments='{"city": "Berlin"}', id="b"),
            thought=THOUGHT,
        ),
        say([PACKED], hold=held),
    )
    llama.play("Delete last week's notes.", ask_for(Call(name="delete_notes", arguments='{"older_than": "7 days"}')))
    port = FakePort(
        spec("get_weather", "The weather"),
        spec("delete_notes", "Delete notes", title="Delete notes", needs_approval=True),
        answers={"get_weather": weather},
    )
    with tempfile.TemporaryDirectory() as folder:
        async with llama, port, service_over(Path(folder), llama, port) as service:
            await others(service)
            session = await service.session(title="An umbrella for the journey?")
            await service.start(session, "I travel to Paris and Berlin tomorrow. Do I need an umbrella?")
            async with page_of(str(service.served.http.base_url), size=SIZE) as page:
                await page.goto(f"/#{session}")
                await expect(page.get_by_text("Shall I put both")).to_be_visible()
                await expect(page.get_by_role("link", name="Spring cleaning")).to_be_visible()
                await taken(page, "session")
            held.set()


async def others(service: WholeService) -> None:
    """Sessions that the list shows beside."""
    for title in ("Notes of the meeting", "What is a permit?", "Translate the letter"):
        await service.turn(await service.session(title=title), "Do it.")
    await service.start(await service.session(title="Spring cleaning"), "Delete last week's notes.")


def notes(asked: AskedChunk) -> str:
    """Find what there is to be found; each memory holds what was noted before."""
    number = int(asked.section.split()[1])
    if number not in FOUND:
        return retain(exit=number == 38)
    return update("\n".join([*([asked.memory] if asked.memory else []), f"- {FOUND[number]}"]))


async def reading_picture() -> None:
    """A reading that has come to its end."""
    reader = ReaderLlama(
        notes,
        answers=lambda _: "The key lies **under the third stone by the well**; it opens the cellar.",
        sure=lambda _: 0.98,
    )
    house = ReadingHouse(reader)
    text = document(
        *(FOUND.get(number, "of the house rules") for number in range(1, CHUNKS + 1)), name="house-rules.md"
    )
    for query, says in (("Who painted the gate?", retain()), ("When is the well cleaned?", update("- In May."))):
        reader.reads = lambda _, says=says: says
        await house.read(document("x", "y", name="garden.txt"), query=query)
    reader.reads = notes
    reading = await house.begin(text, query="Where is the key to the cellar, and what does it open?", memory_budget=96)
    await house.finish(reading)
    async with (
        served_readings(house, settings=Settings.model_construct(None)) as served,
        page_of(str(served.http.base_url), size=SIZE) as page,
    ):
        await page.goto(f"/#/readings/{reading}")
        await expect(page.get_by_role("toolbar").get_by_role("button")).to_have_count(CHUNKS)
        await page.get_by_role("toolbar").get_by_role("button").nth(19).click()
        await taken(page, "reading")


async def taken(page: Page, name: str) -> None:
    """Write the picture, without the ring around what has the keyboard."""
    await page.evaluate("document.activeElement?.blur()")
    await page.screenshot(path=IMAGES / f"{name}.png")


async def main() -> None:
    """Take all of them."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    await session_picture()
    await reading_picture()


if __name__ == "__main__":
    anyio.run(main)
