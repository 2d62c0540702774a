"""The judgement of conversations finds what must not be: each fault is put into a conversation that has none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import structlog

from service.core.records import ApprovalDecided, HandoffReturned, Summary
from tests.conversations.batches import be_quiet
from tests.conversations.driver import play
from tests.conversations.judgement import judge
from tests.conversations.plan import CallPlan, Conversation, Manner, PlayPlan, TurnPlan, Word
from tests.conversations.planned_llama import Sent, as_json
from tests.conversations.played import Answered, Played, PlayedSession

pytestmark = pytest.mark.anyio

FULL = PlayPlan(prompt_tokens=4096)
ASK = PlayPlan(calls=(CallPlan("asks", '{"city": "Paris"}'),))
HAND_OVER = PlayPlan(calls=(CallPlan("handoff_to", '{"agent": "expert", "message": "Go on."}', child=(ASK,)),))
LONG = PlayPlan(calls=(CallPlan("long", '{"city": "Paris"}', "a"), CallPlan("wild_long", "{}", "b")))

DENIED = Conversation((TurnPlan(plays=(ASK,), words=(Word(approved=(False,)),)),))
APPROVED = Conversation((TurnPlan(plays=(ASK,)),))
HANDED_OVER = Conversation((TurnPlan(plays=(HAND_OVER,)),), agents=True)
SUMMARISED = Conversation((TurnPlan(plays=(LONG, FULL)),))

Spoil = Callable[[PlayedSession], PlayedSession]


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    before = structlog.get_config()
    be_quiet()
    yield
    structlog.configure(**before)


def with_prompt(sent: Sent, change: Callable[[str], str]) -> Sent:
    """Give a request with another prompt."""
    prompt = change(sent.prompt)
    return replace(sent, prompt=prompt, request=replace(sent.request, messages=tuple(json.loads(prompt))))


def without(session: PlayedSession, record: type) -> PlayedSession:
    """Leave records of a kind out of a log."""
    kept = [place for place, entry in enumerate(session.entries) if not isinstance(entry.record, record)]
    entries = [session.entries[place] for place in kept]
    return replace(session, entries=entries, positions=[session.positions[place] for place in kept])


def undecided(session: PlayedSession) -> PlayedSession:
    """Leave out what people decided."""
    return without(session, ApprovalDecided)


def unsummarised(session: PlayedSession) -> PlayedSession:
    """Leave out the summaries, across which a prompt may change."""
    return without(session, Summary)


def not_returned(session: PlayedSession) -> PlayedSession:
    """Leave out that children returned."""
    return without(session, HandoffReturned)


def too_early(session: PlayedSession) -> PlayedSession:
    """Put all of it before what its children did."""
    return replace(session, positions=[0 for _ in session.entries])


def other_messages(session: PlayedSession) -> PlayedSession:
    """Show other messages than the log has."""
    return replace(session, messages=as_json([]))


def sent_unasked(session: PlayedSession) -> PlayedSession:
    """Have the port get a call without the approval."""
    return replace(session, calls=[replace(call, approval=None) for call in session.calls])


def denied(session: PlayedSession) -> PlayedSession:
    """Have people deny what ran."""
    entries = [
        replace(entry, record=replace(entry.record, approved=False))
        if isinstance(entry.record, ApprovalDecided)
        else entry
        for entry in session.entries
    ]
    return replace(session, entries=entries)


def sent_twice(session: PlayedSession) -> PlayedSession:
    """Have the port get each call twice."""
    return replace(session, calls=[*session.calls, *session.calls])


def other_system(session: PlayedSession) -> PlayedSession:
    """Change the system prompt of the last request."""
    last = with_prompt(session.sent[-1], lambda prompt: prompt.replace("Some tool results", "No tool results", 1))
    return replace(session, sent=[*session.sent[:-1], last])


def other_past(session: PlayedSession) -> PlayedSession:
    """Change what the last request shows of the past."""
    last = with_prompt(session.sent[-1], lambda prompt: prompt.replace("Paris", "Oslo"))
    return replace(session, sent=[*session.sent[:-1], last])


async def played(plan: Conversation) -> Played:
    """Play a conversation that has no fault."""
    result = await play(plan)
    judge(result)
    return result


@pytest.mark.rules("A1", "A2", "P2", "C1", "S4")
@pytest.mark.parametrize(
    ("plan", "spoil"),
    [
        (APPROVED, sent_unasked),
        (APPROVED, denied),
        (APPROVED, sent_twice),
        (APPROVED, undecided),
        (APPROVED, other_system),
        (APPROVED, other_past),
        (SUMMARISED, other_system),
        (SUMMARISED, unsummarised),
        (HANDED_OVER, not_returned),
        (HANDED_OVER, too_early),
        (HANDED_OVER, other_messages),
    ],
)
async def test_a_fault_in_a_session_is_found(plan: Conversation, spoil: Spoil) -> None:
    result = await played(plan)

    result.sessions[0] = spoil(result.sessions[0])

    with pytest.raises(Exception):  # noqa: B017, PT011 - of whichever kind
        judge(result)


@pytest.mark.rules("G2")
@pytest.mark.parametrize("spoil", [sent_unasked, denied, other_past])
async def test_a_fault_in_a_child_is_found(spoil: Spoil) -> None:
    result = await played(HANDED_OVER)

    result.sessions[1] = spoil(result.sessions[1])

    with pytest.raises(AssertionError):
        judge(result)


@pytest.mark.rules("A2")
@pytest.mark.parametrize(
    "answered",
    [
        Answered(Manner.WRONG_DIGEST, (None, "not_pending")),
        Answered(Manner.TWICE, (None, "not_pending")),
        Answered(Manner.RIVALS, (None, None)),
    ],
)
async def test_a_decision_that_is_answered_wrongly_is_found(answered: Answered) -> None:
    result = await played(DENIED)

    result.answered.append(answered)

    with pytest.raises(AssertionError):
        judge(result)


@pytest.mark.rules("A6")
async def test_what_waits_at_the_end_is_found() -> None:
    result = await played(APPROVED)
    asked = [pending for entry in result.entries for pending in getattr(entry.record, "calls", ())]

    result.pending = asked

    with pytest.raises(AssertionError):
        judge(result)
