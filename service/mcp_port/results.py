"""What a server answered, as a tool port answers (DESIGN section 8): text, since models that are served here read text.

Texts are joined by a line break. Structured content is JSON, behind the text unless the text says the same. Images,
audio and resources become a note with their type and size.

An error of an untrusted tool is told as a result that says so: what `failed` brings counts as the port's own words and
is trusted, and a server may quote in an error whatever it met (X6).
"""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as NoBase64
from contextlib import suppress

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from service.port_wire.answers import Answer, Failed, JsonValue, Result

NOTHING = "(The tool returned nothing.)"


def answer_of(result: CallToolResult, *, untrusted: bool) -> Answer:
    """Give the port's answer; `untrusted` is what the tool is."""
    text = "\n".join(map(_told, result.content))
    structured: JsonValue = result.structured_content
    if result.is_error:
        words = text or "it gave no reason"
        # As long as it is: the port's answer is cut by Turnkeeper (X2), and by its tool_result_cap.
        return Result(content=f"The tool failed: {words}", untrusted=True) if untrusted else Failed(message=words)
    if structured is None:
        return Result(content=text or NOTHING)
    if not text:
        return Result(content=structured)
    if _says_the_same(text, structured):
        return Result(content=text)
    return Result(content=f"{text}\n{json.dumps(structured, ensure_ascii=False)}")


def _says_the_same(text: str, structured: JsonValue) -> bool:
    """Say whether structured content is the text once more, as JSON or as the only member of an object."""
    said: list[JsonValue] = [text]
    # Plain words are no JSON.
    with suppress(ValueError, RecursionError):
        said.append(json.loads(text))
    if structured in said:
        return True
    return isinstance(structured, dict) and len(structured) == 1 and next(iter(structured.values())) in said


def _told(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case ImageContent(data=data, mime_type=media_type):
            return f"[image, {media_type}, {_size(data)}; only text is shown]"
        case AudioContent(data=data, mime_type=media_type):
            return f"[audio, {media_type}, {_size(data)}; only text is shown]"
        case ResourceLink(uri=uri, mime_type=media_type, size=size):
            told = [f"link to {uri}", *([media_type] if media_type else []), *([f"{size:,} bytes"] if size else [])]
            return f"[{', '.join(told)}; not fetched]"
        case EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=media_type, text=text)):
            return f"[resource {uri}, {media_type or 'text'}, {len(text.encode()):,} bytes; not shown]"
        case EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=media_type, blob=blob)):
            return f"[resource {uri}, {media_type or 'binary'}, {_size(blob)}; not shown]"
        case _:  # pyright: ignore[reportUnnecessaryComparison] - a later protocol may bring further kinds
            return "[content of a kind that is not known here]"


def _size(encoded: str) -> str:
    try:
        return f"{len(b64decode(encoded, validate=True)):,} bytes"
    except (NoBase64, ValueError):
        return "of unknown size"
