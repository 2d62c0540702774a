"""Which id a tool call carries in the prompt (P4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from service.core.completion_events import ModelCall
from service.core.records import ToolCall

# The form of the ids that we derive: nine letters or digits, which every known template takes.
_DERIVED = re.compile(r"c[0-9]{8}")


def numbered_calls(calls: Sequence[ModelCall], first: int, *, nine: bool) -> tuple[ToolCall, ...]:
    """Give each call of a batch the session's next call number, from `first` on, and an id for the prompt.

    The model's id is kept, unless it is missing, empty, used twice in the batch, or looks like one of ours, or
    the template wants nine letters or digits (`nine`): then the id is derived from the call number.
    """
    uses = Counter(call.id for call in calls)
    return tuple(
        ToolCall(
            call=number,
            tool_call_id=call.id if call.id and not nine and _is_own(call.id, uses) else f"c{number:08d}",
            model_call_id=call.id,
            name=call.name,
            arguments=call.arguments,
        )
        for number, call in enumerate(calls, start=first)
    )


def _is_own(model_id: str, uses: Counter[str | None]) -> bool:
    # An id of our form could meet one that we derive for a later call.
    return uses[model_id] == 1 and _DERIVED.fullmatch(model_id) is None
