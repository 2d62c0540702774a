"""The bytes that a tool port answered with: whatever they are, they make an answer (X1, X2)."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast

from service.core.cut_json import read_cut_object
from service.core.errors import ToolPortFailure
from service.core.json_types import JsonObject, JsonValue
from service.core.labels import DataClass
from service.core.text import encodable
from service.core.tool_port import AnswerStatus, DownServer, ToolAnswer

_TEXTS = frozenset({"content", "message", "reason"})
_NO_UTF_8 = "answered with invalid UTF-8"
_NO_JSON = "answered with something that is not JSON"


class _NoAnswer(ValueError):
    """The body is none of the four answers; the text is the predicate of a sentence."""


def failed_answer(fault: str) -> ToolAnswer:
    """Make the answer of a port that gave none; `fault` completes "the tool port …"."""
    return ToolAnswer(status=AnswerStatus.FAILED, text=f"the tool port {fault}")


def read_answer(body: bytes, *, cut: bool = False) -> ToolAnswer:
    """Read the body of an answer with status 200; `cut` when it is only the beginning of one (X1, X2)."""
    try:
        if not cut:
            return _answer(_object(_parsed(_text(body))))
        return _cut_answer(body)
    except _NoAnswer as fault:
        return failed_answer(str(fault))


def read_tool_list(body: bytes) -> Sequence[JsonObject]:
    """Read the body of the port's list of tools; what each of them is worth is another question (X3).

    Raises:
        ToolPortFailure: it is no such list; the text says why.
    """
    try:
        listed: JsonValue = _object(_parsed(_text(body))).get("tools")
        if not isinstance(listed, list):
            raise _NoAnswer('answered without a list "tools"')
        return [_object(tool) for tool in cast(list[JsonValue], listed)]
    except _NoAnswer as fault:
        raise ToolPortFailure(f"the tool port {fault}") from fault


def read_down_servers(body: bytes) -> tuple[DownServer, ...]:
    """Read which of the servers behind it a port says are down, beside its list of tools; what is odd is passed over.

    Ports over other servers say it, as `turnkeeper mcp-port` does; sessions don't need it.
    """
    try:
        servers: JsonValue = _object(_parsed(_text(body))).get("servers")
    except _NoAnswer:
        return ()
    found = cast(list[JsonValue], servers) if isinstance(servers, list) else []
    return tuple(down for server in found if (down := _down(server)) is not None)


def _down(server: JsonValue) -> DownServer | None:
    match server:
        case {"name": str(name), "state": "down", **more}:
            said = more.get("said")
            return DownServer(name=encodable(name), said=encodable(said) if isinstance(said, str) else "is down")
        case _:
            return None


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise _NoAnswer(_NO_UTF_8) from error


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _NoAnswer(_NO_JSON) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise _NoAnswer("answered with JSON of another form than expected")
    return cast(JsonObject, value)


def _answer(members: JsonObject) -> ToolAnswer:
    match members.get("status"):
        case "result":
            return _result(members)
        case "failed":
            return ToolAnswer(status=AnswerStatus.FAILED, text=_words(members, "message"))
        case "denied":
            return ToolAnswer(status=AnswerStatus.DENIED, text=_words(members, "reason"))
        case "pending_approval":
            return ToolAnswer(status=AnswerStatus.PENDING_APPROVAL, text=_words(members, "reason"))
        case _:
            raise _NoAnswer("answered with no status that is known")


def _result(members: JsonObject) -> ToolAnswer:
    if "content" not in members:
        raise _NoAnswer("answered with a result that has no content")
    data_class: JsonValue = members.get("class", DataClass.PUBLIC)
    if data_class not in list(DataClass):
        raise _NoAnswer("answered with a class that is not known")
    untrusted: JsonValue = members.get("untrusted", False)
    if not isinstance(untrusted, bool):
        raise _NoAnswer("answered with a flag that is neither true nor false")
    return ToolAnswer(
        status=AnswerStatus.RESULT,
        text=_content(members["content"]),
        data_class=DataClass(data_class) if "class" in members else None,
        untrusted=untrusted if "untrusted" in members else None,
    )


def _content(content: JsonValue) -> str:
    if isinstance(content, str):
        return encodable(content)
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise _NoAnswer("answered with content that can't be written as JSON") from error
    return encodable(text)


def _words(members: JsonObject, key: str) -> str:
    words: JsonValue = members.get(key)
    if words is None:
        return ""
    if not isinstance(words, str):
        raise _NoAnswer(f"answered with a {key} that is not text")
    return encodable(words)


def _cut_answer(body: bytes) -> ToolAnswer:
    try:
        # Incremental, because the cut may go through a character.
        found = read_cut_object(codecs.getincrementaldecoder("utf-8")().decode(body))
    except UnicodeDecodeError as error:
        raise _NoAnswer(_NO_UTF_8) from error
    except (ValueError, RecursionError) as error:
        raise _NoAnswer(_NO_JSON) from error
    if found.ended:
        return _answer(found.members)
    members = dict(found.members)
    if found.cut_key in _TEXTS:
        members[found.cut_key] = found.cut_text
    if "content" not in members and members.get("status", "result") == "result":
        raise _NoAnswer("answered with more than is read, and its content did not begin before that")
    # Only a result has content. Labels that would have come later may be any, so the strictest hold.
    assumed = {"status": "result", "class": DataClass.SECRET, "untrusted": True} if "content" in members else {}
    return replace(_answer(assumed | members), cut=True)
