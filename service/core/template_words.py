"""A template's profile in plain words, for everyone who asks how the server is (L10)."""

from __future__ import annotations

from service.core.baseline import TemplateProfile


def words(profile: TemplateProfile, *, has_tools: bool) -> tuple[str, ...]:
    """Say what a person should know of a template, each in one sentence; nothing where all is as one hopes.

    `has_tools` tells whether a tool port is set: without one, what a template does with tools matters to nobody.
    """
    told: list[str] = []
    if has_tools and not profile.tools:
        told.append("This template does not show tools to the model, so none is called though a tool port is set.")
    if has_tools and profile.tools and not profile.parallel:
        told.append("This template takes one tool call at a time: parallel calls are shown to the model one by one.")
    if has_tools and profile.tools and not profile.keeps_steps:
        told.append("This template rewrites the running turn: each step evaluates part of the turn again.")
    if not profile.keeps_turns:
        told.append("This template rewrites finished turns: each new message evaluates the last turn again.")
    if not profile.system_role:
        told.append("This template has no place for a system prompt: it goes into the first user message.")
    if profile.thinking_off == "none":
        told.append("This template has no switch for thinking: it can't be switched off.")
    return tuple(told)
