"""Measures whether a prompt that lost its slot comes back from memory, and whether slots share one context.

It evaluates four prompts of some hundred tokens in two slots, generates a token for each, and takes the place of what
these slots had. Above: `bootstrap`.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from service.adapters.llama.looking import Answer, LlamaLook, NotInTime
from service.core.diagnosis.model_server_facts import RamCache, Sharing
from service.core.errors import ModelFailure
from service.core.json_types import JsonObject
from service.core.server_error import token_count
from service.core.slot_state import SlotState, read_slot_states

_WORDS = 24
_WITHIN_S = 15.0
_OK = 200
_HALF = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the probe showed; `said` is the reason where it showed nothing. The speed is in tokens a second."""

    ram_cache: RamCache
    said: str = ""
    prompt_speed: float | None = None
    sharing: Sharing = Sharing.UNKNOWN


class _NothingShown(Exception):
    """The probe could not be made; the text is a clause."""


async def measure_cache(look: LlamaLook, slots: Sequence[SlotState]) -> Measured:
    """Evaluate a prompt, another one in the same slot, and the first again; then one in another slot."""
    # One that was never used holds nothing that a session would miss.
    idle = sorted(
        (slot for slot in slots if not slot.processing), key=lambda slot: (slot.task is not None, slot.task or 0)
    )
    if not idle:
        return Measured(ram_cache=RamCache.UNKNOWN, said="no slot is free")
    first, second = _drawn(), _drawn()
    try:
        measured = _read([await _evaluated(look, text, idle[0].id) for text in (first, second, first)])
        # Without that cache a slot that rests is not emptied, whether it shares its context or not.
        if measured.ram_cache is RamCache.ON and len(idle) > 1:
            await _evaluated(look, _drawn(), idle[1].id)
            return replace(measured, sharing=await _sharing(look, idle[0].id))
    except _NothingShown as nothing:
        return Measured(ram_cache=RamCache.UNKNOWN, said=str(nothing))
    return measured


async def _evaluated(look: LlamaLook, text: str, slot: int) -> JsonObject:
    """Have the server evaluate a prompt in this slot, and give the timings that it tells."""
    answer = await _answer(look, "POST", "v1/chat/completions", _body(text, slot))
    told = answer.members.get("timings")
    if answer.status != _OK or not isinstance(told, dict):
        raise _NothingShown(f"a prompt was answered with HTTP status {answer.status}")
    return cast(JsonObject, told)


async def _sharing(look: LlamaLook, slot: int) -> Sharing:
    """Say whether this slot was emptied when another one worked."""
    states = read_slot_states((await _answer(look, "GET", "slots")).json)
    state = next((state for state in states if state.id == slot), None)
    if state is None or state.prompt_tokens is None:
        return Sharing.UNKNOWN
    return Sharing.OWN if state.prompt_tokens else Sharing.SHARED


async def _answer(look: LlamaLook, method: str, path: str, body: JsonObject | None = None) -> Answer:
    try:
        return await look.ask(method, path, body, within_s=_WITHIN_S)
    except NotInTime as error:
        raise _NothingShown(f"no answer within {_WITHIN_S:g} s") from error
    except ModelFailure as failure:
        raise _NothingShown(failure.message) from failure


def _read(timings: Sequence[JsonObject]) -> Measured:
    whole = sum(token_count(timings[0].get(name)) or 0 for name in ("cache_n", "prompt_n"))
    cached = token_count(timings[2].get("cache_n"))
    speed = timings[0].get("prompt_per_second")
    measured_speed = float(speed) if isinstance(speed, int | float) and speed > 0 else None
    if cached is None or not whole:
        return Measured(ram_cache=RamCache.UNKNOWN, said="its answers do not tell what was cached")
    kept = RamCache.ON if cached >= whole // _HALF else RamCache.OFF
    return Measured(ram_cache=kept, prompt_speed=measured_speed)


def _drawn() -> str:
    """Draw words that no prompt had before."""
    return "Say nothing of these: " + " ".join(secrets.token_hex(3) for _ in range(_WORDS))


def _body(text: str, slot: int) -> JsonObject:
    return {
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 1,
        "cache_prompt": True,
        "id_slot": slot,
    }
