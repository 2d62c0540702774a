"""Has the model write a summary: a request of its own for each piece that fits, each merged into the next (C1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from service.core.compaction import Room, Scale
from service.core.completion_events import Completion
from service.core.errors import ContextFull, ErrorKind, ModelFailure, TurnkeeperError
from service.core.summarising import is_beyond, piece_bytes, summary_request
from service.core.transcript import Passage, pieces
from service.core.usage import UsageTotals
from service.turns.asking import Asking, Heard
from service.turns.cache_watch import CacheWatch
from service.turns.live_session import LiveSession

log = structlog.get_logger(__name__)

# How often the pieces are made smaller when the server finds one too long: the estimate was wrong by so many halves.
_HALVINGS = 3


class NoSummary(TurnkeeperError):
    """No summary came of it; `spent` is what it cost all the same.

    `kind` is for logs: the reason may be the server's words, and hold what was said.
    """

    def __init__(self, reason: str, spent: UsageTotals, kind: ErrorKind = ErrorKind.EMPTY_ANSWER) -> None:
        super().__init__(reason)
        self.spent = spent
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A summary in the model's words, and what it cost."""

    text: str
    spent: UsageTotals


class SummaryWriter:
    """Asks the model for summaries."""

    def __init__(self, asking: Asking, cache: CacheWatch) -> None:
        self._asking = asking
        self._cache = cache

    async def write(
        self, live: LiveSession, told: Sequence[Passage], *, earlier: str, fence: str | None, room: Room, scale: Scale
    ) -> Written:
        """Have these passages summarised, with the earlier summary merged in; `fence` encloses it when set.

        Raises:
            NoSummary: the model failed, said nothing, or went on without an end.
        """
        most_bytes, spent = piece_bytes(room, scale, earlier), UsageTotals()
        for _ in range(_HALVINGS):
            try:
                return await self._write(live, pieces(told, most_bytes), earlier, fence, room, spent)
            except _TooLong as too_long:
                spent, most_bytes = too_long.spent, most_bytes // 2
        raise NoSummary("a piece of the conversation never fitted the context", spent, ErrorKind.CONTEXT_FULL)

    async def _write(
        self, live: LiveSession, parts: Sequence[str], text: str, fence: str | None, room: Room, spent: UsageTotals
    ) -> Written:
        for part in parts:
            request, heard = summary_request(live.baseline, part, earlier=text, fence=fence, room=room), Heard()
            try:
                completion = await self._asking.ask_aside(live, request, heard)
            except ContextFull as full:
                raise _TooLong(full.message, spent, full.kind) from full
            except ModelFailure as failure:
                raise NoSummary(failure.message, spent + _cost_of(heard), failure.kind) from failure
            finally:
                self._cache.summarised(live.id)
            spent += _usage_of(completion)
            if is_beyond(completion.usage.completion_tokens, room):
                raise NoSummary("the summary is longer than the server was told", spent, ErrorKind.PROTOCOL)
            text = completion.content.strip()
            if not text:
                raise NoSummary("the model said nothing", spent)
        return Written(text=text, spent=spent)


class _TooLong(NoSummary):
    """The server found a request longer than its context."""


def _usage_of(completion: Completion) -> UsageTotals:
    usage = completion.usage
    return UsageTotals(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        completions=1,
    )


def _cost_of(heard: Heard) -> UsageTotals:
    return UsageTotals(
        prompt_tokens=heard.prompt_tokens,
        cached_tokens=heard.cached_tokens,
        completion_tokens=heard.reasoning_tokens + heard.content_tokens,
        reasoning_tokens=heard.reasoning_tokens,
        completions=1,
    )
