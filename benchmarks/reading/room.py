"""How the context is shared out among the parts of a prompt and the answer."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.reading.failures import BenchmarkFailed

INSTRUCTION_TOKENS = 300
"""Kept for the instructions, the question and what the chat template adds; the longest has some 200."""

ANSWER_TOKENS = 96
"""The bound of an answer, whole or to one chunk."""

RETRIEVED = 6
"""Passages that BM25 brings before the model."""

LEAST_PASSAGE_TOKENS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Sizes in tokens."""

    context: int
    chunk: int
    memory: int

    def __post_init__(self) -> None:
        """Refuse sizes that can't work, before anything is asked.

        Raises:
            BenchmarkFailed: a chunk with a memory before and after it, or six passages, pass the context.
        """
        needed = INSTRUCTION_TOKENS + self.chunk + 2 * self.memory
        if needed > self.context or self.passage < LEAST_PASSAGE_TOKENS:
            raise BenchmarkFailed(
                f"a chunk of {self.chunk} tokens with a memory of {self.memory} before and after it needs {needed} "
                f"tokens, and llama-server's slots have {self.context}: lower --chunk-tokens or --memory-budget"
            )

    @property
    def passage(self) -> int:
        """The size of a passage of which as many as BM25 brings fit together."""
        return min(self.chunk, self.for_text // RETRIEVED)

    @property
    def for_text(self) -> int:
        """What is left for text beside instructions and an answer."""
        return self.context - INSTRUCTION_TOKENS - ANSWER_TOKENS
