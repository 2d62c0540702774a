"""JSON that stays on one line, whoever reads it (H6)."""

from __future__ import annotations


def one_line(data: bytes) -> bytes:
    """Escape what some readers take for the end of a line, in UTF-8 JSON, where it stands in strings only."""
    if b"\xe2\x80" not in data and b"\xc2\x85" not in data:
        return data
    return (
        data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029").replace(b"\xc2\x85", b"\\u0085")
    )
