"""What can stop the benchmark as a whole, or one attempt of it."""

from __future__ import annotations


class BenchmarkFailed(Exception):
    """Nothing can be measured; the message is one line for the person at the terminal."""


class AttemptFailed(Exception):
    """One rival gave no answer to one task; the others go on."""


class DoesNotFit(Exception):
    """The rival can't take a text of this length in this context."""
