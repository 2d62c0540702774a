"""What must hold of every conversation, whatever happened in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from service.core.errors import ErrorKind
from service.core.json_types import JsonObject
from service.core.projection import Projection
from service.core.records import Assistant, Entry, Outcome, SessionCreated, ToolResult, TurnFinished, User
from service.core.turn_fold import fold
from service.core.turn_state import Phase
from tests.conversations.driver import Played
from tests.conversations.planned_llama import as_json
from tests.conversations.world import SENT_ONCE
from tests.fakes.strict_prompt import check_prompt


def judge(played: Played) -> None:
    """Check a conversation.

    Raises:
        AssertionError: a property does not hold; the text says which.
        MalformedPrompt: a prompt breaks a rule of the strictest template.
    """
    _grows_only(played)
    _is_well_formed(played)
    _ends_once(played.entries)
    _ends_at_once(played)
    _shows_calls_in_order(played)
    _goes_on(played)
    _shows_what_was_sent(played)
    _folds_to_the_same(played)
    _is_sent_once(played)
    assert not played.unseen_errors, played.unseen_errors
    assert not any(played.left_behind), f"left behind: {played.left_behind}"


def _grows_only(played: Played) -> None:
    """P2: each request extends the one before, byte for byte, and what the template reads stays the same."""
    for before, after in zip(played.sent, played.sent[1:], strict=False):
        assert extends(before.prompt, after.prompt), f"{after.prompt}\ndoes not extend\n{before.prompt}"
    read = {as_json(_read_by_template(sent.request)) for sent in played.sent}
    assert len(read) == 1, f"the head of the prompt changed: {read}"


def extends(earlier: str, later: str) -> bool:
    """Say whether one JSON list begins with the elements of another, byte for byte."""
    return later == earlier or earlier == "[]" or later.startswith(earlier[:-1] + ", ")


def _read_by_template(request: object) -> list[object]:
    names = ("tools", "thinking", "model", "parallel_tool_calls")
    return [getattr(request, name) for name in names]


def _is_well_formed(played: Played) -> None:
    """P4, P8."""
    for sent in played.sent:
        messages: list[JsonObject] = json.loads(sent.prompt)
        check_prompt(messages, played.profile)


def _ends_once(entries: Iterable[Entry]) -> None:
    """Each turn ends once and each call has one result, in its own turn; nothing is a defect of ours (T13)."""
    ends, calls, results = Counter[object](), Counter[object](), Counter[object]()
    began: list[object] = []
    for entry in entries:
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
    assert ends == Counter(began), f"turns {began} ended so often: {ends}"
    assert calls == results, f"calls {calls} have results {results}"
    assert all(times == 1 for times in calls.values()), f"a call number is used twice: {calls}"


def _ends_at_once(played: Played) -> None:
    """Nothing but a write that failed leaves a turn open; the next turn ends it then (S5)."""
    refused = 0
    for seen in played.behind_turns:
        if seen.refused_writes == refused:
            last = played.entries[seen.records - 1].record
            assert isinstance(last, TurnFinished | SessionCreated), f"a turn is left open: {last}"
        refused = seen.refused_writes


def _shows_calls_in_order(played: Played) -> None:
    """Calls stand in the prompt as the model made them, each with the text of its own result (T8, P6)."""
    batches = [entry.record.tool_calls for entry in played.entries if isinstance(entry.record, Assistant)]
    made = [call for batch in batches for call in batch]
    texts = {
        entry.record.call: entry.record.content for entry in played.entries if isinstance(entry.record, ToolResult)
    }
    messages: list[JsonObject] = json.loads(played.behind_turns[-1].messages)
    shown = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert shown == [call.tool_call_id for call in made], "calls stand in another order than the model made them"
    for call, result in zip(made, results, strict=True):
        assert texts[call.call] in result, f"call {call.call} has the result {result}"


def _goes_on(played: Played) -> None:
    """A last plain turn is answered."""
    last = played.last
    assert last is not None, "the last turn could not be started"
    assert (last.outcome, last.limit) == (Outcome.ANSWERED, None), last


def _shows_what_was_sent(played: Played) -> None:
    """What the API gives as messages begins with the last prompt."""
    for seen in played.behind_turns:
        assert extends(seen.last_prompt, seen.messages), f"{seen.messages}\ndoes not extend\n{seen.last_prompt}"


def _folds_to_the_same(played: Played) -> None:
    """The log alone gives what the process had in memory, at the end of each turn."""
    projection, place = Projection(), 0
    for seen in played.behind_turns:
        for entry in played.entries[place : seen.records]:
            projection.apply(entry.record)
        place = seen.records
        assert as_json(projection.messages) == seen.messages, "the log gives other messages than the process had"
    assert place == len(played.entries)
    assert isinstance(played.entries[0].record, SessionCreated)
    assert fold(played.entries).phase is Phase.IDLE


def _is_sent_once(played: Played) -> None:
    """No call reaches the port twice, but for tools that allow it (S4)."""
    twice = [key for key, times in played.keys.items() if times > 1 and key[0] in SENT_ONCE]
    assert not twice, f"sent twice: {twice}"
