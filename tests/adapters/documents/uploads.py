"""Uploads as they come from the web: spooled, in memory until somebody asks for a file."""

from collections.abc import Generator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from service.adapters.documents.processes import DocumentProcesses
from service.ports.documents import DocumentText, UploadedFile


@contextmanager
def upload(name: str, content: bytes, media_type: str | None = None) -> Generator[UploadedFile]:
    """Hold an uploaded file, whose position is where its writer left it."""
    with SpooledTemporaryFile(max_size=1 << 20) as spooled:
        spooled.write(content)
        yield UploadedFile(name=name, media_type=media_type, content=cast(BinaryIO, spooled))


async def text_of(
    name: str, content: bytes, media_type: str | None = None, *, reader: DocumentProcesses | None = None
) -> DocumentText:
    """Read an upload in a process, with the default bounds if no reader is given."""
    with upload(name, content, media_type) as file:
        return await (reader or DocumentProcesses()).read(file)
