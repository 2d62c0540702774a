"""What clients are shown of sessions and turns, with every field of the API's shapes."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from service.core.errors import ErrorKind
from service.core.records import Limit, Outcome
from service.core.session_status import SessionState
from service.core.views import SessionView, TurnState, TurnView
from service.web.schemas.answer import Answer, Time
from service.web.schemas.approvals import PendingAnswer
from service.web.schemas.baseline import BaselineAnswer


class UsageAnswer(Answer):
    """Sums over completions, in tokens."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    completions: int
    tool_calls: int


class ErrorAnswer(Answer):
    """Why a turn failed; `status` is the upstream's, where there was one."""

    kind: ErrorKind
    message: str
    status: int | None = Field(None, exclude_if=lambda status: status is None)


class TurnAnswer(Answer):
    """A turn."""

    id: str
    session: str
    state: TurnState
    created_at: Time
    finished_at: Time | None
    outcome: Outcome | None
    limit: Limit | None
    truncated: bool
    error: ErrorAnswer | None
    content: str | None
    steps: int
    usage: UsageAnswer
    pending: list[PendingAnswer]
    first_seq: int
    last_seq: int

    @classmethod
    def of(cls, view: TurnView) -> Self:
        """Show a turn."""
        return cls.model_validate(view)


class TurnList(Answer):
    """All turns of a session, oldest first."""

    items: list[TurnAnswer]


class ParentAnswer(Answer):
    """The call of another session that this one answers."""

    session: str
    turn: str
    call: int


class ForkAnswer(Answer):
    """The session that this one was forked from, and behind which record."""

    session: str
    seq: int


class ContextAnswer(Answer):
    """How full the session's context is; the size is null while the server is not known."""

    used_tokens: int
    size_tokens: int | None
    fill: float | None


class SessionAnswer(Answer):
    """A session."""

    id: str
    title: str
    metadata: dict[str, str]
    owner: str
    state: SessionState
    created_at: Time
    updated_at: Time
    agent: str | None
    parent: ParentAnswer | None
    fork: ForkAnswer | None
    baseline: BaselineAnswer
    running: str | None
    queued: list[str]
    last_seq: int
    usage: UsageAnswer
    context: ContextAnswer

    @classmethod
    def of(cls, view: SessionView) -> Self:
        """Show a session."""
        return cls(
            id=view.id,
            title=view.title,
            metadata=view.metadata,
            owner=view.owner,
            state=view.status.state,
            created_at=view.created_at,
            updated_at=view.updated_at,
            agent=view.agent,
            parent=None if view.parent is None else ParentAnswer.model_validate(view.parent),
            fork=None if view.fork is None else ForkAnswer.model_validate(view.fork),
            baseline=BaselineAnswer.of(view.baseline),
            running=view.status.running,
            queued=list(view.status.queued),
            last_seq=view.last_seq,
            usage=UsageAnswer.model_validate(view.status.usage),
            context=ContextAnswer.model_validate(view.context),
        )


class SessionPage(Answer):
    """A page of sessions, newest first; `next` is the `after` of the page that follows, null on the last."""

    items: list[SessionAnswer]
    next: str | None
