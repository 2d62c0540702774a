"""Notices when the server's cache held less of a prompt than it should have, and finds out why (P5)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace

import structlog

from service.access.model_server import ModelServer
from service.core.cache import (
    Circumstances,
    Expectation,
    expected_cache,
    is_another_server,
    is_slot_taken,
    lost_tokens,
    reason_of,
)
from service.core.completion_events import Completion
from service.core.completion_request import CompletionRequest
from service.core.errors import ModelFailure
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from service.core.records import CacheLoss
from service.core.request_building import measured_prompt
from service.ports import Llama
from service.turns.live_session import LiveSession

log = structlog.get_logger(__name__)

# Sessions of which it is remembered when they last had a completion.
SESSIONS_KEPT = 4096


@dataclass(frozen=True, slots=True)
class _Served:
    """A completion as it was served: its place among all of them, which life of the server, with which template.

    `summarised` says that a summary of the session was written since, whose own prompt took the place in the cache.
    """

    order: int
    life: int
    template: str | None
    summarised: bool = False


@dataclass(frozen=True, slots=True)
class LostCache:
    """What a completion lost, in tokens; `earlier` is the prompt that had filled the cache, `prompt` the one now."""

    expected: int
    cached: int
    lost: int
    before: _Served | None
    earlier: CompletionRequest
    prompt: CompletionRequest
    compacted: bool


class CacheWatch:
    """Remembers what was served to whom, as far as a reason for a lost cache needs it."""

    def __init__(self, llama: Llama, server: ModelServer, *, slack: int) -> None:
        self._llama = llama
        self._server = server
        self._slack = slack
        self._order = 0
        self._served: OrderedDict[SessionId, _Served] = OrderedDict()
        self._served_in_life = 0
        self._life = 0

    def look(self, live: LiveSession, completion: Completion) -> LostCache | None:
        """Say what a completion lost, if it did; call it for each one, before its records are appended."""
        before = self._served.get(live.id)
        self._note(live.id)
        expected = self._expected(live, before)
        lost = 0 if completion.estimated else lost_tokens(expected, completion.usage, slack=self._slack)
        if expected is None or lost == 0:
            return None
        prompt = _prompt(live, live.messages)
        earlier = _prompt(live, live.messages[: expected.messages])
        compacted = live.state.compacted_from > 0 or (before is not None and before.summarised)
        return LostCache(expected.tokens, completion.usage.cached_tokens, lost, before, earlier, prompt, compacted)

    def summarised(self, session: SessionId) -> None:
        """Take note of a completion that wrote a summary of this session, whether that is kept or not."""
        self._count_life(self._server.lives)
        self._served_in_life += 1
        served = self._served.get(session)
        if served is not None:
            self._served[session] = replace(served, summarised=True)

    async def explain(self, live: LiveSession, step: int, lost: LostCache) -> CacheLoss:
        """Find out why; the server is asked."""
        loss = CacheLoss(
            step=step,
            expected_tokens=lost.expected,
            cached_tokens=lost.cached,
            lost_tokens=lost.lost,
            reason=reason_of(await self._happened(live, lost)),
        )
        log.info("cache.loss", session=live.id, turn=live.state.turn, reason=loss.reason, lost_tokens=loss.lost_tokens)
        return loss

    def _note(self, session: SessionId) -> None:
        self._count_life(self._server.lives)
        self._order += 1
        self._served_in_life += 1
        self._served[session] = _Served(self._order, self._life, self._server.template_hash)
        self._served.move_to_end(session)
        while len(self._served) > SESSIONS_KEPT:
            self._served.popitem(last=False)

    def _count_life(self, life: int) -> None:
        if life != self._life:
            self._life = life
            self._served_in_life = 0

    def _expected(self, live: LiveSession, before: _Served | None) -> Expectation | None:
        if self._has_other_template(live, before):
            # What its predecessor kept is gone, whatever it would have kept itself.
            return expected_cache(live.state, live.prompt_sizes, None)
        return expected_cache(live.state, live.prompt_sizes, live.baseline.template or self._server.template)

    def _has_other_template(self, live: LiveSession, before: _Served | None) -> bool:
        own = live.baseline.template
        was = before.template if before is not None else own.hash if own is not None else None
        now = self._server.template_hash
        return was is not None and now is not None and was != now

    async def _happened(self, live: LiveSession, lost: LostCache) -> Circumstances:
        if lost.compacted:
            return Circumstances(compacted=True)
        before = lost.before
        restarted = await self._was_restarted(before)
        if restarted:
            # Another template may have come with it.
            await self._server.facts_or_none()
        other_template = self._has_other_template(live, before)
        self._served[live.id] = _Served(self._order, self._life, self._server.template_hash)
        rewritten = not (other_template or restarted) and await self._is_rewritten(lost)
        return Circumstances(
            template_changed=other_template,
            server_restarted=restarted,
            template_rewrites_history=rewritten,
            slot_taken=before is not None and is_slot_taken(self._others_since(before), self._server.slots),
        )

    def _others_since(self, before: _Served) -> int:
        """Count the other sessions that were served since then; this one was served last."""
        return sum(1 for served in self._served.values() if served.order > before.order) - 1

    async def _was_restarted(self, before: _Served | None) -> bool:
        if before is not None and before.life != self._life:
            return True
        try:
            slots = await self._llama.slots()
        except ModelFailure:
            return False
        if not is_another_server([slot.task for slot in slots if slot.task is not None], self._served_in_life):
            return False
        self._server.was_away()
        self._count_life(self._server.lives)
        # The completion that told it is the first one of this life that we know of.
        self._served_in_life = 1
        return True

    async def _is_rewritten(self, lost: LostCache) -> bool:
        """Ask the server to render the two prompts: the earlier must begin the later."""
        try:
            earlier, later = await asyncio.gather(self._llama.render(lost.earlier), self._llama.render(lost.prompt))
        except ModelFailure:
            return False
        return not later.startswith(earlier)


def _prompt(live: LiveSession, messages: tuple[JsonObject, ...]) -> CompletionRequest:
    return measured_prompt(live.baseline, messages, live.toolset)
