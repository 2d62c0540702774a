"""What is known of llama-server, asked for when it is needed and kept while it holds (L10)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import fields

import structlog

from service.access.gate import Gate
from service.core.baseline import TemplateProfile
from service.core.errors import ModelFailure
from service.core.template_words import words
from service.ports import Clock, Llama, ServerFacts

log = structlog.get_logger(__name__)

# How long an answer of /props is taken as it is: a server that was started anew is noticed after this time.
FACTS_AGE_S = 10.0

_OTHER_TEMPLATE = (
    "llama-server has another chat template. Sessions go on: the next message of each evaluates its whole prompt "
    "again, and sessions from before keep to what the former template could do."
)
_OTHER_RENDERING = (
    "llama-server renders the same chat template in another way ({traits}), as after a start with other flags. "
    "Sessions from before keep to what it could do then."
)


class ModelServer:
    """Knows the server's context, slots and template, and fits the gate to its slots."""

    def __init__(self, llama: Llama, gate: Gate, clock: Clock, *, slots: int | None, has_tools: bool = True) -> None:
        self._llama = llama
        self._gate = gate
        self._clock = clock
        self._slots = slots
        self._has_tools = has_tools
        self._facts: ServerFacts | None = None
        self._asked_at: float | None = None
        self._lives = 0
        self._asking = asyncio.Lock()

    @property
    def context_tokens(self) -> int | None:
        """Tokens of context in each slot, as last told; None before the server was ever reached."""
        return self._facts.context_tokens if self._facts is not None else None

    @property
    def slots(self) -> int:
        """Slots of the server, as last told; 1 before it was ever reached."""
        return self._facts.slots if self._facts is not None else 1

    @property
    def template(self) -> TemplateProfile | None:
        """The profile of the server's template, as last told; None before the server was ever reached."""
        return self._facts.template if self._facts is not None else None

    @property
    def template_hash(self) -> str | None:
        """The hash of the server's template, as last told."""
        return self._facts.template.hash if self._facts is not None else None

    @property
    def lives(self) -> int:
        """How often the server was away or had another model: what it had cached before is gone each time (P5)."""
        return self._lives

    async def facts(self) -> ServerFacts:
        """Give what the server says of itself, not older than `FACTS_AGE_S`.

        Raises:
            ModelFailure: the server can't say.
        """
        if (fresh := self._fresh()) is not None:
            return fresh
        async with self._asking:
            # Somebody else may have asked meanwhile.
            if (fresh := self._fresh()) is not None:
                return fresh
            facts = await self._llama.facts()
            self._learn(facts)
            self._asked_at = self._clock.monotonic()
            return facts

    def _fresh(self) -> ServerFacts | None:
        if self._asked_at is None or self._clock.monotonic() - self._asked_at >= FACTS_AGE_S:
            return None
        return self._facts

    async def facts_or_none(self) -> ServerFacts | None:
        """Give what is known, also when the server is away now; None when nothing ever was."""
        try:
            return await self.facts()
        except ModelFailure:
            return self._facts

    def was_away(self) -> None:
        """Take what is known for old: another server may have come back, and with an empty cache in any case."""
        self._asked_at = None
        self._lives += 1

    def _learn(self, facts: ServerFacts) -> None:
        for event, says in _news(self._facts, facts):
            log.warning(event, says=says)
        if self._facts is None or facts.template != self._facts.template:
            log.info(
                "llama_server.template",
                hash=facts.template.hash,
                says=" ".join(words(facts.template, has_tools=self._has_tools)) or "It can do all that sessions need.",
            )
        if self._facts is not None and self._facts.model != facts.model:
            self._lives += 1
        self._facts = facts
        self._gate.resize(self._slots if self._slots is not None else facts.slots)


def _news(before: ServerFacts | None, now: ServerFacts) -> Iterator[tuple[str, str]]:
    """Tell what is another since the last answer: names of log events, each with a sentence."""
    if before is None:
        return
    if now.model != before.model:
        was, is_now = before.model or "one without a name", now.model or "one without a name"
        yield "llama_server.model_changed", f"llama-server has another model: {is_now}; before {was}. Sessions go on."
    if now.template.hash != before.template.hash:
        yield "llama_server.template_changed", _OTHER_TEMPLATE
    elif now.template != before.template:
        traits = ", ".join(_changed_traits(before.template, now.template))
        yield "llama_server.template_changed", _OTHER_RENDERING.format(traits=traits)


def _changed_traits(before: TemplateProfile, now: TemplateProfile) -> Iterator[str]:
    for trait in fields(TemplateProfile):
        was, is_now = getattr(before, trait.name), getattr(now, trait.name)
        if was != is_now:
            yield f"{trait.name} was {was}, is {is_now}"
