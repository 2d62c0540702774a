"""A turn of usual sizes, to see how much of it a template writes anew (L10, P5).

Above: the adapter's `render`, which gives the prompts. A turn of four steps with a thought and a call each, then
what a template that keeps all would only add to.
"""

from __future__ import annotations

from service.core.json_types import JsonObject

STEPS = 4
_THOUGHT = (
    "The question names place number {step}. Nothing of what was found so far covers it, so one more look is needed "
    "before an answer can be given; the list has an entry for it, and its number is the one to ask for next."
)
_RESULT = (
    "Entry {step}: the quay is 140 metres long, dries out at low water, and has a crane of two tonnes. Boats of up to "
    "twelve metres lie alongside; longer ones wait at the buoys. Water and power are at the steps, fuel is not."
)
_FUNCTION = {
    "name": "look_up_place",
    "description": "Tells what is known of a place.",
    "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}
TRIAL_TOOLS: tuple[JsonObject, ...] = ({"type": "function", "function": _FUNCTION},)


def step_messages(steps: int = STEPS) -> tuple[JsonObject, ...]:
    """Give the messages of the request behind so many steps."""
    messages: list[JsonObject] = [{"role": "user", "content": "At which of these places can a boat be fuelled?"}]
    for step in range(1, steps + 1):
        # Nine letters and digits: some templates take no other id.
        call_id = f"trialId{step:02d}"
        function = {"name": "look_up_place", "arguments": f'{{"number": {step}}}'}
        messages += [
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": _THOUGHT.format(step=step),
                "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            },
            {
                "role": "tool",
                "tool_call_id": call_id,
                "name": "look_up_place",
                "content": _RESULT.format(step=step),
            },
        ]
    return tuple(messages)


def next_turn_messages() -> tuple[JsonObject, ...]:
    """Give the messages of the first request of the turn that follows."""
    answer: JsonObject = {
        "role": "assistant",
        "content": "At none of them.",
        "reasoning_content": "All entries are read.",
    }
    return (*step_messages(), answer, {"role": "user", "content": "And where is there water?"})


def written_anew(shorter: str, longer: str) -> str:
    """Give the end of the first prompt that the second does not begin with."""
    low, high = 0, min(len(shorter), len(longer))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if shorter[:middle] == longer[:middle] else (low, middle - 1)
    return shorter[low:]
