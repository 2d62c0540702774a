"""The text of PDFs."""

import pytest

from service.adapters.documents.processes import DocumentProcesses
from service.ports.documents import UnreadableDocument
from tests.adapters.documents.made_pdfs import bomb, page, pdf_of
from tests.adapters.documents.uploads import text_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]
SMALL = pdf_of([page(b"Some text")])


async def test_pages_are_set_apart_by_blank_lines_and_words_broken_at_line_ends_are_whole() -> None:
    contents = [page(b"First page,", b"with a hyphen-", b"ated word."), b"", page(b"Third page.")]

    read = await text_of("a.pdf", pdf_of(contents))

    assert read.media_type == "application/pdf"
    assert read.text == "First page,\nwith a hyphenated word.\n\nThird page."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pdf_of([page(b"Some text")], locked=True), "is an encrypted PDF; send it without its password"),
        (pdf_of([b"0 0 100 100 re f", b""]), "is a PDF of pictures without text; run text recognition (OCR) on it"),
        (SMALL[:60], "is a damaged PDF; open and save it anew, or send its text"),
        (b"%PDF-1.7\n" + b"noise " * 100, "is a damaged PDF; open and save it anew, or send its text"),
    ],
    ids=["encrypted", "scanned", "cut", "noise"],
)
async def test_a_pdf_without_usable_text_is_refused_with_what_to_do(content: bytes, said: str) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        await text_of("my file.pdf", content)

    assert str(refused.value).startswith(f'"my file.pdf" {said}')


async def test_a_pdf_that_grows_without_end_when_unpacked_ends_its_process_alone() -> None:
    reader = DocumentProcesses(memory_bytes=256 << 20)
    content = bomb(1)
    assert len(content) < 100_000

    with pytest.raises(UnreadableDocument, match="could not be read within 256 MiB of memory, or is damaged"):
        await text_of("bomb.pdf", content, reader=reader)

    assert (await text_of("a.pdf", SMALL, reader=reader)).text == "Some text"


async def test_a_pdf_of_thousands_of_pages_ends_at_the_bound_on_its_text() -> None:
    content = pdf_of([page(b"This is page %d of many" % number) for number in range(5000)])

    read = await text_of("long.pdf", content)
    with pytest.raises(UnreadableDocument, match=r"has more than 0\.0625 MiB of text"):
        await text_of("long.pdf", content, reader=DocumentProcesses(max_text_bytes=1 << 16))

    assert read.text.split("\n\n") == [f"This is page {number} of many" for number in range(5000)]
