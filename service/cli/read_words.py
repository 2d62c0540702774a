"""How far a reading is, as `turnkeeper read` says it to people."""

from __future__ import annotations

from service.cli.read_board import ReadingBoard
from service.cli.words import counted, seconds_in_words


def progress_in_words(board: ReadingBoard) -> str:
    """Say how far a reading is, in one line."""
    parts: list[str] = []
    if board.rows:
        parts += [f"{board.seen} of {counted(board.chunks, 'chunk')}", f"{board.used} used"]
    told = board.progress
    if told is not None and board.ended is None:
        if told.tokens_per_second is not None:
            parts.append(f"{told.tokens_per_second:.0f} tokens/s")
        if told.left_s:
            parts.append(f"{seconds_in_words(told.left_s)} left")
    if board.doing:
        parts.append(board.doing)
    return " · ".join(parts)
