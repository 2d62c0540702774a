"""What came of a compaction by hand (C1)."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from service.core.labels import DataClass
from service.turns.session_view import Compacted
from service.web.schemas.answer import Answer
from service.web.schemas.answers import SessionAnswer, UsageAnswer


class SummaryAnswer(Answer):
    """A summary: it stands for all records up to `covers`; tokens are those of the prompt before and after."""

    seq: int
    covers: int
    text: str
    shortened: list[int]
    tokens_before: int
    tokens_after: int
    data_class: DataClass = Field(serialization_alias="class")
    untrusted: bool
    usage: UsageAnswer


class CompactionAnswer(Answer):
    """What was done; `summary` is null when nothing was, and `detail` says in a sentence what came of it."""

    summary: SummaryAnswer | None
    detail: str
    session: SessionAnswer

    @classmethod
    def of(cls, done: Compacted) -> Self:
        """Show what came of it."""
        summary, seq = done.by_hand.summary, done.by_hand.seq
        shown = None
        if summary is not None and seq is not None:
            shown = SummaryAnswer(
                seq=seq,
                covers=summary.covers,
                text=summary.text,
                shortened=list(summary.shortened),
                tokens_before=summary.tokens_before,
                tokens_after=summary.tokens_after,
                data_class=summary.data_class,
                untrusted=summary.untrusted,
                usage=UsageAnswer.model_validate(summary.usage),
            )
        return cls(summary=shown, detail=done.by_hand.detail, session=SessionAnswer.of(done.session))
