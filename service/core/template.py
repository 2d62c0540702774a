"""What a chat template can and can't do, read from its renderings of the probes (L10).

Above: the adapter that asks. Below: `template_probes`. A rendering is a text, or None where the template raised;
a probe that got no answer is missing. What the renderings show wins over what the server says of its template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from service.core.baseline import TemplateProfile
from service.core.template_probes import (
    ARGUMENT_NAME,
    ARGUMENTS,
    NEXT_QUESTION,
    QUESTION,
    RESULTS,
    SYSTEM_TEXT,
    THOUGHTS,
    TOOL_NAME,
    Probe,
)

Renderings = Mapping[Probe, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCaps:
    """What `/props` says of the template; None where it says nothing."""

    tools: bool | None = None
    parallel: bool | None = None
    system_role: bool | None = None
    object_arguments: bool | None = None


def profile_of(template_hash: str, caps: TemplateCaps, renderings: Renderings) -> TemplateProfile:
    """Read a template's profile; where nothing speaks, the value with which least can go wrong."""
    # Where not even a lone question was rendered, it is not the other probes' content that failed.
    seen: Renderings = renderings if renderings.get(Probe.USER) is not None else {}
    tools = _tools(seen, caps)
    thinking = thinking_off(seen)
    keeps_steps, keeps_turns = _keeps(seen, tools=tools, thinks=thinking != "none")
    return TemplateProfile(
        hash=template_hash,
        tools=tools,
        parallel=tools and _parallel(seen, caps),
        call_id="any" if seen.get(Probe.MODEL_ID) is not None else "nine",
        system_role=takes_system_role(seen, caps) and not (tools and _forgets_system(seen)),
        # A template that drops one of two questions in silence needs them merged as much as one that raises.
        alternates=not _shows(seen.get(Probe.TWO_USERS), QUESTION, NEXT_QUESTION),
        object_arguments=_object_arguments(seen, caps),
        thinking_off=thinking,
        keeps_turns=keeps_turns,
        keeps_steps=keeps_steps,
    )


def takes_system_role(renderings: Renderings, caps: TemplateCaps) -> bool:
    """Tell whether a system message is shown; some templates raise on one, others drop it in silence."""
    if renderings.get(Probe.USER) is None or Probe.SYSTEM_USER not in renderings:
        return caps.system_role is not False
    return _shows(renderings[Probe.SYSTEM_USER], SYSTEM_TEXT)


def _forgets_system(seen: Renderings) -> bool:
    """Some templates show a system message only while the last message is a user's: a loop of tools loses it."""
    return SYSTEM_TEXT in (seen.get(Probe.TOOLS) or "") and SYSTEM_TEXT not in (seen.get(Probe.ONE_CALL) or SYSTEM_TEXT)


def thinking_off(renderings: Renderings) -> str:
    """Tell where the prompt changes when thinking is switched off.

    `none`: nowhere. `tail`: only behind the last message's text, so the cache of all before it holds. Else `head`.
    """
    off = renderings.get(Probe.THINKING_OFF)
    on = _first_step(renderings, off)
    if on is None or off is None or on == off:
        return "none"
    end_on, end_off = on.rfind(QUESTION), off.rfind(QUESTION)
    return "tail" if end_on >= 0 and on[:end_on] == off[:end_off] else "head"


def _first_step(renderings: Renderings, like: str | None) -> str | None:
    """Give the rendering of the question alone, with the system message where `like` has it."""
    with_system = like is not None and SYSTEM_TEXT in like
    return renderings.get(Probe.SYSTEM_USER if with_system else Probe.USER)


def _tools(seen: Renderings, caps: TemplateCaps) -> bool:
    """The tool must be named, and a result must reach the model: without it the model asks again for ever.

    Some templates drop the call and show its result; a model lives with that.
    """
    if Probe.TOOLS not in seen or Probe.ONE_CALL not in seen:
        # A session's tools are sent in any case; to say that they are not shown needs a reason.
        return caps.tools is not False
    return _shows(seen[Probe.TOOLS], TOOL_NAME) and _shows(seen[Probe.ONE_CALL], RESULTS[0])


def _parallel(seen: Renderings, caps: TemplateCaps) -> bool:
    """Some templates raise on two calls in one message; others show only the first, or mix up the results."""
    if Probe.TWO_CALLS not in seen:
        return caps.parallel is True
    text = seen[Probe.TWO_CALLS]
    return _shows(text, *ARGUMENTS) and _shows(text, *RESULTS)


def _object_arguments(seen: Renderings, caps: TemplateCaps) -> bool:
    """Arguments are sent as text; the server makes objects of them where its template takes objects.

    Quotes with backslashes show that a text was written as JSON once more: such a template takes no objects.
    """
    if f'\\"{ARGUMENT_NAME}\\"' in (seen.get(Probe.ONE_CALL) or ""):
        return False
    return caps.object_arguments is not False


def _keeps(seen: Renderings, *, tools: bool, thinks: bool) -> tuple[bool, bool]:
    """Tell whether the prompt of each step, and of each turn, begins with the whole prompt before it.

    The thoughts are looked for too: a template that drops them can keep the prompts, and yet all that the model
    wrote behind the last prompt is evaluated again.
    """
    thinks = thinks or any(thought in (text or "") for text in seen.values() for thought in THOUGHTS)
    answered = seen.get(Probe.ANSWERED)
    turns = _grows(_first_step(seen, answered), answered) and _remembers(answered, thinks, THOUGHTS[2])
    if not tools:
        # Then a turn has one step.
        return turns, turns
    one_call, second, following = (seen.get(p) for p in (Probe.ONE_CALL, Probe.SECOND_STEP, Probe.NEXT_TURN))
    steps = _grows(seen.get(Probe.TOOLS), one_call, second) and _remembers(second, thinks, *THOUGHTS[:2])
    # Some templates render nothing without tools; they are judged with them alone.
    turns = turns or (answered is None and Probe.ANSWERED in seen)
    return steps, steps and turns and _grows(second, following) and _remembers(following, thinks, *THOUGHTS)


def _grows(*prompts: str | None) -> bool:
    return all(
        shorter is not None and longer is not None and longer.startswith(shorter)
        for shorter, longer in pairwise(prompts)
    )


def _remembers(prompt: str | None, thinks: bool, *thoughts: str) -> bool:
    return not thinks or _shows(prompt, *thoughts)


def _shows(text: str | None, *marks: str) -> bool:
    """Tell whether all marks stand in the text, one behind the other."""
    place = 0
    for mark in marks:
        place = text.find(mark, place) if text is not None else -1
        if place < 0:
            return False
    return True
