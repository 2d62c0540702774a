"""Heads of logs as lines of text, to be kept where whoever can change the store can't change them (S3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from service.core.chain import Head
from service.core.ids import SessionId

KeptHeads = Mapping[int, AbstractSet[bytes]]
"""The hashes that were kept of one session, by `seq`; more than one of a `seq` contradict each other."""

NOTHING_KEPT: KeptHeads = {}

_LINE = re.compile(r"(?P<session>\S+) (?P<seq>[1-9]\d{0,17}) (?P<hash>[0-9a-f]{64})")


def head_line(session: SessionId, head: Head) -> str:
    """Write a head as one line: session, seq, hash in hex."""
    return f"{session} {head.seq} {head.hash.hex()}"


def read_heads(lines: Iterable[str]) -> dict[SessionId, dict[int, set[bytes]]]:
    """Read lines that `head_line` wrote, of one day or of many; empty lines and those with # don't count.

    Raises:
        ValueError: a line is none of these; the text names it by its number.
    """
    kept: dict[SessionId, dict[int, set[bytes]]] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _LINE.fullmatch(text)
        if found is None:
            raise ValueError(f"line {number} is no head; a head is a session, a seq and 64 hex digits")
        of_session = kept.setdefault(SessionId(found["session"]), {})
        of_session.setdefault(int(found["seq"]), set()).add(bytes.fromhex(found["hash"]))
    return kept
