"""What one template does, wholly: its profile, what goes wrong in the conversations, and what it evaluates again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import Pool

from service.core.baseline import TemplateProfile
from service.core.template import profile_of, takes_system_role
from service.core.template_probes import TOOL_NAME, Probe, first_probes, further_probes
from tests.zoo.conversation import Conversation
from tests.zoo.conversations import MEASURED, TOOLS, WITH_TOOLS, WITHOUT_TOOLS, tide
from tests.zoo.judgement import Finding, changed, judge, write
from tests.zoo.rendering import Renderer, source
from tests.zoo.shown import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One template. `shows_tools` tells whether a tool's name is in a prompt at all; `again_*` count characters.

    They are measured in one conversation for all: how much of the last prompt changes with the next step (the most
    of any step), and with the next user message; None where it was not rendered. `shows_calls` and `shows_remarks` tell
    whether a later prompt has a call's arguments and the text beside it; `cuts_at_think` whether an answer that has
    `</think>` in it loses what stands before.
    """

    name: str
    compiles: bool
    shows_tools: bool
    profile: TemplateProfile
    findings: tuple[Finding, ...]
    again_step: int | None = None
    again_turn: int | None = None
    shows_calls: bool = True
    shows_remarks: bool = True
    cuts_at_think: bool = False


def survey(name: str) -> Report:
    """Learn a template's profile, then have all conversations under it."""
    renderer = Renderer(source(name))
    seen = renderer.render_all(first_probes())
    seen |= renderer.render_all(further_probes(system_role=takes_system_role(seen, renderer.caps)))
    profile = profile_of("", renderer.caps, seen)
    shows_tools = TOOL_NAME in (seen[Probe.TOOLS] or "")
    findings = judge(renderer, profile, WITH_TOOLS if shows_tools else WITHOUT_TOOLS, tools=shows_tools)
    usable = shows_tools and profile.tools
    again_step, again_turn = _again(renderer, profile) if usable else (None, None)
    later = _later(renderer, profile) if usable else ""
    return Report(
        name=name,
        compiles=any(text is not None for text in seen.values()) or not _is_broken(renderer),
        shows_tools=shows_tools,
        profile=profile,
        findings=tuple(findings),
        again_step=again_step,
        again_turn=again_turn,
        shows_calls=not usable or shown(later, ["Bergen"]),
        shows_remarks=not usable or shown(later, ["Let me look it up."]),
        cuts_at_think=usable and not shown(_quoting(renderer), ["Models end a thought with"]),
    )


def survey_all(names: Iterable[str]) -> list[Report]:
    """Survey many templates, on all cores; in the order of their names."""
    with Pool() as pool:
        return sorted(pool.imap_unordered(survey, names, chunksize=4), key=lambda report: report.name)


def _is_broken(renderer: Renderer) -> bool:
    return renderer.attempt({"messages": [{"role": "user", "content": "Hello"}]})[1].startswith("compile:")


def _again(renderer: Renderer, profile: TemplateProfile) -> tuple[int | None, int | None]:
    sent = write(MEASURED, profile).sent
    texts = [renderer.render({"messages": list(point.messages), "tools": TOOLS}) for point in sent]
    prompts = [text for text in texts if text is not None]
    if len(prompts) < len(texts):
        return None, None
    lost = [changed(before, after) for before, after in pairwise(prompts)]
    return max(lost[:-1]), lost[-1]


def _later(renderer: Renderer, profile: TemplateProfile) -> str:
    """Give the prompt behind a step that had a text beside its call; the harbour stands in the call alone."""
    talk = Conversation(profile)
    talk.user("When is low water there?")
    talk.step([tide("Bergen", "11:03")], text="Let me look it up.")
    return renderer.render({"messages": list(talk.sent[-1].messages), "tools": TOOLS}) or ""


def _quoting(renderer: Renderer) -> str:
    messages = [
        {"role": "user", "content": "How does a thought end?"},
        {"role": "assistant", "content": "Models end a thought with </think> as a rule."},
        {"role": "user", "content": "Thanks."},
    ]
    return renderer.render({"messages": messages, "tools": TOOLS}) or ""
