"""What `/props` and `/apply-template` tell of a server, read with tolerance for older builds (L10)."""

from __future__ import annotations

import hashlib
from typing import cast

from service.core.baseline import TemplateProfile
from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import token_count
from service.ports import ServerFacts

_PROBE_TEXT = "Where does the tide come from?"


def read_props(props: JsonValue) -> ServerFacts:
    """Read `/props`; what a build does not tell is assumed as most builds have it.

    Raises:
        ModelFailure: it tells no context size, so it is no llama-server with a model.
    """
    members = _object(props)
    context_tokens = token_count(_object(members.get("default_generation_settings")).get("n_ctx"))
    if not context_tokens:
        raise ModelFailure(
            ErrorKind.PROTOCOL, "/props tells no n_ctx: what answers there is no llama-server with one model loaded"
        )
    template = members.get("chat_template")
    alias = members.get("model_alias")
    return ServerFacts(
        context_tokens=context_tokens,
        slots=token_count(members.get("total_slots")) or 1,
        model=alias if isinstance(alias, str) and alias else None,
        template=_profile(template if isinstance(template, str) else "", _object(members.get("chat_template_caps"))),
    )


def thinking_probe(*, system_role: bool, thinking: bool) -> JsonObject:
    """Write the body of `/apply-template` that shows where a template changes when thinking is switched off."""
    messages: list[JsonObject] = [{"role": "user", "content": _PROBE_TEXT}]
    if system_role:
        messages.insert(0, {"role": "system", "content": "Answer in one sentence."})
    body: JsonObject = {"messages": messages}
    if not thinking:
        body["chat_template_kwargs"] = {"enable_thinking": False}
    return body


def thinking_off(with_thinking: JsonValue, without_thinking: JsonValue) -> str:
    """Compare two answers to the probe.

    `none` when they are equal, `tail` when only what follows the last message's text differs, else `head`.
    """
    on, off = _object(with_thinking).get("prompt"), _object(without_thinking).get("prompt")
    if not isinstance(on, str) or not isinstance(off, str) or on == off:
        return "none"
    end_on, end_off = on.rfind(_PROBE_TEXT), off.rfind(_PROBE_TEXT)
    return "tail" if end_on >= 0 and on[:end_on] == off[:end_off] else "head"


def _profile(template: str, caps: JsonObject) -> TemplateProfile:
    return TemplateProfile(
        hash=hashlib.sha256(template.encode("utf-8", "replace")).hexdigest(),
        tools=_flag(caps, "supports_tools", True) and _flag(caps, "supports_tool_calls", True),
        parallel=_flag(caps, "supports_parallel_tool_calls", False),
        system_role=_flag(caps, "supports_system_role", True),
        object_arguments=_flag(caps, "supports_object_arguments", True),
    )


def _flag(caps: JsonObject, name: str, default: bool) -> bool:
    value = caps.get(name)
    return value if isinstance(value, bool) else default


def _object(value: JsonValue) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}
