"""What the signals of a turn mean."""

from __future__ import annotations

from service.core.signals import (
    ContentDelta,
    Partial,
    Progress,
    Queued,
    ReasoningDelta,
    Resync,
    Retrying,
    SessionDeleted,
    ShuttingDown,
    StoreBroken,
    ThinkingCapped,
    Waiting,
)
from service.web.schemas.events.said import Words

SIGNAL_WORDS: dict[type, Words] = {
    Queued: Words(
        says="It waits for a place at the model server, or for an earlier turn; told again when the place changes.",
        fields={"position": "Its place, counted from 1."},
    ),
    Waiting: Words(
        says="The model server has sent nothing yet; told again while that lasts.",
        fields={"reason": "What is waited for."},
    ),
    Progress: Words(
        says="The model server reads the prompt.",
        fields={
            "processed": "Tokens that it has read.",
            "cached": "Tokens of these that were in its cache.",
            "total": "Tokens of the prompt.",
            "time_ms": "How long it has read, in milliseconds.",
        },
    ),
    ReasoningDelta: Words(says="A piece of the model's thought.", fields={"text": "The piece."}),
    ContentDelta: Words(says="A piece of the model's answer.", fields={"text": "The piece."}),
    Partial: Words(
        says="All that a step has said before this connection: put it in place of what you have of the step.",
        fields={"content": "Its text so far.", "reasoning": "Its thought so far."},
    ),
    ThinkingCapped: Words(
        says="The thought has come to its cap; the answer follows.",
        fields={"reasoning_tokens": "Tokens of thought so far."},
    ),
    Retrying: Words(
        says="The step is tried again: forget the text that came of it.",
        fields={"reason": "What failed."},
    ),
    Resync: Words(
        says="The cursor lies beyond the end of the store, which is another one than before: read anew what you show.",
        fields={"last_pos": "The `pos` of the last record that there is."},
    ),
    ShuttingDown: Words(says="The service stops and the stream ends; come back, the turn goes on."),
    SessionDeleted: Words(says="The session was deleted, and its stream ends."),
    StoreBroken: Words(says="The log can't be written or read, and the stream ends; ask again how the turn ended."),
}
