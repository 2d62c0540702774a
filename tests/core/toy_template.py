"""A chat template written in Python, whose every habit can be switched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.json_types import JsonObject
from service.core.template_probes import Probe


class Raised(Exception):
    """The template refuses a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTemplate:
    """Renders a request; the defaults are those of a template that can do everything.

    `system`: shown, asked (shown while the last message is a user's), dropped or raises. `second_user`: shown, dropped
    or raises. `calls`: all, first or one (raises on two). `thoughts`: kept, dropped_later (of earlier turns), dropped
    or none (it knows no thinking). `switch`: none, tail or head.
    """

    broken: bool = False
    system: str = "shown"
    second_user: str = "shown"
    shows_tools: bool = True
    shows_calls: bool = True
    shows_results: bool = True
    calls: str = "all"
    nine_ids: bool = False
    escapes_arguments: bool = False
    thoughts: str = "kept"
    switch: str = "tail"
    tools_last: bool = False
    answers_without_tools: bool = True
    marks_last: bool = False
    forgets_remarks: bool = False

    def render(self, body: JsonObject) -> str | None:
        """Give the prompt, or None where the template raises."""
        try:
            return self._prompt(body["messages"], body.get("tools", []), _thinks(body))
        except Raised:
            return None

    def all(self, bodies: Mapping[Probe, JsonObject]) -> dict[Probe, str | None]:
        """Render each of these."""
        return {probe: self.render(body) for probe, body in bodies.items()}

    def _prompt(self, messages: list[JsonObject], tools: list[JsonObject], thinks: bool) -> str:
        if self.broken or (not tools and not self.answers_without_tools and len(messages) > 2):
            raise Raised
        listed = f"<tools {tools[0]['function']['name']}>" if tools and self.shows_tools else ""
        last_user = max(place for place, message in enumerate(messages) if message["role"] == "user")
        parts = ["<thinks>" if thinks and self.switch == "head" else "", "" if self.tools_last else listed]
        for place, message in enumerate(messages):
            if place == last_user and self.tools_last:
                parts.append(listed)
            before = messages[place - 1]["role"] if place else ""
            if message["role"] == "system" and self.system == "asked" and messages[-1]["role"] != "user":
                continue
            parts.append(self._message(message, before, of_this_turn=place > last_user))
            if self.marks_last and place == len(messages) - 1:
                parts.append("<last>")
        return "".join([*parts, "<assistant>", "" if thinks or self.switch != "tail" else "<no thought>"])

    def _message(self, message: JsonObject, before: str, *, of_this_turn: bool) -> str:
        match message["role"]:
            case "system":
                return _told(self.system, f"<system {message['content']}>")
            case "user":
                shown = f"<user {message['content']}>"
                return _told(self.second_user, shown) if before == "user" else shown
            case "tool":
                return f"<result {message['content']}>" if self.shows_results else "<result>"
            case _:
                return self._assistant(message, of_this_turn=of_this_turn)

    def _assistant(self, message: JsonObject, *, of_this_turn: bool) -> str:
        kept = self.thoughts == "kept" or (self.thoughts == "dropped_later" and of_this_turn)
        thought = f"<thought {message['reasoning_content']}>" if kept else ""
        calls: list[JsonObject] = message.get("tool_calls", [])
        if len(calls) > 1 and self.calls == "one":
            raise Raised
        if self.nine_ids and any(len(call["id"]) != 9 for call in calls):
            raise Raised
        shown = calls[:1] if self.calls == "first" else calls
        text = "" if calls and self.forgets_remarks and not of_this_turn else message["content"]
        return "<assistant>" + thought + text + "".join(self._call(call) for call in shown)

    def _call(self, call: JsonObject) -> str:
        arguments: str = call["function"]["arguments"]
        if self.escapes_arguments:
            arguments = arguments.replace('"', '\\"')
        return f"<call {call['function']['name']} {arguments}>" if self.shows_calls else ""


def _told(how: str, text: str) -> str:
    if how == "raises":
        raise Raised
    return text if how in ("shown", "asked") else ""


def _thinks(body: JsonObject) -> bool:
    return body.get("chat_template_kwargs", {}).get("enable_thinking", True)
