"""What is said of the model's chat template, and what it costs (L10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.baseline import TemplateProfile
from service.core.diagnosis.findings import Code, Finding, found

_EXAMPLE_TOKENS = 2000
"""Of a turn with some tool results: what the cost is told of."""

_OTHER_TEMPLATE = (
    "Start llama-server with the template of a model that can (--chat-template-file), or take another model."
)
_PAGE = "docs/templates.md lists models whose prompts only grow."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """Tokens of the trial turn, and how many of them are evaluated again, as the server's tokenizer counts them."""

    turn_tokens: int
    again_tokens: int

    @property
    def share(self) -> float:
        """The part that is evaluated again, 0 to 1."""
        return min(1.0, self.again_tokens / self.turn_tokens) if self.turn_tokens else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFacts:
    """A template's profile, None where it could not be learned, and `said` why; what rewriting costs, if measured.

    `prompt_speed` is tokens a second that the server evaluated so far, None where it doesn't tell.
    """

    profile: TemplateProfile | None
    said: str = ""
    has_tools: bool = False
    steps: Rewriting | None = None
    turns: Rewriting | None = None
    prompt_speed: float | None = None


def template_findings(facts: TemplateFacts) -> Iterator[Finding]:
    """Say what the template can't do; one that can all is said to."""
    if facts.profile is None:
        yield Finding(
            code=Code.TEMPLATE_UNKNOWN,
            says=f"What its chat template can do was not found out: {facts.said}.",
            do="Run doctor again; where a proxy is before llama-server, let it pass /apply-template.",
        )
        return
    told = tuple(found(facts, (_tools, _one_call, _steps, _turns, _system_role)))
    yield from told
    if not told:
        yield Finding(code=Code.TEMPLATE_OK, says="Its chat template can do all that sessions need.")
    yield from found(facts, (_thinking,))


def _tools(facts: TemplateFacts) -> Finding | None:
    if facts.profile is None or not facts.has_tools or facts.profile.tools:
        return None
    return Finding(
        code=Code.TEMPLATE_WITHOUT_TOOLS,
        says="This template does not show tools to the model, so none is called though a tool port is set.",
        do=_OTHER_TEMPLATE,
    )


def _one_call(facts: TemplateFacts) -> Finding | None:
    if facts.profile is None or not (facts.has_tools and facts.profile.tools) or facts.profile.parallel:
        return None
    return Finding(
        code=Code.TEMPLATE_ONE_CALL_AT_A_TIME,
        says="This template takes one tool call at a time: parallel calls are shown to the model one by one.",
        do="Nothing has to be done; each call is a step of its own in the prompt, and all still run at once.",
    )


def _steps(facts: TemplateFacts) -> Finding | None:
    if facts.profile is None or not (facts.has_tools and facts.profile.tools) or facts.profile.keeps_steps:
        return None
    return Finding(
        code=Code.TEMPLATE_REWRITES_STEPS,
        says=(
            "This template rewrites the running turn: each step evaluates part of the turn again."
            f"{_cost(facts.steps, facts.prompt_speed, 'each step')}"
        ),
        do=_PAGE,
    )


def _turns(facts: TemplateFacts) -> Finding | None:
    if facts.profile is None or facts.profile.keeps_turns:
        return None
    return Finding(
        code=Code.TEMPLATE_REWRITES_TURNS,
        says=(
            "This template rewrites finished turns: each new message evaluates the last turn again."
            f"{_cost(facts.turns, facts.prompt_speed, 'the next message')}"
        ),
        do=_PAGE,
    )


def _cost(rewriting: Rewriting | None, speed: float | None, when: str) -> str:
    if rewriting is None or not rewriting.turn_tokens:
        return ""
    tokens = round(rewriting.share * _EXAMPLE_TOKENS)
    if tokens == 0:
        return " In a trial turn that was only what the model itself had written last."
    seconds = f", {tokens / speed:.1f} s at the {speed:.0f} tokens a second that it evaluates" if speed else ""
    return (
        f" In a trial turn of {rewriting.turn_tokens} tokens that was {rewriting.again_tokens}: "
        f"after a turn of {_EXAMPLE_TOKENS} tokens {when} costs about {tokens} tokens more{seconds}."
    )


def _system_role(facts: TemplateFacts) -> Finding | None:
    if facts.profile is None or facts.profile.system_role:
        return None
    return Finding(
        code=Code.TEMPLATE_WITHOUT_SYSTEM_ROLE,
        says="This template has no place for a system prompt: it goes into the first user message.",
        do="Nothing has to be done; such models follow instructions less well.",
    )


def _thinking(facts: TemplateFacts) -> Finding | None:
    if facts.profile is None or facts.profile.thinking_off != "none":
        return None
    return Finding(
        code=Code.TEMPLATE_CANNOT_STOP_THINKING,
        says="This template has no switch for thinking, so a session with `thinking: off` is refused.",
    )
