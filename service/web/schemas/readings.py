"""What clients send and are shown of readings (DESIGN section 12)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from service.config.shapes import StrictModel, Whole
from service.core.json_types import JsonObject
from service.core.reading.options import DEFAULT_MEMORY_BUDGET, ExitMode, ReadingOptions
from service.core.reading.records import ReadingOutcome
from service.core.reading.sizes import SMALLEST_CHUNK
from service.core.reading.status import ReadingState
from service.ports.documents import DocumentText
from service.readings.requests import ReadingView
from service.web.schemas.answer import Answer, Time
from service.web.schemas.answers import ErrorAnswer, UsageAnswer
from service.web.schemas.text_bounds import MIB, at_most_bytes
from service.web.validation import refused_field

FILES = "files"
"""The field of a form that comes once for each document."""

NAME_BYTES = 512
DOCUMENTS_MAX = 256
LEVEL_MAX = 2
TOKENS_MAX = 2**31 - 1

_DIGITS = re.compile("[0-9]{1,18}")
_FORM = "form"
_MARKDOWN = (".md", ".markdown")


def _says_something(text: str) -> str:
    if not text or text.isspace():
        raise PydanticCustomError("blank", "should have words in it")
    return text


# The patterns only describe: where one of pydantic's own does not fit, its words mean little to people.
_Words = Annotated[
    str,
    AfterValidator(_says_something),
    Field(json_schema_extra={"minLength": 1, "pattern": r"[^\s\x1c-\x1f\x85]"}),
]


def _number_in_a_form(value: object, info: ValidationInfo) -> object:
    if info.context == _FORM and isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return value


# Behind the bounds, as `Whole` is; pydantic's own reading of texts stops at such validators.
_Number = BeforeValidator(_number_in_a_form)


def _on_one_line(name: str) -> str:
    if not name or any(unicodedata.category(character) == "Cc" for character in name):
        raise PydanticCustomError("name", "should be a name without control characters")
    return name


DocumentName = Annotated[
    str,
    AfterValidator(_on_one_line),
    Field(json_schema_extra={"minLength": 1, "pattern": r"^[^\x00-\x1f\x7f-\x9f]+$"}),
    at_most_bytes(NAME_BYTES),
]
"""What a document is called: it is shown to people, in a line."""


class DocumentWanted(StrictModel):
    """A document as text; a name that ends in `.md` says that it is Markdown."""

    name: DocumentName
    text: _Words

    def to_text(self) -> DocumentText:
        """Give it in the words of the core."""
        is_markdown = self.name.lower().endswith(_MARKDOWN)
        return DocumentText(name=self.name, media_type="text/markdown" if is_markdown else "text/plain", text=self.text)


class ReadingFields(StrictModel):
    """A question and how to read: what both forms of the request have."""

    query: Annotated[_Words, at_most_bytes(MIB), Field(description="The question.")]
    level: (
        Annotated[
            int,
            Field(ge=1, le=LEVEL_MAX, description="2 reads each document by itself, and then their memories."),
            Whole,
            _Number,
        ]
        | None
    ) = None
    exit: (
        Annotated[
            ExitMode,
            Field(
                strict=False,
                description="When it may stop before the last chunk; models that were not trained "
                "for it stop too early when asked.",
            ),
        ]
        | None
    ) = None
    memory_budget: (
        Annotated[int, Field(ge=16, le=TOKENS_MAX, description="Tokens; 1024 unless told."), Whole, _Number] | None
    ) = None
    chunk_tokens: (
        Annotated[
            int,
            Field(ge=SMALLEST_CHUNK, le=TOKENS_MAX, description="Tokens; as many as fit unless told."),
            Whole,
            _Number,
        ]
        | None
    ) = None
    parallel: (
        Annotated[
            int,
            Field(ge=1, le=DOCUMENTS_MAX, description="Documents at a time; as slots allow unless told."),
            Whole,
            _Number,
        ]
        | None
    ) = None

    @classmethod
    def of_form(cls, fields: Mapping[str, str]) -> Self:
        """Read text fields as what they stand for, such as `2` for a number.

        Raises:
            ValidationError: one of them is wrong.
        """
        return cls.model_validate(fields, context=_FORM)

    def to_options(self, documents: int) -> ReadingOptions:
        """Give the options for so many documents in the words of the core.

        Raises:
            RequestRefused: several documents are to be read at a level that can't put them together (R1).
        """
        level = self.level or 1
        if documents > 1 and level < LEVEL_MAX:
            raise refused_field("body", "level", f"should be {LEVEL_MAX} with several documents")
        return ReadingOptions(
            level=level,
            exit=self.exit or ExitMode.NEVER,
            memory_budget=self.memory_budget or DEFAULT_MEMORY_BUDGET,
            chunk_tokens=self.chunk_tokens,
            parallel=self.parallel,
        )


def _several_need_level_2(schema: JsonObject) -> None:
    schema["if"] = {"properties": {"documents": {"minItems": 2}}}
    schema["then"] = {"required": ["level"], "properties": {"level": {"const": LEVEL_MAX}}}


def _describe_form(schema: JsonObject) -> None:
    schema["anyOf"] = [
        {"properties": {FILES: {"maxItems": 1}}},
        {"properties": {"level": {"const": LEVEL_MAX}}, "required": ["level"]},
    ]
    for member in schema["properties"].values():
        # A form has no null; a field is left out.
        for kind in member.pop("anyOf", ()):
            member |= kind if kind != {"type": "null"} else {}
        member.pop("default", None)


class ReadingRequest(ReadingFields):
    """A question over documents; several need level 2."""

    model_config = ConfigDict(json_schema_extra=_several_need_level_2)

    documents: Annotated[list[DocumentWanted], Field(min_length=1, max_length=DOCUMENTS_MAX)]


class ReadingUpload(ReadingFields):
    """The same as a form: `files` once for each document (text, Markdown, HTML or PDF), the other fields as text."""

    # It only describes such a request: the fields are read as `ReadingFields`, the files go to the disk.

    model_config = ConfigDict(json_schema_extra=_describe_form)

    files: Annotated[
        list[Annotated[bytes, WithJsonSchema({"type": "string", "format": "binary"})]],
        Field(min_length=1, max_length=DOCUMENTS_MAX),
    ]


class ReadDocumentAnswer(Answer):
    """A document of a reading: bytes and hash of its text; `chunks` is null until they are known."""

    name: str
    media_type: str
    bytes: int
    sha256: str
    chunks: int | None


class ReadingOptionsAnswer(Answer):
    """How it is read."""

    level: int
    exit: ExitMode
    memory_budget: int
    chunk_tokens: int | None
    parallel: int | None


class HeadAnswer(Answer):
    """Where its log ends: `hash` covers all of it."""

    seq: int
    hash: str


class ReadingAnswer(Answer):
    """A reading."""

    id: str
    owner: str
    state: ReadingState
    outcome: ReadingOutcome | None
    error: ErrorAnswer | None
    created_at: Time
    updated_at: Time
    query: str
    documents: list[ReadDocumentAnswer]
    options: ReadingOptionsAnswer
    chunks_seen: int
    chunks_used: int
    calls: int
    answer: str | None
    usage: UsageAnswer
    head: HeadAnswer

    @classmethod
    def of(cls, view: ReadingView) -> Self:
        """Show a reading."""
        status = view.status
        chunks: tuple[int | None, ...] = status.chunks or (None,) * len(view.documents)
        members: dict[str, Any] = {
            "documents": [
                ReadDocumentAnswer(
                    name=document.name,
                    media_type=document.media_type,
                    bytes=document.bytes,
                    sha256=document.sha256,
                    chunks=number,
                )
                for document, number in zip(view.documents, chunks, strict=True)
            ],
            "options": ReadingOptionsAnswer.model_validate(view.options),
            "error": None if status.error is None else ErrorAnswer.model_validate(status.error),
            "usage": UsageAnswer.model_validate(status.usage),
            "head": HeadAnswer(seq=view.head.seq, hash=view.head.hash.hex()),
        }
        return cls(
            id=view.id,
            owner=view.owner,
            state=status.state,
            outcome=status.outcome,
            created_at=view.created_at,
            updated_at=view.updated_at,
            query=view.query,
            chunks_seen=status.chunks_seen,
            chunks_used=status.chunks_used,
            calls=status.calls,
            answer=status.answer,
            **members,
        )


class ReadingPage(Answer):
    """A page of readings, newest first; `next` is the `after` of the page that follows, null on the last."""

    items: list[ReadingAnswer]
    next: str | None
