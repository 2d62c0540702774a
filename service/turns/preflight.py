"""Fit before asking: a message that can't fit is refused before it is taken in (C0)."""

from __future__ import annotations

from service.core.errors import ContextFull, ModelFailure, ProblemCode, RequestRefused
from service.core.request_building import measured_prompt
from service.ports import Llama
from service.turns.live_session import LiveSession
from service.turns.model_server import ModelServer

# A token is at least one byte of text; what the template adds to a message is far below this.
_TEMPLATE_TOKENS = 64


class Preflight:
    """Asks the server for the size of a prompt, but only when the message might not fit."""

    def __init__(self, llama: Llama, server: ModelServer, *, min_room: int) -> None:
        self._llama = llama
        self._server = server
        self._min_room = min_room

    async def check(self, live: LiveSession, content: str) -> None:
        """Let the message pass, also when the server is away and can't be asked.

        Raises:
            RequestRefused: prompt and message leave less than `min_room` tokens (`session_full`).
        """
        facts = await self._server.facts_or_none()
        if facts is None:
            return
        size = facts.context_tokens
        if self._at_most(live, content) + self._min_room <= size:
            return
        request = measured_prompt(live.baseline, live.messages_with(content), live.toolset)
        try:
            prompt_tokens = await self._llama.count_tokens(request)
        except ContextFull as full:
            prompt_tokens = full.prompt_tokens or size
        except ModelFailure:
            return
        if (needed := prompt_tokens + self._min_room) > size:
            raise RequestRefused(
                ProblemCode.SESSION_FULL,
                f"This message does not fit: with what the session holds it needs {needed} tokens, "
                f"{self._min_room} of them for an answer (min_room), and the context has {size}. Send a shorter "
                "message or begin a new session.",
                extensions={"needed_tokens": needed, "size_tokens": size},
            )

    def _at_most(self, live: LiveSession, content: str) -> int:
        held = live.state.used_tokens
        if held == 0:
            held = len(live.baseline.system.encode()) + 4 * live.baseline.tools.tokens
        # The server has not counted what came behind its last completion: results, or the text that closes a turn
        # without an answer. That completion is among these as well, which does no harm.
        held += sum(len(message["content"].encode()) for message in live.messages[live.prompt_sizes.last :])
        return held + len(content.encode()) + 4 * _TEMPLATE_TOKENS
