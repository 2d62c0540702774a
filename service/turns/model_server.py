"""What is known of llama-server, asked for when it is needed and kept while it holds (L10)."""

from __future__ import annotations

import asyncio

import structlog

from service.core.errors import ModelFailure
from service.ports import Clock, Llama, ServerFacts
from service.turns.gate import Gate

log = structlog.get_logger(__name__)

# How long an answer of /props is taken as it is: a server that was started anew is noticed after this time.
FACTS_AGE_S = 10.0


class ModelServer:
    """Knows the server's context, slots and template, and fits the gate to its slots."""

    def __init__(self, llama: Llama, gate: Gate, clock: Clock, *, slots: int | None) -> None:
        self._llama = llama
        self._gate = gate
        self._clock = clock
        self._slots = slots
        self._facts: ServerFacts | None = None
        self._asked_at = 0.0
        self._asking = asyncio.Lock()

    @property
    def context_tokens(self) -> int | None:
        """Tokens of context in each slot, as last told; None before the server was ever reached."""
        return self._facts.context_tokens if self._facts is not None else None

    async def facts(self) -> ServerFacts:
        """Give what the server says of itself, not older than `FACTS_AGE_S`.

        Raises:
            ModelFailure: the server can't say.
        """
        async with self._asking:
            fresh = self._clock.monotonic() - self._asked_at < FACTS_AGE_S
            if self._facts is None or not fresh:
                self._learn(await self._llama.facts())
                self._asked_at = self._clock.monotonic()
            assert self._facts is not None  # learnt just now, or before
            return self._facts

    async def facts_or_none(self) -> ServerFacts | None:
        """Give what is known, also when the server is away now; None when nothing ever was."""
        try:
            return await self.facts()
        except ModelFailure:
            return self._facts

    def _learn(self, facts: ServerFacts) -> None:
        if self._facts is not None and facts.template.hash != self._facts.template.hash:
            log.warning("llama_server.template_changed", template=facts.template.hash)
        self._facts = facts
        self._gate.resize(self._slots if self._slots is not None else facts.slots)
