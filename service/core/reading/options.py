"""What a reading is asked for: fixed when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_MEMORY_BUDGET = 1024
"""Tokens of memory, as GRU-Mem has it."""


class ExitMode(StrEnum):
    """When a reading may stop before its last chunk (R11)."""

    NEVER = "never"
    ASKED = "asked"
    """When the model's exit gate says so."""
    MEASURED = "measured"
    """When the draft answer has been the same and sure for some chunks in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """How to read; `chunk_tokens` None is as many as fit, `parallel` None as many documents at a time as slots allow.

    At level 2 each document is read by itself, and then their memories are read like chunks (R6).
    """

    level: int = 1
    exit: ExitMode = ExitMode.NEVER
    memory_budget: int = DEFAULT_MEMORY_BUDGET
    chunk_tokens: int | None = None
    parallel: int | None = None
