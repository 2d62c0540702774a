"""Tool calls put together from their pieces, as servers of many versions send them (L5).

Above: `completion`. Below: `completion_events`, `object_end`, `text_pieces`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import cast

from service.core.completion_events import ModelCall
from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue
from service.core.object_end import ObjectEnd
from service.core.text_pieces import TextPieces

MAX_CALLS = 256
"""Calls of one completion; a batch that anybody wants has a few. It bounds what a stream of empty calls costs."""

MAX_NAME = 1024
"""Characters of a name that are kept: no tool has more than 64 (X3), so what is cut is an unknown one either way.
It bounds what a name in endless parts costs."""


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: TextPieces = field(default_factory=TextPieces)
    _end: ObjectEnd | None = None
    _is_no_object: bool = False

    def add_arguments(self, text: str) -> None:
        """Put a piece behind the arguments."""
        self.arguments.add(text)
        if self._end is not None:
            self._end.feed(text)

    def is_whole(self) -> bool:
        """Tell whether the arguments are a JSON object by now, so that nothing can belong behind them.

        Old builds repeat the name with each piece and so ask each time: the text is parsed once, where it may end.
        """
        if self._end is None:
            self._end = ObjectEnd()
            self._end.feed(self.arguments.text())
        if not self._end.is_reached or self._is_no_object:
            return False
        self._is_no_object = not _is_object(self.arguments.text())
        return not self._is_no_object


@dataclass(frozen=True, slots=True)
class _Piece:
    index: int | None
    id: str
    name: str
    arguments: str


class CallAssembly:
    """Collect the pieces of calls: by index, and where that says too little by id, name, and order.

    Indexes may be missing or all the same, ids missing, repeated or late, names repeated or in pieces.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def feed(self, pieces: JsonValue) -> int:
        """Take the `tool_calls` of one delta and give the characters that they added.

        Raises:
            ModelFailure: they are no list of objects with texts, or there are too many calls.
        """
        if not isinstance(pieces, list):
            raise _malformed("tool_calls is no list")
        added = 0
        for position, raw in enumerate(cast(list[JsonValue], pieces)):
            piece = _read(raw)
            call = self._call_of(piece, position)
            before = len(call.id) + len(call.name)
            call.id = call.id or piece.id
            call.name = _merged(call, piece.name)
            if piece.arguments:
                call.add_arguments(piece.arguments)
            added += len(call.id) + len(call.name) - before + len(piece.arguments)
        return added

    def calls(self) -> tuple[ModelCall, ...]:
        """Give the calls in the order in which they began; those of which nothing came are left out."""
        return tuple(
            ModelCall(id=call.id or None, name=call.name, arguments=call.arguments.text())
            for call in self._calls
            if call.id or call.name or call.arguments
        )

    def _call_of(self, piece: _Piece, position: int) -> _Call:
        call = self._known(piece)
        if call is None or _opens_another(piece, call, position):
            call = self._open(piece.index)
        return call

    def _known(self, piece: _Piece) -> _Call | None:
        """Find the call with this index and id; without such an id, the newest with this index."""
        newest: _Call | None = None
        for call in reversed(self._calls):
            if piece.index is not None and call.index != piece.index:
                continue
            if not piece.id or call.id == piece.id:
                return call
            newest = newest or call
        return newest

    def _open(self, index: int | None) -> _Call:
        if len(self._calls) == MAX_CALLS:
            raise _malformed(f"more than {MAX_CALLS} tool calls")
        call = _Call(index)
        self._calls.append(call)
        return call


def _opens_another(piece: _Piece, call: _Call, position: int) -> bool:
    """Tell whether a piece that would belong to this call begins the next one instead; only a name can."""
    if not piece.name:
        return False
    if piece.id and call.id and piece.id != call.id:
        return True
    if piece.index is None and position > 0:
        return True
    return bool(piece.arguments.strip()) and call.is_whole()


def _merged(call: _Call, name: str) -> str:
    """Give the name after one more piece: servers send it once, again and again, or, rarely, in parts."""
    if not name or call.name == name or call.arguments:
        merged = call.name or name
    else:
        merged = name if name.startswith(call.name) else call.name + name
    return merged[:MAX_NAME]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _read(raw: JsonValue) -> _Piece:
    if not isinstance(raw, dict):
        raise _malformed("a tool call is no object")
    piece = cast(JsonObject, raw)
    function: JsonValue = piece.get("function") or {}
    if not isinstance(function, dict):
        raise _malformed("the function of a tool call is no object")
    members = cast(JsonObject, function)
    name: JsonValue = members.get("name") or ""
    arguments: JsonValue = members.get("arguments")
    if isinstance(arguments, dict):
        # Not of llama-server: servers that do not stream arguments send the object itself.
        arguments = _shown(cast(JsonObject, arguments))
    arguments = "" if arguments is None else arguments
    if not isinstance(name, str) or not isinstance(arguments, str):
        raise _malformed("the name or the arguments of a tool call are no text")
    index, call_id = piece.get("index"), piece.get("id")
    return _Piece(
        index=index if type(index) is int else None,
        id=call_id if isinstance(call_id, str) else "",
        name=name,
        arguments=arguments,
    )


def _shown(arguments: JsonObject) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except RecursionError as error:
        # What could be read just so need not be writable: the two don't count their depth alike.
        raise _malformed("arguments nested too deeply") from error


def _malformed(what: str) -> ModelFailure:
    return ModelFailure(ErrorKind.PROTOCOL, f"llama-server sent tool calls that can't be read: {what}")
