"""What must hold of every prompt: it only grows, but across a summary, and suits the strictest template (P2, P4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

from service.core.baseline import Compaction
from service.core.json_types import JsonObject
from service.core.projection import Projection
from service.core.records import Assistant, Entry, Summary, ToolCall, ToolResult, User
from tests.conversations.plan import Conversation
from tests.conversations.planned_llama import Sent, as_json
from tests.conversations.played import Played, PlayedSession
from tests.fakes.strict_prompt import check_prompt


def judge_prompts(session: PlayedSession, plan: Conversation) -> None:
    """Check all prompts of a session, and the messages that its API gives at the end."""
    _grows_only(session)
    _keeps_its_head(session)
    _is_what_the_log_gives(session)
    _shows_calls_in_order(session)
    for sent in session.sent:
        messages: list[JsonObject] = json.loads(sent.prompt)
        check_prompt(messages, session.created.baseline.template)
        assert sent.tokens < plan.context_tokens, f"a prompt of {sent.tokens} tokens was sent"


def judge_summaries(played: Played) -> None:
    """Check the requests for summaries (C1)."""
    allowed = {session.id for session in played.sessions if session.created.baseline.compaction is Compaction.ON}
    for sent in played.summaries:
        assert sent.session in allowed, "a summary though compaction is off"
        messages: list[JsonObject] = json.loads(sent.prompt)
        check_prompt(messages)
        assert [message["role"] for message in messages] == ["user"]


def extends(earlier: str, later: str) -> bool:
    """Say whether one JSON list begins with the elements of another, byte for byte."""
    return later == earlier or earlier == "[]" or later.startswith(earlier[:-1] + ", ")


def covers(entries: Iterable[Entry]) -> bool:
    """Say whether a summary is among these records: behind it the prompt begins anew."""
    return any(isinstance(entry.record, Summary) for entry in entries)


def _grows_only(session: PlayedSession) -> None:
    """P2: each request extends the one before, byte for byte, except across a summary."""
    for before, after in pairwise(session.sent):
        if not covers(session.entries[before.seq : after.seq]):
            assert extends(before.prompt, after.prompt), f"{after.prompt}\ndoes not extend\n{before.prompt}"


def _keeps_its_head(session: PlayedSession) -> None:
    """What the template reads beside the messages stays the same, and so does the system prompt."""
    read = {as_json(_read_by_template(sent)) for sent in session.sent}
    assert len(read) <= 1, f"the head of the prompt changed: {read}"
    baseline = session.created.baseline
    has_role = baseline.template is None or baseline.template.system_role
    for sent in session.sent:
        first = sent.request.messages[0]
        assert first["role"] == ("system" if baseline.system and has_role else "user"), first
        assert first["content"].startswith(baseline.system), first


def _read_by_template(sent: Sent) -> list[object]:
    names = ("tools", "thinking", "model", "parallel_tool_calls")
    return [getattr(sent.request, name) for name in names]


def _is_what_the_log_gives(session: PlayedSession) -> None:
    """The log alone gives each prompt, and what the API shows; the running turn's message stands there word by word."""
    projection, place, asked = Projection(), 0, ""
    for sent in session.sent:
        for entry in session.entries[place : sent.seq]:
            projection.apply(entry.record, entry.turn)
            asked = entry.record.content if isinstance(entry.record, User) else asked
        place = sent.seq
        assert projection.messages == sent.request.messages, "the log gives another prompt than was sent"
        said = [message["content"] for message in sent.request.messages if message["role"] == "user"]
        assert said[-1].endswith(asked), f"{said[-1]} is not {asked}"
    for entry in session.entries[place:]:
        projection.apply(entry.record, entry.turn)
    assert as_json(projection.messages) == session.messages, "the log gives other messages than the process had"


def _shows_calls_in_order(session: PlayedSession) -> None:
    """Calls stand in the prompt as the model made them, each with the text of its own result (T8, P6, C1)."""
    last = next((entry.record for entry in reversed(session.entries) if isinstance(entry.record, Summary)), None)
    made = _calls(session.entries, 0 if last is None else last.covers)
    shortened = () if last is None else last.shortened
    texts = {
        entry.record.call: entry.record.content for entry in session.entries if isinstance(entry.record, ToolResult)
    }
    messages: list[JsonObject] = json.loads(session.messages)
    shown = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert shown == [call.tool_call_id for call in made], "calls stand in another order than the model made them"
    for call, result in zip(made, results, strict=True):
        text = texts[call.call]
        is_shown = text[:_LEAST_SHOWN] in result if call.call in shortened else text in result
        assert is_shown, f"call {call.call} has the result {result}"


_LEAST_SHOWN = 20


def _calls(entries: Sequence[Entry], covered: int) -> list[ToolCall]:
    batches = [
        entry.record.tool_calls for entry in entries if isinstance(entry.record, Assistant) and entry.seq > covered
    ]
    return [call for batch in batches for call in batch]
