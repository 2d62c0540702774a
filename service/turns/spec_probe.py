"""Asks llama-server what a list of tools costs in the prompt, and which of them it refuses (X3).

A schema can be valid and yet make llama-server refuse every request that carries it: one tool would end all turns
of its sessions. So each list is tried once, before a session has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from service.access.model_server import ModelServer
from service.core.completion_request import CompletionRequest
from service.core.errors import ModelFailure, UpstreamHttp
from service.core.tool_port import LeftOutTool, ToolSpec
from service.core.tool_specs import encode_specs, hash_specs, prompt_form
from service.core.visible import visible
from service.ports import Llama

log = structlog.get_logger(__name__)

# A rough size for a list of specs while no tokenizer can be asked: JSON takes about four bytes a token.
_BYTES_PER_TOKEN = 4
_SHOWN_CHARACTERS = 300
# Of the lists of old sessions' tools none is asked for again; a port that makes up a new one each time must not fill
# the memory.
LISTS_KEPT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedSpecs:
    """The tools that the server takes, in their order, what their specs cost in tokens, and the others with reasons."""

    specs: tuple[ToolSpec, ...]
    tokens: int
    refused: tuple[LeftOutTool, ...] = ()


class SpecProbe:
    """Remembers the answers, as long as the same server is there."""

    def __init__(self, llama: Llama, server: ModelServer, *, model: str | None) -> None:
        self._llama = llama
        self._server = server
        self._model = model
        self._known: dict[tuple[int, str | None, str], ProbedSpecs] = {}

    async def look(self, specs: Sequence[ToolSpec]) -> ProbedSpecs:
        """Try a list of tools; while the server is away all are taken, and the size is an estimate."""
        if not specs:
            return ProbedSpecs(specs=(), tokens=0)
        encoded = encode_specs(specs)
        key = (self._server.lives, self._server.template_hash, hash_specs(encoded))
        if key not in self._known:
            probed = await self._probed(tuple(specs))
            if probed is None:
                return ProbedSpecs(specs=tuple(specs), tokens=len(encoded) // _BYTES_PER_TOKEN)
            if len(self._known) >= LISTS_KEPT:
                self._known.clear()
            self._known[key] = probed
        return self._known[key]

    async def _probed(self, specs: tuple[ToolSpec, ...]) -> ProbedSpecs | None:
        try:
            bare = await self._llama.count_tokens(self._prompt(()))
            refused = await self._refused(specs)
            taken = tuple(spec for spec in specs if spec.name not in refused)
            whole = await self._llama.count_tokens(self._prompt(taken))
        except ModelFailure as failure:
            log.info("tools.not_probed", kind=failure.kind)
            return None
        left_out = tuple(LeftOutTool(name=name, reason=reason) for name, reason in refused.items())
        return ProbedSpecs(specs=taken, tokens=max(0, whole - bare), refused=left_out)

    async def _refused(self, specs: tuple[ToolSpec, ...]) -> dict[str, str]:
        """Find the tools that the server refuses, by halves: a list without such a one costs one question."""
        try:
            await self._llama.count_tokens(self._prompt(specs))
        except UpstreamHttp as failure:
            if len(specs) == 1:
                reason = f"llama-server refuses it: {visible(failure.message, _SHOWN_CHARACTERS)}"
                return {specs[0].name: reason}
            half = len(specs) // 2
            return {**await self._refused(specs[:half]), **await self._refused(specs[half:])}
        return {}

    def _prompt(self, specs: tuple[ToolSpec, ...]) -> CompletionRequest:
        return CompletionRequest(
            messages=({"role": "user", "content": "Hello"},),
            tools=tuple(map(prompt_form, specs)),
            max_tokens=1,
            model=self._model,
        )
