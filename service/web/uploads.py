"""Requests that come as `multipart/form-data`: fields and files, read to disk and never whole into memory (R1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256

from fastapi import Request
from pydantic import TypeAdapter, ValidationError

from service.core.errors import RequestRefused
from service.ports.documents import UploadedFile
from service.web.multipart import BrokenForm, FormBounds, Part, read_form
from service.web.schemas.readings import DOCUMENTS_MAX, FILES, DocumentName
from service.web.validation import refused_field

_BOUNDS = FormBounds(files=DOCUMENTS_MAX, fields=16, field_bytes=1024 * 1024)
_PIECE = 256 * 1024
_NAMES: TypeAdapter[str] = TypeAdapter(DocumentName)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A form: its text fields by name, each once, and its files in order."""

    fields: dict[str, str]
    files: Sequence[UploadedFile]

    async def hash(self) -> bytes:
        """Hash what it says, whatever its boundaries were (H3)."""
        files = [(file.name, file.media_type, await asyncio.to_thread(_digest, file)) for file in self.files]
        return sha256(json.dumps([self.fields, files], sort_keys=True).encode()).digest()


@asynccontextmanager
async def upload(request: Request) -> AsyncGenerator[Upload]:
    """Read a form; its files are there as long as the body of this context runs.

    Raises:
        RequestRefused: it is broken, a field comes twice, or a file where text belongs, or the other way round.
        ClientDisconnect: the client left before all had come.
    """
    with ExitStack() as opened:
        try:
            parts = await read_form(request.headers["content-type"], request.stream(), _BOUNDS, opened)
        except BrokenForm as broken:
            raise _refused(broken) from broken
        fields: dict[str, str] = {}
        files: list[UploadedFile] = []
        for part in parts:
            if part.content is not None:
                files.append(_file(part))
            elif part.name == FILES:
                raise refused_field("body", FILES, "should be a file: send it with a filename")
            elif part.name in fields:
                raise refused_field("body", part.name, "should be sent once")
            else:
                fields[part.name] = _text(part)
        if not files:
            raise refused_field("body", FILES, "is required")
        yield Upload(fields=fields, files=files)


def _refused(broken: BrokenForm) -> RequestRefused:
    return refused_field("body", "the body" if broken.field is None else broken.field, broken.reason)


def _text(part: Part) -> str:
    try:
        return part.text.decode()
    except UnicodeDecodeError as error:
        raise refused_field("body", part.name, "should be UTF-8") from error


def _file(part: Part) -> UploadedFile:
    assert part.content is not None  # whoever asks has looked
    if part.name != FILES:
        raise refused_field("body", part.name, f"should not be a file; files are sent as {FILES}")
    # Some clients send the path.
    name = part.filename.replace("\\", "/").rpartition("/")[2]
    if not name:
        raise refused_field("body", FILES, "should have a filename")
    try:
        return UploadedFile(name=_NAMES.validate_python(name), media_type=part.media_type, content=part.content)
    except ValidationError as error:
        raise refused_field("body", FILES, f"has a filename that {error.errors()[0]['msg']}") from error


def _digest(file: UploadedFile) -> str:
    digest = sha256()
    file.content.seek(0)
    while piece := file.content.read(_PIECE):
        digest.update(piece)
    file.content.seek(0)
    return digest.hexdigest()
