"""The chat template of the fake model: it shows all there is and rewrites nothing."""

from __future__ import annotations

import json

from service.core.json_types import JsonObject
from tests.cases.replies import Reply, text_of


def render(body: JsonObject) -> str:
    """Render the prompt of a request."""
    tools = "".join(f"<tool>{json.dumps(tool, ensure_ascii=False)}" for tool in body.get("tools", []))
    thinks = body.get("chat_template_kwargs", {}).get("enable_thinking", True)
    shown = "".join(map(_message, body["messages"]))
    return f"{'' if thinks else '<no thoughts>'}{tools}{shown}<assistant>"


def generated(reply: Reply) -> str:
    """Give a reply's text as the template would render it behind the prompt."""
    calls: dict[int, JsonObject] = {}
    for delta in reply.deltas:
        for piece in delta.get("tool_calls", ()):
            call = calls.setdefault(piece["index"], {"name": "", "arguments": ""})
            call["name"] += piece["function"].get("name", "")
            call["arguments"] += piece["function"]["arguments"]
    thought, text = text_of(reply, "reasoning_content"), text_of(reply, "content")
    return _said(thought, text, [_call(call) for call in calls.values()])


def call_text(call: JsonObject) -> str:
    """Render a call of a message."""
    return _call(call["function"])


def _message(message: JsonObject) -> str:
    if message["role"] != "assistant":
        return f"<{message['role']}>{message['content']}<end>"
    calls = [call_text(call) for call in message.get("tool_calls", [])]
    return f"<assistant>{_said(message.get('reasoning_content', ''), message['content'], calls)}<end>"


def _said(thought: str, text: str, calls: list[str]) -> str:
    return (f"<think>{thought}</think>" if thought else "") + text + "".join(calls)


def _call(function: JsonObject) -> str:
    return f"<call>{function['name']} {function['arguments']}</call>"
