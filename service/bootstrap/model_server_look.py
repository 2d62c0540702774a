"""Looks at llama-server for `turnkeeper doctor`: what it is, what its template does, and what tools take in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from service.access.gate import Gate
from service.access.model_server import ModelServer
from service.adapters.llama import LlamaHttp, LlamaTimes, build_llama_client
from service.adapters.llama.cache_probe import measure_cache
from service.adapters.llama.connection import LlamaClient
from service.adapters.llama.looking import LlamaLook
from service.config import Settings
from service.core.baseline import TemplateProfile, ToolMode
from service.core.completion_request import CompletionRequest
from service.core.diagnosis.model_server_facts import LlamaFacts, Reach, Sharing
from service.core.diagnosis.template import Rewriting, TemplateFacts
from service.core.diagnosis.tool_port import ToolsSize
from service.core.diagnosis.trial_turn import STEPS, TRIAL_TOOLS, next_turn_messages, step_messages, written_anew
from service.core.errors import ModelFailure
from service.core.json_types import JsonObject
from service.core.local_tools import local_tools, mode_for
from service.core.tool_port import LeftOutTool, ToolSpec
from service.ports import Clock
from service.turns.spec_probe import SpecProbe

LONGEST_ANSWER_S = 5.0
"""For one question; the settings may have less."""

LONGEST_CONNECT_MS = 3_000
LONGEST_STAGE_S = 10.0
"""For the template as a whole, what rewriting costs, and the tools: a dozen questions each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaView:
    """What was seen of the server; `template` is None where it could not be asked at all."""

    facts: LlamaFacts
    template: TemplateFacts | None
    date: str
    asked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTools:
    """The tools that the server takes, by name, those that it refuses, and what they take in a prompt."""

    names: tuple[str, ...]
    refused: tuple[LeftOutTool, ...]
    size: ToolsSize


async def look_at_llama(settings: Settings, clock: Clock, *, probe: bool) -> LlamaView:
    """Look at it; with `probe` it evaluates four small prompts, else nothing is generated."""
    async with _client(settings) as client:
        look = LlamaLook(client, answer_s=_answer_ms(settings) / 1000, model=settings.model)
        sight = await look.look()
        asked_at = clock.now()
        facts = replace(sight.facts, min_room=settings.min_room)
        template = None
        if facts.reach is Reach.ANSWERS:
            if probe:
                measured = await measure_cache(look, sight.slots)
                facts = replace(
                    facts,
                    ram_cache=measured.ram_cache,
                    unmeasured=measured.said,
                    sharing=measured.sharing if measured.sharing is not Sharing.UNKNOWN else facts.sharing,
                    prompt_speed=measured.prompt_speed or facts.prompt_speed,
                )
            template = await _template(settings, _llama(client, settings), facts)
    return LlamaView(facts=facts, template=template, date=sight.date, asked_at=asked_at)


async def size_of_tools(
    settings: Settings, clock: Clock, llama: LlamaView, specs: Sequence[ToolSpec]
) -> TriedTools | None:
    """Have the server try the tools of a port, and count what they take; None where it takes too long."""
    async with _client(settings) as client:
        served = _llama(client, settings)
        server = ModelServer(served, Gate(1), clock, slots=None)
        probe = SpecProbe(served, server, model=settings.model)
        try:
            async with asyncio.timeout(LONGEST_STAGE_S):
                tried = await probe.look(specs)
                mode = mode_for(None, tried.tokens, settings.discover_above_tokens)
                shown = (*(() if mode is ToolMode.DISCOVER else tried.specs), *(local_tools(mode) if specs else ()))
                prompt_tokens = (await probe.look(shown)).tokens
        except TimeoutError:
            return None
    size = ToolsSize(
        mode=mode,
        prompt_tokens=prompt_tokens,
        port_tokens=tried.tokens,
        context_tokens=llama.facts.context_tokens,
        min_room=settings.min_room,
        discover_above_tokens=settings.discover_above_tokens,
        counted=llama.facts.count_status == 200,
    )
    return TriedTools(names=tuple(spec.name for spec in tried.specs), refused=tried.refused, size=size)


async def _template(settings: Settings, llama: LlamaHttp, facts: LlamaFacts) -> TemplateFacts:
    has_tools = settings.tool_port_url is not None
    try:
        async with asyncio.timeout(LONGEST_STAGE_S):
            profile = (await llama.facts()).template
    except ModelFailure as failure:
        return TemplateFacts(profile=None, said=failure.message.rstrip("."))
    except TimeoutError:
        return TemplateFacts(profile=None, said=f"it took more than {LONGEST_STAGE_S:g} s")
    told = TemplateFacts(profile=profile, has_tools=has_tools, prompt_speed=facts.prompt_speed)
    if not profile.tools or (profile.keeps_turns and profile.keeps_steps):
        return told
    try:
        async with asyncio.timeout(LONGEST_STAGE_S):
            return await _costs(llama, profile, told)
    except (ModelFailure, TimeoutError):
        return told


async def _costs(llama: LlamaHttp, profile: TemplateProfile, told: TemplateFacts) -> TemplateFacts:
    """Render the trial turn, and count what of it is written anew."""
    before, whole = await _rendered(llama, step_messages(STEPS - 1)), await _rendered(llama, step_messages())
    if not profile.keeps_steps:
        told = replace(told, steps=await _rewriting(llama, before, whole))
    if not profile.keeps_turns:
        told = replace(told, turns=await _rewriting(llama, whole, await _rendered(llama, next_turn_messages())))
    return told


async def _rewriting(llama: LlamaHttp, shorter: str, longer: str) -> Rewriting:
    # What stands before the question, the list of tools above all, is no part of the turn.
    head = max(0, shorter.find(step_messages(0)[0]["content"]))
    return Rewriting(
        turn_tokens=await llama.count_text(shorter[head:]),
        again_tokens=await llama.count_text(written_anew(shorter, longer)),
    )


async def _rendered(llama: LlamaHttp, messages: tuple[JsonObject, ...]) -> str:
    return await llama.render(CompletionRequest(messages=messages, tools=TRIAL_TOOLS, max_tokens=1))


def _client(settings: Settings) -> LlamaClient:
    key = settings.llama_api_key
    connect_ms = min(settings.connect_ms, LONGEST_CONNECT_MS)
    return build_llama_client(
        settings.llama_url, key.get_secret_value() if key is not None else None, connect_ms=connect_ms
    )


def _llama(client: LlamaClient, settings: Settings) -> LlamaHttp:
    times = LlamaTimes(answer_ms=_answer_ms(settings))
    return LlamaHttp(client, times, model=settings.model, max_error_body=settings.max_error_body)


def _answer_ms(settings: Settings) -> int:
    return min(settings.answer_ms, int(LONGEST_ANSWER_S * 1000))
