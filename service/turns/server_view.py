"""What the model server does now, and for whom (L9, L10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.access.gate import Gate, Holder
from service.access.model_server import ModelServer
from service.core.baseline import TemplateProfile
from service.core.errors import ModelFailure
from service.core.ids import OwnerId
from service.core.slot_state import SlotState
from service.core.template_words import words
from service.ports import Llama
from service.turns.tool_catalog import ToolCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNow:
    """The server's slots, our completions in them and those that wait; `message` says why slots are missing.

    Which of our completions is in which slot is not told by the server.
    """

    slots: Sequence[SlotState]
    message: str | None
    permits: int
    running: tuple[Holder, ...]
    queued: tuple[Holder, ...]
    template: TemplateProfile | None
    words: tuple[str, ...]


class ServerView:
    """Looks at the server and at the gate before it."""

    def __init__(self, llama: Llama, server: ModelServer, gate: Gate, tools: ToolCatalog) -> None:
        self._llama = llama
        self._server = server
        self._gate = gate
        self._tools = tools

    async def now(self, owner: OwnerId) -> ServerNow:
        """Look now, for somebody; a server that is away leaves what is known of it."""
        facts = await self._server.facts_or_none()
        slots: Sequence[SlotState] = ()
        message: str | None = None
        try:
            slots = await self._llama.slots()
        except ModelFailure as failure:
            message = failure.message
        return ServerNow(
            slots=slots,
            message=message,
            permits=self._gate.capacity,
            running=tuple(holder.shown_to(owner) for holder in self._gate.holders),
            queued=tuple(holder.shown_to(owner) for holder in self._gate.queued),
            template=facts.template if facts is not None else None,
            words=words(facts.template, has_tools=self._tools.configured) if facts is not None else (),
        )
