"""Readings in the page: files that are dropped, gates as they fall, memory with its evidence, a cancel (R1)."""

from __future__ import annotations

import io
import re
import zipfile
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.adapters.documents.made_pdfs import page as pdf_page
from tests.adapters.documents.made_pdfs import pdf_of
from tests.browser.chromium import page_of
from tests.readings.reading_house import ReadingHouse
from tests.web.served_readings import Pausing, a_house, served_readings, text_of
from tests.web.serving import Served

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.rules("R1")]

QUESTION = "Where is the key?"
TEXT = text_of("nothing", "KEY", "KEY", "nothing")

# Files come over the page, or are let go there; tells whether the page took them.
DRAG = """([types, name, content]) => {
  const transfer = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  transfer.items.add(new File([bytes], name));
  const events = types.map((type) => new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  for (const event of events) document.body.dispatchEvent(event);
  return events.at(-1).defaultPrevented;
}"""


@asynccontextmanager
async def readings_page(house: ReadingHouse) -> AsyncGenerator[tuple[Page, Served]]:
    """The view of the readings over a scripted model."""
    async with served_readings(house) as service, page_of(str(service.http.base_url)) as page:
        await page.goto("/#/readings")
        await page.get_by_label("Question", exact=True).fill(QUESTION)
        yield page, service


async def drop(page: Page, name: str, content: bytes) -> None:
    """Drop a file on the page."""
    file = [name, b64encode(content).decode()]
    assert await page.evaluate(DRAG, [["dragenter", "dragover"], *file])
    await expect(page.get_by_text("Drop to read it")).to_be_visible()
    # A page that did not take it would be left for the file.
    assert await page.evaluate(DRAG, [["drop"], *file])
    await expect(page.get_by_text("Drop to read it")).to_have_count(0)
    await expect(page.locator(".chosen li").last).to_contain_text(name)


async def begin(page: Page) -> None:
    """Set options that suit the scripted model, and begin."""
    await page.locator("summary", has_text="Options").click()
    await page.get_by_label("Memory budget, in tokens").fill("64")
    await page.get_by_label("Tokens in a chunk").fill("128")
    await page.get_by_role("button", name="Begin reading").click()


def zip_of(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, "text")
    return out.getvalue()


async def test_files_that_are_dropped_and_chosen_are_read_each_by_itself_and_then_together() -> None:
    async with readings_page(a_house()) as (page, service):
        await drop(page, "dropped.txt", TEXT.encode())
        chosen: FilePayload = {"name": "chosen.txt", "mimeType": "text/plain", "buffer": text_of("nothing").encode()}
        await page.get_by_label("Files to read").set_input_files(chosen)
        await expect(page.locator(".chosen li")).to_have_count(2)
        await begin(page)

        await expect(page.get_by_role("toolbar")).to_have_count(3)
        for number, name in enumerate(("1. dropped.txt", "2. chosen.txt", "All documents together")):
            await expect(page.locator(".pass-name").nth(number)).to_contain_text(name)
        await expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()
        (made,) = (await service.http.get("/readings")).json()["items"]

    assert [document["name"] for document in made["documents"]] == ["dropped.txt", "chosen.txt"]


async def test_what_cannot_be_read_is_told_at_its_file_and_nothing_that_was_typed_is_lost() -> None:
    async with readings_page(a_house()) as (page, service):
        await drop(page, "packed.zip", zip_of("a.txt"))
        await drop(page, "good.txt", TEXT.encode())
        await begin(page)
        files = page.locator(".chosen li")
        await expect(files.nth(0)).to_contain_text('"packed.zip" is a ZIP archive; unpack it')
        await expect(files.nth(1).locator(".fault")).to_have_count(0)

        await page.get_by_role("button", name="Remove document 1").click()
        await drop(page, "locked.pdf", pdf_of([pdf_page(b"Some text")], locked=True))
        await page.get_by_role("button", name="Begin reading").click()
        await expect(files.nth(1)).to_contain_text("is an encrypted PDF; send it without its password")
        await expect(page.get_by_label("Question", exact=True)).to_have_value(QUESTION)
        assert (await service.http.get("/readings")).json()["items"] == []

        await page.get_by_role("button", name="Remove document 2").click()
        await page.get_by_role("button", name="Begin reading").click()
        await expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()


async def test_cells_colour_as_their_gates_fall_and_the_memory_shows_what_it_came_from() -> None:
    house = a_house()
    pausing = Pausing(house)
    pausing.stop_at(3)
    async with readings_page(house) as (page, _):
        await drop(page, "book.txt", TEXT.encode())
        await begin(page)
        cells = page.get_by_role("toolbar").get_by_role("button")
        await expect(cells.nth(0)).to_have_class(re.compile("kept"))
        await expect(cells.nth(1)).to_have_class(re.compile("used"))
        await expect(cells.nth(1)).to_have_accessible_name(re.compile("^chunk 2: used, update yes"))
        await expect(cells.nth(3)).to_have_class(re.compile("waiting"))
        await expect(page.get_by_label("The memory now")).to_have_text("KEY under 2;")
        await expect(page.get_by_text("2 of 4 read, 1 of use")).to_be_visible()
        colours = [
            await cell.evaluate("(cell) => getComputedStyle(cell).backgroundColor") for cell in await cells.all()
        ]
        assert len({colours[0], colours[1], colours[3]}) == 3

        # One cell is where Tab leads to; the arrows lead to the others.
        await cells.nth(0).focus()
        await page.keyboard.press("ArrowRight")
        await expect(cells.nth(1)).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Chunk 2")).to_be_visible()
        await page.keyboard.press("End")
        await expect(cells.nth(3)).to_be_focused()
        await page.keyboard.press("Home")
        await expect(cells.nth(0)).to_be_focused()

        pausing.go_on.set()
        await expect(page.get_by_label("Answer").locator(".said")).to_have_text("Answer: KEY under 2;KEY under 3;")
        await expect(page.get_by_label("The memory now")).to_have_text("KEY under 2;KEY under 3;")
        # What is new in it is marked, and its evidence is the chunk that it came from.
        memory = page.get_by_role("region", name="Memory")
        await expect(memory.locator("ins")).to_have_text("KEY under 3;")
        said = await memory.locator(".evidence").first.inner_text()
        found = re.search(r"book\.txt, bytes ([\d,]+) to ([\d,]+)", said)
        assert found is not None, said
        start, end = (int(number.replace(",", "")) for number in found.groups())
        assert "Part 3 KEY" in TEXT.encode()[start:end].decode()
        await page.get_by_text("Where it comes from").click()
        await expect(page.get_by_label("Answer").locator(".evidence")).to_have_count(2)


async def test_a_reading_is_cancelled_keeps_what_was_noted_and_can_be_asked_again() -> None:
    house = a_house()
    pausing = Pausing(house)
    pausing.stop_at(3)
    async with readings_page(house) as (page, _):
        await drop(page, "book.txt", TEXT.encode())
        await begin(page)
        await expect(page.get_by_label("The memory now")).to_have_text("KEY under 2;")
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.get_by_text("This reading was cancelled after 2 chunks")).to_be_visible()
        await expect(page.get_by_label("The memory now")).to_have_text("KEY under 2;")
        row = page.get_by_role("region", name="Readings").get_by_role("link", name=QUESTION)
        await expect(row).to_contain_text("cancelled")

        await page.get_by_role("button", name="Ask again").click()
        await expect(page.get_by_label("Question", exact=True)).to_have_value(QUESTION)
        await expect(page.get_by_label("Memory budget, in tokens")).to_have_value("64")
