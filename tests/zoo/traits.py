"""A template's profile as one line of words."""

from __future__ import annotations

from service.core.baseline import TemplateProfile


def traits(profile: TemplateProfile) -> str:
    """Name what a template has; what is not named, it has not."""
    flags = {
        "tools": profile.tools,
        "parallel": profile.parallel,
        "nine-ids": profile.call_id == "nine",
        "system": profile.system_role,
        "alternates": profile.alternates,
        "objects": profile.object_arguments,
        f"off-in-{profile.thinking_off}": profile.thinking_off != "none",
        "keeps-steps": profile.keeps_steps,
        "keeps-turns": profile.keeps_turns,
    }
    return " ".join(word for word, has in flags.items() if has)
