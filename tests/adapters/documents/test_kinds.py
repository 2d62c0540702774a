"""What a file is, by its first bytes, its name and its media type together."""

import gzip
import io
import tarfile
import zipfile

import pytest

from service.adapters.documents.kinds import HEAD_BYTES, Kind, kind_of
from service.adapters.documents.refusal import Refused

pytestmark = [pytest.mark.rules("R1")]
HTML = b"\xef\xbb\xbf <!-- saved --> <!DOCTYPE html><p>Hello"


def zip_of(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return out.getvalue()


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("head", "suffix", "media_type", "kind"),
    [
        (b"Hello", "", None, Kind.PLAIN),
        (b"Hello", ".csv", "text/csv", Kind.PLAIN),
        (b"Hello", ".MD", "application/octet-stream", Kind.MARKDOWN),
        (b"Hello", ".md", "text/plain; charset=utf-8", Kind.MARKDOWN),
        (b"Hello", ".txt", "text/markdown", Kind.MARKDOWN),
        (b"Hello", ".htm", None, Kind.HTML),
        (b"Hello", "", "Text/HTML; charset=utf-8", Kind.HTML),
        (HTML, "", None, Kind.HTML),
        (HTML, ".unknown", "application/octet-stream", Kind.HTML),
        ("<html><p>".encode("utf-16"), "", None, Kind.HTML),
        (HTML, ".txt", None, Kind.PLAIN),
        (HTML, ".md", None, Kind.MARKDOWN),
        (b"%PDF-1.7\n", "", None, Kind.PDF),
        (b"%PDF-1.7\n", ".txt", "text/plain", Kind.PDF),
        (b"\r\n\r\n%PDF-1.7\n", ".pdf", None, Kind.PDF),
        (b"A PDF begins with %PDF-1.7", ".txt", None, Kind.PLAIN),
    ],
)
def test_content_name_and_media_type_tell_the_kind_together(
    head: bytes, suffix: str, media_type: str | None, kind: Kind
) -> None:
    assert kind_of(head, suffix=suffix, media_type=media_type) is kind


@pytest.mark.parametrize(
    ("content", "suffix", "said"),
    [
        (zip_of("a.txt"), ".zip", "is a ZIP archive; unpack it"),
        (zip_of("[Content_Types].xml", "word/document.xml"), "", "is a Word document; send its text, or a PDF of it"),
        (zip_of("[Content_Types].xml", "xl/workbook.xml"), ".txt", "is an Excel workbook; send its text"),
        (zip_of("a.xml"), ".docx", "is a Word document; send its text"),
        (zip_of("a.xml"), ".epub", "is an EPUB book; send its text"),
        (gzip.compress(b"Hello"), ".txt", "is compressed with gzip; unpack it"),
        (tar(), "", "is a TAR archive; unpack it"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".doc", "is an old Office document; send its text"),
        (b"{\\rtf1\\ansi Hello}", ".rtf", "is a Rich Text document; send its text"),
        (b"\x89PNG\r\n\x1a\n", ".txt", "is a PNG image; send the text that it shows"),
        (b"\xff\xd8\xff\xe0", ".pdf", "is a JPEG image; send the text that it shows"),
        (b"\x7fELF\x02", "", "is a program; send text, Markdown, HTML or PDF"),
        (b"Hello", ".pdf", "is called a PDF but is none; send the PDF itself"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_holds_no_text_is_refused_with_what_it_is_and_what_to_send_instead(
    content: bytes, suffix: str, said: str
) -> None:
    with pytest.raises(Refused) as refused:
        kind_of(content[:HEAD_BYTES], suffix=suffix, media_type="text/plain")

    assert str(refused.value).startswith(said)
