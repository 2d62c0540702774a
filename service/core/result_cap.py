"""How much of a tool result the model gets, and how a longer one is cut (T9).

Sizes are bytes of UTF-8; places in a text are counted in code points, since a model names them.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.core.text_boundary import boundary_before, boundary_behind

LEAST_CAP = 256
"""The least that may be set: below that little could be told beside what was left out."""

LEAST_SHARE = 128
"""No result is cut to less, however full the context is: it says at least that and where it was cut."""

BYTES_PER_TOKEN = 3
"""Text that no tokenizer has seen yet: of JSON and numbers a token holds fewer bytes than of prose."""

_QUARTER = 4
_HALF = 2
# The head of a text tells more of it than its tail.
_HEAD_OF_ROOM = 0.75


def result_cap(
    limit: int, *, context_tokens: int | None, used_tokens: int, batch_bytes: int = 0, open_calls: int = 1
) -> int:
    """Give the cap of the next result of a batch.

    It is `limit` (tool_result_cap), at most a quarter of the context, and all results of the batch together get at
    most half of the room that is left: `batch_bytes` are in already, the rest is shared by `open_calls`.
    `context_tokens` is None while the server is unknown.
    """
    cap = limit
    if context_tokens is not None:
        room = max(0, context_tokens - used_tokens) * BYTES_PER_TOKEN // _HALF
        share = max(0, room - batch_bytes) // open_calls
        cap = min(cap, context_tokens * BYTES_PER_TOKEN // _QUARTER, share)
    return max(LEAST_SHARE, cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedText:
    """A text of at most its cap; `cut` when something was left out of it."""

    text: str
    cut: bool


def capped(text: str, cap: int, *, call: int, whole_bytes: int = 0) -> CappedText:
    """Keep head and tail of a text that is over its cap, and say between them how much is missing and where it is.

    `whole_bytes` is the size of the whole text where this one is what an earlier cut left of it.
    """
    size = len(text.encode())
    if size <= cap:
        return CappedText(text=text, cut=False)
    size = max(size, whole_bytes)
    # The widest that the sentence can be, so that all of it fits in the end.
    room = max(0, cap - len(_left_out(size, size, call, len(text)).encode()))
    head = boundary_before(text, _characters_in(text, int(room * _HEAD_OF_ROOM)))
    tail_room = room - len(text[:head].encode())
    tail = boundary_behind(text, max(head, len(text) - _characters_at_end(text, tail_room)))
    missing = size - len(text[:head].encode()) - len(text[tail:].encode())
    return CappedText(text=f"{text[:head]}{_left_out(missing, size, call, head)}{text[tail:]}", cut=True)


def _left_out(missing: int, size: int, call: int, offset: int) -> str:
    return (
        f"\n[… {missing} of {size} bytes are left out here; "
        f'read_result {{"call": {call}, "offset": {offset}}} gives them …]\n'
    )


def page_of(text: str, *, call: int, offset: int, cap: int) -> str:
    """Give as much of a text from `offset` on as the cap holds, and say where it goes on."""
    if offset >= len(text):
        return f"The result of call {call} has {len(text)} characters; nothing stands at offset {offset}."
    room = max(0, cap - len(_goes_on(call, len(text), len(text), len(text)).encode()))
    # The window is bounded in characters before it is measured in bytes.
    window = text[offset : offset + room + 1]
    length = boundary_before(window, _characters_in(window, room))
    # A cluster longer than the whole room: better cut than never passed.
    end = offset + (length or max(1, _characters_in(window, room)))
    if end >= len(text):
        return f"{text[offset:]}\n[characters {offset} to {len(text)} of {len(text)}: this is the end]"
    return text[offset:end] + _goes_on(call, offset, end, len(text))


def _goes_on(call: int, offset: int, end: int, length: int) -> str:
    return f'\n[characters {offset} to {end} of {length}; read_result {{"call": {call}, "offset": {end}}} goes on]'


def _characters_in(text: str, room: int) -> int:
    """Count the characters at the beginning of a text that fit into so many bytes."""
    return len(text[:room].encode()[:room].decode(errors="ignore"))


def _characters_at_end(text: str, room: int) -> int:
    if room <= 0:
        return 0
    return len(text[-room:].encode()[-room:].decode(errors="ignore"))
