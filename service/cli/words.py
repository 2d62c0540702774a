"""Numbers, times and foreign text as the commands write them for people."""

from __future__ import annotations

import re

from service.core.visible import visible

# Line ends and tabs make up a text, and the two joiners are letters of scripts and of emoji.
_KEPT = re.compile("([\n\t\u200c\u200d])")


def shown_text(text: str) -> str:
    """Give a text as it is, but what could steer a terminal or hide in a line as escapes (K5)."""
    parts = _KEPT.split(text.replace("\r\n", "\n"))
    return "".join(part if _KEPT.fullmatch(part) else visible(part, len(part)) for part in parts)


def first_line(text: str) -> str:
    """Give the first line that says something, in one visible line."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    return visible(line.strip(), 500)


def counted(number: int, noun: str) -> str:
    """Say how many."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seconds_in_words(seconds: float) -> str:
    """Say how long, in the two largest units that matter."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size_in_words(count: int) -> str:
    """Say how many bytes."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
