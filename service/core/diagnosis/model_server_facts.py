"""What `turnkeeper doctor` knows of llama-server, and what its slots show of how they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.core.slot_state import SlotState


class Reach(StrEnum):
    """How far a look at the server came."""

    ANSWERS = "answers"
    AWAY = "away"
    SILENT = "silent"
    LOADING = "loading"
    REFUSED = "refused"
    ROUTER = "router"
    SOMETHING_ELSE = "something_else"


class RamCache(StrEnum):
    """What three small prompts in one slot showed of the cache in memory."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


class Sharing(StrEnum):
    """Whether all slots share one context."""

    SHARED = "shared"
    OWN = "own"
    SEEMS_OWN = "seems_own"
    UNKNOWN = "unknown"


def sharing_of(slots: Sequence[SlotState]) -> Sharing:
    """Tell by what `/slots` tells of slots that were used.

    Two that rest and hold something are most likely not shared: where they share a context, a slot that rests is
    emptied when another one works (its prompt goes to the cache in memory). An empty one shows nothing: a request
    that was given up leaves one as well.
    """
    resting = [slot.prompt_tokens for slot in slots if not slot.processing and slot.task is not None]
    return Sharing.SEEMS_OWN if sum(bool(tokens) for tokens in resting) > 1 else Sharing.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaFacts:
    """llama-server as it was seen. The statuses are HTTP's, None where no answer came in time.

    `said` is the clause that came with a reach other than `answers`. `prompt_speed` is tokens a second, None where
    nobody knows it. `ram_cache` is None unless it was measured, `unmeasured` says why that failed.
    """

    url: str
    reach: Reach = Reach.ANSWERS
    said: str = ""
    sends_key: bool = False
    slots: int = 1
    context_tokens: int = 0
    trained_tokens: int | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    build: str = ""
    is_asleep: bool = False
    slots_status: int | None = 200
    metrics_status: int | None = 200
    control_status: int | None = 200
    count_status: int | None = 200
    prompt_speed: float | None = None
    ram_cache: RamCache | None = None
    unmeasured: str = ""
    sharing: Sharing = Sharing.UNKNOWN
    min_room: int = 256
