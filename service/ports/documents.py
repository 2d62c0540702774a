"""Getting the text out of a document that somebody uploaded (R1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, Protocol

from service.core.errors import TurnkeeperError
from service.core.visible import visible

_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file as it came.

    `name` and `media_type` are what the caller said of it. `content` is a file on disk, or a spooled one that can
    go there: it has a `fileno`. It is read from its beginning, by one reader at a time, and stays open.
    """

    name: str
    media_type: str | None
    content: BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """The text of a document; `media_type` is what the document turned out to be, without parameters."""

    name: str
    media_type: str
    text: str


class UnreadableDocument(TurnkeeperError):
    """A document without usable text; its message is a sentence that names the file and says what to do.

    `reason` is that sentence without its subject, such as `is a PNG image; send the text that it shows`.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f'"{visible(name, _NAME_CHARACTERS)}" {reason}.')
        self.name = name
        self.reason = reason


class DocumentReader(Protocol):
    """Whatever gets the text out of a document."""

    async def read(self, file: UploadedFile) -> DocumentText:
        """Return the text of a file: neither empty nor only white space, without NUL and without lone surrogates.

        Raises:
            UnreadableDocument: there is no text in it, or not within the bounds on time, memory and size.
        """
        ...
