"""Bounds of texts in bytes of UTF-8, which is what memory and the store count."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

MIB = 1024 * 1024


def at_most_bytes(limit: int) -> AfterValidator:
    """Make a validator that refuses texts of more than `limit` bytes of UTF-8."""

    def check(text: str) -> str:
        # A character has at least one byte, so a long text need not be encoded to be refused.
        if len(text) > limit or len(text.encode()) > limit:
            raise PydanticCustomError("too_many_bytes", "should have at most {limit} bytes of UTF-8", {"limit": limit})
        return text

    return AfterValidator(check)


LongText = Annotated[str, at_most_bytes(MIB)]
"""At most 1 MiB."""

ShortText = Annotated[str, at_most_bytes(512)]
"""At most 512 bytes."""
