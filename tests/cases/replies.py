"""What the fake model answers: deltas in llama-server's form, and every way in which such a stream can end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.core.json_types import JsonObject

# A line of the real server is far below this; the client refuses lines of a megabyte.
_LARGEST_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One completion as it streams.

    `finish` None sends no finish reason. `cut_at` breaks the connection off after so many bytes of the stream, -1
    before its head; `reset` does that without a proper end. `error` is sent in mid-stream, behind the deltas. `hold`
    is waited for behind the deltas. `status` other than 200 refuses the request with `error` instead of streaming.
    """

    deltas: tuple[JsonObject, ...] = ()
    finish: str | None = "stop"
    usage: bool = True
    done: bool = True
    cut_at: int | None = None
    reset: bool = False
    error: JsonObject | None = None
    hold: asyncio.Event | None = None
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as the model writes it."""

    name: str
    arguments: str = "{}"
    id: str = "call-1"


def say(text: str | Sequence[str], *, thought: str | Sequence[str] = "", **ending: object) -> Reply:
    """A completion of text, in one delta a word or in the deltas that are given."""
    deltas = (*_texts("reasoning_content", thought), *_texts("content", text))
    return Reply(deltas=deltas, **ending)  # pyright: ignore[reportArgumentType]


def ask_for(*calls: Call, text: str | Sequence[str] = "", thought: str | Sequence[str] = "", **ending: object) -> Reply:
    """A completion that asks for tools: a name whole, its arguments in pieces, one call behind the other."""
    deltas = [*_texts("reasoning_content", thought), *_texts("content", text)]
    for index, call in enumerate(calls):
        function = {"name": call.name, "arguments": call.arguments[:1]}
        deltas.append({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        pieces = _in_pieces(call.arguments[1:])
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    return Reply(deltas=tuple(deltas), finish="tool_calls", **ending)  # pyright: ignore[reportArgumentType]


def refuse(status: int, message: str) -> Reply:
    """An answer that is no stream but an error."""
    return Reply(status=status, error={"code": status, "message": message, "type": "server_error"})


def _texts(name: str, text: str | Sequence[str]) -> Iterable[JsonObject]:
    pieces = text.replace(" ", " \0").split("\0") if isinstance(text, str) and "\0" not in text else text
    return [{name: piece} for piece in ([pieces] if isinstance(pieces, str) else pieces) if piece]


def _in_pieces(arguments: str) -> Iterable[str]:
    if len(arguments) > _LARGEST_PIECE:
        return [arguments[at : at + _LARGEST_PIECE] for at in range(0, len(arguments), _LARGEST_PIECE)]
    return [arguments[at : at + 8] for at in range(0, len(arguments), 8)]


def text_of(reply: Reply, name: str) -> str:
    """Put the texts of one kind together: `content` or `reasoning_content`."""
    return "".join(delta.get(name, "") for delta in reply.deltas)
