"""Tool calls put together from their pieces, as servers of many versions send them (L5).

Above: `completion`. Below: `completion_events`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import cast

from service.core.completion_events import ModelCall
from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue

MAX_CALLS = 256
"""Calls of one completion; a batch that anybody wants has a few. It bounds what a stream of empty calls costs."""


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])

    def is_whole(self) -> bool:
        """Tell whether the arguments are a JSON object by now, so that nothing can belong behind them."""
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


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
            call.id = call.id or piece.id
            call.name = _merged(call, piece.name)
            if piece.arguments:
                call.arguments.append(piece.arguments)
            added += len(piece.id) + len(piece.name) + len(piece.arguments)
        return added

    def calls(self) -> tuple[ModelCall, ...]:
        """Give the calls in the order in which they began; those of which nothing came are left out."""
        return tuple(
            ModelCall(id=call.id or None, name=call.name, arguments="".join(call.arguments))
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
        return call.name or name
    return name if name.startswith(call.name) else call.name + name


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
        arguments = json.dumps(arguments, ensure_ascii=False)
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


def _malformed(what: str) -> ModelFailure:
    return ModelFailure(ErrorKind.PROTOCOL, f"llama-server sent tool calls that can't be read: {what}")
