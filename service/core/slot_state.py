"""What `/slots` tells of each slot, for people who look at the server (L10).

Above: the adapter. Below: `server_error`. What a build does not tell, or tells in another form, is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import token_count


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotState:
    """One of llama-server's slots; a slot that was never used tells little. All counts are tokens.

    `task` numbers the tasks of the server since its start, the last one that this slot had.
    """

    id: int
    processing: bool
    task: int | None = None
    context_tokens: int | None = None
    prompt_tokens: int | None = None
    prompt_processed: int | None = None
    prompt_cached: int | None = None
    decoded: int | None = None


def read_slot_states(answer: JsonValue) -> tuple[SlotState, ...]:
    """Read the answer of `/slots`; what is no slot is passed over."""
    if not isinstance(answer, list):
        return ()
    slots = [cast(JsonObject, slot) for slot in cast(list[JsonValue], answer) if isinstance(slot, dict)]
    return tuple(_read(slot) for slot in slots if token_count(slot.get("id")) is not None)


def _read(slot: JsonObject) -> SlotState:
    return SlotState(
        id=slot["id"],
        processing=slot.get("is_processing") is True,
        task=token_count(slot.get("id_task")),
        context_tokens=token_count(slot.get("n_ctx")),
        prompt_tokens=token_count(slot.get("n_prompt_tokens")),
        prompt_processed=token_count(slot.get("n_prompt_tokens_processed")),
        prompt_cached=token_count(slot.get("n_prompt_tokens_cache")),
        decoded=_decoded(slot.get("next_token")),
    )


def _decoded(next_token: JsonValue) -> int | None:
    # A list of one object in newer builds, the object itself in older ones.
    told: JsonValue = next_token
    if isinstance(next_token, list):
        tokens = cast(list[JsonValue], next_token)
        told = tokens[0] if tokens else None
    return token_count(cast(JsonObject, told).get("n_decoded")) if isinstance(told, dict) else None
