"""PDFs written by hand, as small as they can be."""

import zlib
from collections.abc import Sequence

_TRAILER_OF_A_LOCKED_ONE = (
    b"/ID[<00112233445566778899aabbccddeeff><00112233445566778899aabbccddeeff>]"
    b"/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<" + b"5a" * 32 + b">/U<" + b"a5" * 32 + b">>>"
)


def page(*lines: bytes) -> bytes:
    """Return the content of a page with these lines."""
    return b"BT /F1 12 Tf 72 720 Td 14 TL " + b" ".join(b"(%s) Tj T*" % line for line in lines) + b" ET"


def stream(content: bytes, filters: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (filters, len(content), content)


def pdf_of(contents: Sequence[bytes], *, locked: bool = False) -> bytes:
    """Return a PDF of pages with these contents; no password opens it when it is locked."""
    return _written([stream(content) for content in contents], _TRAILER_OF_A_LOCKED_ONE if locked else b"")


def bomb(gigabytes: int) -> bytes:
    """Return a small PDF of one page, whose content is so much white space.

    Its checksum is wrong; nobody gets so far.
    """
    packing = zlib.compressobj(9)
    blanks = b" " * (1 << 24)
    begin, again = (packing.compress(blanks) + packing.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = begin + again * (gigabytes * 64) + packing.flush()
    return _written([stream(zlib.compress(packed, 9), b"/Filter[/FlateDecode/FlateDecode]")], b"")


def _written(streams: Sequence[bytes], trailer: bytes) -> bytes:
    first_page = 4
    kids = b" ".join(b"%d 0 R" % (first_page + 2 * number) for number in range(len(streams)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(streams), kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, content in enumerate(streams):
        content_number = first_page + 2 * number + 1
        resources = b"/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
        objects += [b"<</Type/Page/Parent 2 0 R%s/Contents %d 0 R>>" % (resources, content_number), content]
    out = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, table)
    return bytes(out)
