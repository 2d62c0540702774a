"""The conversations that a chat template is asked to render, so that its rendering tells what it does (L10).

Above: `template`, which reads the renderings, and the adapter, which asks for them. Each text stands in one place
of a conversation only, so that finding it tells what was shown, and the bodies have the form of real requests (P1).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from service.core.json_types import JsonObject

SYSTEM_TEXT = "Answer as a keeper of tides."
QUESTION = "Where does the tide come from?"
NEXT_QUESTION = "And who counts the waves?"
TOOL_NAME = "look_up_tide"
ARGUMENT_NAME = "harbour"
ARGUMENTS = ("Roscoff", "Bergen")
RESULTS = ("high water after breakfast", "low water before supper")
THOUGHTS = ("One harbour is named here.", "Another harbour might differ.", "Nothing else is open.")
REMARK = "The first one is known now."
ANSWER = "It follows the moon."

# What llama-server itself makes: 32 letters and digits. Some templates take only nine.
_MODEL_IDS = ("f3Kq8ZtYw1Bn6RjUe0XsLc5Vd9HgMa2P", "p7Tz2QmXk4Jv9NbGy1WcRe6Hs8DfLu3A")
_NINE_IDS = ("tideAa001", "tideBb002")


class Probe(StrEnum):
    """One conversation; its name says what it holds."""

    USER = "user"
    SYSTEM_USER = "system_user"
    TWO_USERS = "two_users"
    THINKING_OFF = "thinking_off"
    ANSWERED = "answered"
    TOOLS = "tools"
    ONE_CALL = "one_call"
    MODEL_ID = "model_id"
    TWO_CALLS = "two_calls"
    SECOND_STEP = "second_step"
    NEXT_TURN = "next_turn"


def first_probes() -> Mapping[Probe, JsonObject]:
    """Give the probes that tell what the further ones may begin with."""
    user, system = _user(QUESTION), {"role": "system", "content": SYSTEM_TEXT}
    return {
        Probe.USER: {"messages": [user]},
        Probe.SYSTEM_USER: {"messages": [system, user]},
        Probe.TWO_USERS: {"messages": [user, _user(NEXT_QUESTION)]},
    }


def further_probes(*, system_role: bool) -> Mapping[Probe, JsonObject]:
    """Give all other probes; they begin with a system message where the template takes one, as real sessions do."""
    head: list[JsonObject] = [{"role": "system", "content": SYSTEM_TEXT}] if system_role else []
    head.append(_user(QUESTION))
    one_call = [*head, _step(0, _NINE_IDS[0]), _result(0, _NINE_IDS[0])]
    second_step = [*one_call, _step(1, _NINE_IDS[1], REMARK), _result(1, _NINE_IDS[1])]
    end = [_assistant(ANSWER, THOUGHTS[2]), _user(NEXT_QUESTION)]
    return {
        # As a request of a session that does not think has it (L6).
        Probe.THINKING_OFF: {
            "messages": head,
            "chat_template_kwargs": {"enable_thinking": False},
            "reasoning_effort": "none",
        },
        Probe.ANSWERED: {"messages": [*head, *end]},
        Probe.TOOLS: _with_tools(head),
        Probe.ONE_CALL: _with_tools(one_call),
        Probe.MODEL_ID: _with_tools([*head, _step(0, _MODEL_IDS[0]), _result(0, _MODEL_IDS[0])]),
        Probe.TWO_CALLS: _with_tools([*head, _both_calls(), _result(0, _NINE_IDS[0]), _result(1, _NINE_IDS[1])]),
        Probe.SECOND_STEP: _with_tools(second_step),
        Probe.NEXT_TURN: _with_tools([*second_step, *end]),
    }


def _with_tools(messages: list[JsonObject]) -> JsonObject:
    parameters = {"type": "object", "properties": {ARGUMENT_NAME: {"type": "string"}}, "required": [ARGUMENT_NAME]}
    function = {"name": TOOL_NAME, "description": "Tells when the water is high.", "parameters": parameters}
    return {"messages": messages, "tools": [{"type": "function", "function": function}]}


def _user(text: str) -> JsonObject:
    return {"role": "user", "content": text}


def _assistant(text: str, thought: str) -> JsonObject:
    return {"role": "assistant", "content": text, "reasoning_content": thought}


def _step(place: int, call_id: str, remark: str = "") -> JsonObject:
    return {**_assistant(remark, THOUGHTS[place]), "tool_calls": [_call(place, call_id)]}


def _both_calls() -> JsonObject:
    return {**_assistant("", THOUGHTS[0]), "tool_calls": [_call(place, _NINE_IDS[place]) for place in (0, 1)]}


def _call(place: int, call_id: str) -> JsonObject:
    arguments = f'{{"{ARGUMENT_NAME}": "{ARGUMENTS[place]}"}}'
    return {"id": call_id, "type": "function", "function": {"name": TOOL_NAME, "arguments": arguments}}


def _result(place: int, call_id: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "name": TOOL_NAME, "content": RESULTS[place]}
