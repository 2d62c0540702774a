"""Whether the service can do its work: store, llama-server and tool port, each by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.access.model_server import ModelServer
from service.core.errors import ModelFailure, StoreFailure, ToolPortFailure
from service.core.template_words import words
from service.ports import Llama, SessionLog
from service.turns.tool_catalog import ToolCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One part and how it is; `message` says in plain words what it found or what is wrong.

    `warnings` are what a person should know though the part can be worked with; the message has them as well.
    """

    name: str
    ok: bool
    message: str
    warnings: tuple[str, ...] = ()


class Readiness:
    """Asks each part that a turn needs."""

    def __init__(self, log: SessionLog, llama: Llama, server: ModelServer, tools: ToolCatalog) -> None:
        self._log = log
        self._llama = llama
        self._server = server
        self._tools = tools

    async def check(self) -> Sequence[Check]:
        """Ask all parts now."""
        return [await self._store(), await self._llama_server(), await self._tool_port()]

    async def _store(self) -> Check:
        try:
            await self._log.check()
        except StoreFailure as failure:
            return Check(name="store", ok=False, message=str(failure))
        return Check(name="store", ok=True, message="answers")

    async def _llama_server(self) -> Check:
        try:
            await self._llama.check()
            facts = await self._server.facts()
        except ModelFailure as failure:
            self._server.was_away()
            return Check(name="llama_server", ok=False, message=failure.message)
        # What a template can't do makes a session poorer; it never keeps one from being served.
        told = words(facts.template, has_tools=self._tools.configured)
        message = " ".join([f"{facts.slots} slots of {facts.context_tokens} tokens.", *told])
        return Check(name="llama_server", ok=True, message=message, warnings=told)

    async def _tool_port(self) -> Check:
        if not self._tools.configured:
            return Check(name="tool_port", ok=True, message="none is set; sessions have no tools")
        try:
            listing = await self._tools.fetch()
        except ToolPortFailure as failure:
            return Check(name="tool_port", ok=False, message=str(failure))
        message = f"{len(listing.specs)} tools"
        if not listing.left_out:
            return Check(name="tool_port", ok=True, message=message)
        left_out = "left out: " + "; ".join(f"{tool.name} ({tool.reason})" for tool in listing.left_out)
        return Check(name="tool_port", ok=True, message=f"{message}; {left_out}", warnings=(left_out,))
