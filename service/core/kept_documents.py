"""Whether the texts that are kept with a reading are those that its first record names (R8)."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import cast

from service.core.json_types import JsonObject

DocumentText = Callable[[int, int, int], bytes | None]
"""Reads bytes of a document's text: which document, from 1; start; end. None where there is no such document."""

_STEP_BYTES = 1024 * 1024
"""As much of a text is in memory at once."""


def documents_fault(created: JsonObject, text: DocumentText) -> str | None:
    """Say in a clause what is wrong with the texts of a reading; None when nothing is.

    `created` has the members of its first record.
    """
    named = created.get("documents")
    documents = cast("list[object]", named) if isinstance(named, list) else []
    for number, document in enumerate(documents, start=1):
        if text(number, 0, 0) is None:
            return f"the text of document {number} is missing"
        if not isinstance(document, dict) or not _is_as_named(cast(JsonObject, document), number, text):
            return f"the text of document {number} is not the one that it names"
    if text(len(documents) + 1, 0, 0) is not None:
        return f"there is a text of document {len(documents) + 1}, which it doesn't name"
    return None


def _is_as_named(document: JsonObject, number: int, text: DocumentText) -> bool:
    found, start = sha256(), 0
    while part := text(number, start, start + _STEP_BYTES):
        found.update(part)
        start += len(part)
    return (start, found.hexdigest()) == (document.get("bytes"), document.get("sha256"))
