"""What `/slots` tells, read with tolerance: whether any slot works, and how far the prompts in them are (L2, L4).

Above: the adapter, which asks. Below: `server_error`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import token_count


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPlace:
    """How far the prompt of a task is in its slot, in tokens; builds that name no tasks have None for it."""

    slot: int
    task: int | None
    processed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsReport:
    """Whether some slot works, and the prompts of those that do."""

    works: bool
    prompts: tuple[PromptPlace, ...] = ()

    def prompt_moved_since(self, earlier: SlotsReport) -> bool:
        """Say whether the prompt of some task is further now than it was then.

        A task that was not there then is not the one that has been waited for all the time, and generation is no
        prompt: its tokens would have arrived.
        """
        then = {(place.slot, place.task): place.processed for place in earlier.prompts}
        return any(place.processed > then.get((place.slot, place.task), place.processed) for place in self.prompts)


def read_slots(answer: JsonValue) -> SlotsReport | None:
    """Read the answer of `/slots`; None when it does not tell whether a slot works.

    A slot that was never used tells little more than `is_processing`.
    """
    if not isinstance(answer, list):
        return None
    slots = [cast(JsonObject, slot) for slot in cast(list[JsonValue], answer) if isinstance(slot, dict)]
    working = [slot for slot in slots if slot.get("is_processing") is True]
    if not working and (
        len(slots) < len(cast(list[JsonValue], answer)) or any(slot.get("is_processing") is not False for slot in slots)
    ):
        return None
    places = (_place(slot) for slot in working)
    return SlotsReport(works=bool(working), prompts=tuple(place for place in places if place is not None))


def _place(slot: JsonObject) -> PromptPlace | None:
    number, processed = token_count(slot.get("id")), token_count(slot.get("n_prompt_tokens_processed"))
    if number is None or processed is None:
        return None
    return PromptPlace(slot=number, task=token_count(slot.get("id_task")), processed=processed)
