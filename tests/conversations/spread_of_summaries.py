"""How a conversation was kept within its context, in words."""

from __future__ import annotations

from collections.abc import Iterator

from service.core.baseline import Compaction
from service.core.records import Assistant, Outcome, StepUsage, Summary, TurnFinished, User
from tests.conversations.played import Played, PlayedSession

OF_SUMMARIES = (
    "a summary",
    "a summary between turns",
    "a summary between steps",
    "a summary by hand",
    "a second summary",
    "a second summary in a turn",
    "a summary in a child",
    "a summary of untrusted text",
    "a summary that came to nothing",
    "a summary in pieces",
    "results shortened",
    "results shortened without a summary",
    "full though summaries are on",
    "full where summaries are off",
    "compact_messages",
)
"""Ingredients of compaction that the generator must bring about."""


def of_summaries(played: Played) -> Iterator[str]:
    """Name what was done to keep the prompts small."""
    if played.compacted:
        yield "a summary by hand"
    if played.plan.compact_messages:
        yield "compact_messages"
    for session in played.sessions:
        found = set(_of_session(session))
        yield from found
        if "a summary" in found and session.created.depth > 0:
            yield "a summary in a child"
    for before, after in zip(played.summaries, played.summaries[1:], strict=False):
        if (before.session, before.seq) == (after.session, after.seq):
            yield "a summary in pieces"


def _of_session(session: PlayedSession) -> Iterator[str]:
    steps, written, in_turn = 0, 0, 0
    for entry in session.entries:
        match entry.record:
            case User():
                steps, in_turn = 0, 0
            case Assistant():
                steps += 1
            case Summary() as summary:
                yield from _of_summary(summary, steps)
                if summary.text:
                    written, in_turn = written + 1, in_turn + 1
                if written > 1:
                    yield "a second summary"
                if in_turn > 1:
                    yield "a second summary in a turn"
            case StepUsage(summary=True):
                yield "a summary that came to nothing"
            case TurnFinished(outcome=Outcome.SESSION_FULL):
                is_off = session.created.baseline.compaction is Compaction.OFF
                yield "full where summaries are off" if is_off else "full though summaries are on"
            case _:
                pass


def _of_summary(summary: Summary, steps: int) -> Iterator[str]:
    if summary.shortened:
        yield "results shortened" if summary.text else "results shortened without a summary"
    if summary.text:
        yield "a summary"
        yield "a summary between steps" if steps else "a summary between turns"
    if summary.untrusted:
        yield "a summary of untrusted text"
