"""What must hold of every conversation, whatever happened in it."""

from __future__ import annotations

from collections import Counter

from service.core.baseline import Compaction
from service.core.errors import ErrorKind
from service.core.projection import Projection
from service.core.records import (
    Assistant,
    Outcome,
    SessionCreated,
    StepUsage,
    Summary,
    ToolResult,
    TurnFinished,
    User,
)
from service.core.turn_fold import fold
from service.core.turn_state import Phase
from tests.conversations.approval_judgement import judge_approvals
from tests.conversations.handoff_judgement import judge_handoffs
from tests.conversations.planned_llama import as_json
from tests.conversations.played import Played, PlayedSession
from tests.conversations.prompt_judgement import covers, extends, judge_prompts, judge_summaries
from tests.conversations.world import ROOMY_TOKENS, SENT_ONCE


def judge(played: Played) -> None:
    """Check a conversation.

    Raises:
        AssertionError: a property does not hold; the text says which.
        MalformedPrompt: a prompt breaks a rule of the strictest template.
    """
    for session in played.sessions:
        judge_prompts(session, played.plan)
        _ends_once(session)
        _folds_to_nothing_open(session)
        _is_sent_once(session)
    judge_summaries(played)
    judge_approvals(played)
    judge_handoffs(played)
    _ends_at_once(played)
    _goes_on(played)
    _shows_what_was_sent(played)
    assert not played.pending, f"waits for people at the end: {played.pending}"
    assert not played.unseen_errors, played.unseen_errors
    assert not any(played.left_behind), f"left behind: {played.left_behind}"


def _ends_once(session: PlayedSession) -> None:
    """Each turn ends once and each call has one result, in its own turn; nothing is a defect of ours (T13)."""
    ends, calls, results = Counter[object](), Counter[object](), Counter[object]()
    began: list[object] = []
    for entry in session.entries:
        match entry.record:
            case User():
                began.append(entry.turn)
            case Assistant(tool_calls=made):
                calls.update((entry.turn, call.call) for call in made)
            case ToolResult(call=number):
                results[entry.turn, number] += 1
            case TurnFinished(error=error):
                ends[entry.turn] += 1
                assert error is None or error.kind is not ErrorKind.INTERNAL, error
            case _:
                pass
    assert ends == Counter(began), f"turns {began} of {session.id} ended so often: {ends}"
    assert calls == results, f"calls {calls} have results {results}"
    assert all(times == 1 for times in calls.values()), f"a call number is used twice: {calls}"


def _folds_to_nothing_open(session: PlayedSession) -> None:
    assert fold(session.entries).phase is Phase.IDLE


def _is_sent_once(session: PlayedSession) -> None:
    """No call reaches the port twice, but for tools that allow it (S4)."""
    keys = Counter((call.tool, call.idempotency_key) for call in session.calls)
    twice = [key for key, times in keys.items() if times > 1 and key[0] in SENT_ONCE]
    assert not twice, f"sent twice: {twice}"


def _ends_at_once(played: Played) -> None:
    """Nothing but a write that failed leaves a turn open; the next turn ends it then (S5)."""
    refused = 0
    for seen in played.behind_turns:
        if seen.refused_writes == refused:
            last = played.entries[seen.records - 1].record
            # A summary by hand stands between two turns.
            assert isinstance(last, TurnFinished | SessionCreated | Summary | StepUsage), f"a turn is left open: {last}"
        refused = seen.refused_writes


def _goes_on(played: Played) -> None:
    """A last plain turn is answered, where there is room for it."""
    plan, last = played.plan, played.last
    if plan.context_tokens < ROOMY_TOKENS or plan.compaction is Compaction.OFF:
        assert last is not None or played.refused[-1] == "session_full", "the last turn could not be started"
        assert last is None or last.outcome in (Outcome.ANSWERED, Outcome.SESSION_FULL), last
        return
    assert last is not None, f"the last turn could not be started: {played.refused}"
    assert (last.outcome, last.limit) == (Outcome.ANSWERED, None), last


def _shows_what_was_sent(played: Played) -> None:
    """What the API gives as messages begins with the last prompt, and the log alone gives the same."""
    projection, place = Projection(), 0
    for seen in played.behind_turns:
        for entry in played.entries[place : seen.records]:
            projection.apply(entry.record, entry.turn)
        place = seen.records
        assert as_json(projection.messages) == seen.messages, "the log gives other messages than the process had"
        if seen.last is not None and not covers(played.entries[seen.last.seq : seen.records]):
            assert extends(seen.last.prompt, seen.messages), f"{seen.messages}\ndoes not extend\n{seen.last.prompt}"
    assert place == len(played.entries)
