"""A call that waits for a person, laid out for that person with nothing hidden in it (K5)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from service.core.approvals import digest_of
from service.core.records import PendingCall
from service.core.visible import visible

# A string is one token, also one that is not closed; everything else but white space is one character at least.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_INDENT = "  "
_MOST_INDENTS = 20
_NAME_SHOWN = 200
_REASON_SHOWN = 2000


def question_lines(call: PendingCall, arguments: str) -> list[str]:
    """Show the call whole; `arguments` are those that it would run with, the model's or others."""
    shown = [
        f"{visible(call.title, _NAME_SHOWN)} ({visible(call.name, _NAME_SHOWN)}) waits for your decision",
        f"  why: {visible(call.reason, _REASON_SHOWN)}",
    ]
    if call.expires_at is not None:
        shown.append(f"  counts as denied at: {call.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    shown.append("  arguments:" if arguments == call.arguments else "  your arguments in place of the model's:")
    return [*shown, *(f"    {line}" for line in laid_out(arguments))]


def is_itself(call: PendingCall) -> bool:
    """Say whether the digest, which a decision is bound to, is that of the call that is shown (A2)."""
    try:
        digest = digest_of(call.session, call.turn, call.call, call.tool_call_id, call.name, call.arguments)
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8, so it has no digest either.
        return False
    return digest == call.digest


def is_json_object(text: str) -> bool:
    """Say whether a text can be the arguments of a call."""
    try:
        text.encode()
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def laid_out(raw: str) -> list[str]:
    """Lay raw JSON text out in lines, each character of it but the white space between tokens in its place.

    The text itself is cut into tokens, not the value that it stands for: a repeated key or an odd number is seen. What
    is no JSON comes out as well.
    """
    return [visible(line, len(line)) for line in _lines(_TOKENS.findall(raw))]


def _lines(tokens: list[str]) -> Iterator[str]:
    line, depth = "", 0
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in ("}", "]"):
            depth = max(0, depth - 1)
        if token in ("{", "["):
            line, depth = line + token, depth + 1
            if following not in ("}", "]"):
                yield line
                line = _indent(depth)
        elif token == ",":
            yield line + token
            line = _indent(depth)
        else:
            line += ": " if token == ":" else token
            if following in ("}", "]"):
                yield line
                line = _indent(depth - 1)
    if line.strip():
        yield line


def _indent(depth: int) -> str:
    return _INDENT * min(max(depth, 0), _MOST_INDENTS)
