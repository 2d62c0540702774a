"""Fit before asking: a message that can't fit is refused before it is taken in (C0)."""

from __future__ import annotations

from service.access.model_server import ModelServer
from service.core.baseline import Compaction
from service.core.compaction import Room
from service.core.errors import ProblemCode, RequestRefused
from service.core.request_building import most_tokens
from service.core.summary_text import stored_text
from service.turns.compaction import Compactor
from service.turns.live_session import LiveSession


class Preflight:
    """Asks the server for the size of a prompt, but only when the message might not fit."""

    def __init__(self, server: ModelServer, compactor: Compactor) -> None:
        self._server = server
        self._compactor = compactor

    async def check(self, live: LiveSession, content: str) -> None:
        """Let the message pass if it fits, or would after a compaction; also when the server can't be asked.

        Raises:
            RequestRefused: prompt and message leave less than `min_room` tokens (`session_full`).
        """
        facts = await self._server.facts_or_none()
        if facts is None:
            return
        room, messages = self._compactor.room(facts.context_tokens), live.messages_with(content)
        if _fits(room, most_tokens(live.baseline, messages, live.state, live.prompt_sizes.counted)):
            return
        tokens = await self._compactor.count(live, messages)
        if tokens is None or _fits(room, tokens):
            return
        if live.baseline.compaction is Compaction.OFF or not live.projection.blocks:
            raise _refused(room, tokens)
        least = await self._least(live, room, content)
        if least is not None and not _fits(room, least):
            raise _refused(room, min(tokens, least))

    async def _least(self, live: LiveSession, room: Room, content: str) -> int | None:
        """Count the prompt as a compaction would leave it at the most: head, the largest summary, and the message."""
        projection = live.projection
        text = stored_text(projection.first_question, "", context_tokens=room.context_tokens)
        tokens = await self._compactor.count(live, projection.with_all_summarised(text, content))
        return None if tokens is None else tokens + room.summary_tokens


def _fits(room: Room, tokens: int) -> bool:
    return tokens + room.min_room <= room.context_tokens


def _refused(room: Room, tokens: int) -> RequestRefused:
    needed = tokens + room.min_room
    return RequestRefused(
        ProblemCode.SESSION_FULL,
        f"This message does not fit: with what the session holds it needs {needed} tokens, {room.min_room} of them "
        f"for an answer (min_room), and the context has {room.context_tokens}. Send a shorter message or begin a new "
        "session.",
        extensions={"needed_tokens": needed, "size_tokens": room.context_tokens},
    )
