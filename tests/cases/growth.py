"""Whether the prompts of a conversation only grow: judged by the bytes that were sent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tests.cases.strict_llama import Asked

OF_THE_TEMPLATE = ("tools", "chat_template_kwargs", "reasoning_effort", "parallel_tool_calls", "model")
"""What a chat template reads of a request beside its messages."""


def only_grows(conversation: Sequence[Asked]) -> bool:
    """Say whether each request's messages begin with all of the request before, and all else stays the same."""
    return all(
        _begins(later.member("messages"), earlier.member("messages"))
        and all(later.member(name) == earlier.member(name) for name in OF_THE_TEMPLATE)
        for earlier, later in pairwise(conversation)
    )


def _begins(later: bytes, earlier: bytes) -> bool:
    # Without the bracket that closes the list.
    return later == earlier or later.startswith(earlier[:-1] + b",")
