"""What a conversation left behind, to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from service.core.ids import SessionId
from service.core.records import Entry, PendingCall, SessionCreated
from service.core.tool_port import ToolRequest
from service.core.views import TurnView
from tests.conversations.plan import Conversation, Manner, Strike
from tests.conversations.planned_llama import Sent


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A session at the end: its log with the place of each record in the store, and the messages that its API gives."""

    id: SessionId
    entries: Sequence[Entry]
    positions: Sequence[int]
    messages: str
    sent: Sequence[Sent]
    """The requests of its steps, in order."""
    calls: Sequence[ToolRequest]
    """What the port got of it."""

    @property
    def created(self) -> SessionCreated:
        """Its first record."""
        record = self.entries[0].record
        assert isinstance(record, SessionCreated)  # seq 1 is nothing else
        return record


@dataclass(frozen=True, slots=True)
class BehindTurn:
    """The session behind a turn: the messages that its API gives, the last prompt sent, and the log so far.

    `refused_writes` counts those of all turns up to here.
    """

    messages: str
    last: Sent | None
    records: int
    refused_writes: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of decisions, one after the other: why each was not taken, None where it was."""

    manner: Manner
    refused_by: tuple[str | None, ...]


@dataclass(slots=True)
class Played:
    """What a conversation left: its sessions, what the model was sent, and what was seen behind each turn."""

    plan: Conversation
    sessions: list[PlayedSession] = field(default_factory=list[PlayedSession])
    """The client's first, then those below it, oldest first."""
    summaries: list[Sent] = field(default_factory=list[Sent])
    """The requests for summaries, in order."""
    behind_turns: list[BehindTurn] = field(default_factory=list[BehindTurn])
    answered: list[Answered] = field(default_factory=list[Answered])
    struck: list[Strike] = field(default_factory=list[Strike])
    refused: list[str] = field(default_factory=list[str])
    """Why messages were not taken in."""
    compacted: int = 0
    """How often a summary was made by hand."""
    last: TurnView | None = None
    pending: Sequence[PendingCall] = ()
    """What waits for people at the end."""
    unseen_errors: list[str] = field(default_factory=list[str])
    """Errors of tasks that nobody waited for."""
    left_behind: tuple[int, ...] = ()
    """What should be nothing: permits in use, waiters, streams, calls and tasks."""

    @property
    def entries(self) -> Sequence[Entry]:
        """The log of the client's session."""
        return self.sessions[0].entries

    @property
    def is_store_struck(self) -> bool:
        """Whether writes were refused."""
        return any(seen.refused_writes for seen in self.behind_turns)
