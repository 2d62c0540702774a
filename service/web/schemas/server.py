"""What clients are shown of llama-server: its slots, who holds them, and its template in words (L10)."""

from __future__ import annotations

from typing import Self

from service.turns.server_view import ServerNow
from service.web.schemas.answer import Answer
from service.web.schemas.baseline import TemplateAnswer


class SlotAnswer(Answer):
    """One of llama-server's slots; counts are tokens, null where the server does not tell."""

    id: int
    processing: bool
    context_tokens: int | None
    prompt_tokens: int | None
    prompt_processed: int | None
    prompt_cached: int | None
    decoded: int | None


class HolderAnswer(Answer):
    """Who holds a permit, or waits for one: a step of a turn, or a chunk of a reading; the rest is null.

    `turn` is null of a summary by hand, `chunk` of a reading's answer. Of what belongs to somebody else all is null.
    """

    session: str | None
    turn: str | None
    step: int | None
    reading: str | None
    chunk: int | None


class SlotList(Answer):
    """The slots as the server tells them, and our completions: `running` hold a permit, `queued` wait for one.

    Which of ours is in which slot is not told by the server. `message` says why `items` is empty.
    """

    items: list[SlotAnswer]
    message: str | None
    permits: int
    running: list[HolderAnswer]
    queued: list[HolderAnswer]
    template: TemplateAnswer | None
    words: list[str]

    @classmethod
    def of(cls, now: ServerNow) -> Self:
        """Show the server."""
        return cls(
            items=[SlotAnswer.model_validate(slot) for slot in now.slots],
            message=now.message,
            permits=now.permits,
            running=[HolderAnswer.model_validate(holder) for holder in now.running],
            queued=[HolderAnswer.model_validate(holder) for holder in now.queued],
            template=None if now.template is None else TemplateAnswer.model_validate(now.template),
            words=list(now.words),
        )
