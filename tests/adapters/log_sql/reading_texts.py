"""A text so long that it is written in several transactions."""

LONG = b"0123456789abcdef" * (9 * 1024 * 1024 // 16)
"""Three slices."""
