"""How much of a prompt the server's cache should hold, what a completion found there, and why less (P5).

Above: `turns.cache_watch`, which finds out what happened in between. Below: the fold, the profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from service.core.baseline import TemplateProfile
from service.core.completion_events import CompletionUsage
from service.core.records import Assistant, CacheLossReason
from service.core.turn_state import TurnState


@dataclass(frozen=True, slots=True)
class PromptSizes:
    """How many messages the prompts had that the session's cache comes from: the last one, and its turn's first.

    `summarised` is how many of those behind a summary are there to stay, while no completion has followed it yet; those
    prompts are gone.
    """

    last: int = 0
    first_of_turn: int = 0
    summarised: int = 0

    @property
    def counted(self) -> int:
        """How many messages the session's used tokens hold: the last prompt's and its answer, or a new prompt's."""
        return self.last + 1 if self.last else self.summarised

    def after(self, said: Assistant, messages: int) -> PromptSizes:
        """Take an answer to a prompt of so many messages."""
        if not (said.tool_calls or said.content.strip()):
            # It isn't in the prompt, and nothing is expected of it.
            return self
        return PromptSizes(messages, messages if said.step == 1 else self.first_of_turn)

    def after_summary(self, messages: int) -> PromptSizes:
        """Take a summary behind which the prompt has so many messages that stay as they are, all of them counted."""
        return PromptSizes(summarised=messages)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Tokens that should be cached, and how many messages the prompt had that left them there."""

    tokens: int
    messages: int


def expected_cache(state: TurnState, sizes: PromptSizes, profile: TemplateProfile | None) -> Expectation | None:
    """Say what the next completion should find in the cache; None where nothing can be expected.

    A template that rewrites finished turns keeps the prompt of the last turn's first step; one that rewrites the
    running turn as well keeps nothing that could be counted on. Behind a summary it is what the prompt before had.
    """
    held = state.compacted_from or state.used_tokens
    if held == 0:
        return None
    keeps = profile is None or (profile.keeps_steps if state.step > 0 else profile.keeps_turns)
    if keeps:
        return Expectation(held, sizes.last)
    if state.step == 0 and profile is not None and profile.keeps_steps:
        return Expectation(state.first_prompt_tokens, sizes.first_of_turn)
    return None


def lost_tokens(expected: Expectation | None, usage: CompletionUsage, *, slack: int) -> int:
    """Count the tokens that were evaluated again; 0 when none, or not more than `slack` (cache_slack)."""
    if expected is None:
        return 0
    lost = expected.tokens - usage.cached_tokens
    return lost if lost > slack else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What happened since the completion whose cache was lost; in the order in which the reasons are looked at.

    Another template comes with another start of the server, so it is asked for before that: it tells more.
    """

    compacted: bool = False
    template_changed: bool = False
    server_restarted: bool = False
    template_rewrites_history: bool = False
    slot_taken: bool = False


def is_another_server(tasks: Sequence[int], served: int) -> bool:
    """Tell by the numbers of its tasks that a server is not the one that served so many completions of ours.

    A server numbers its tasks from 0 on, ours among them; without numbers nothing is known.
    """
    return bool(tasks) and max(tasks) + 1 < served


def is_slot_taken(other_sessions: int, slots: int) -> bool:
    """Say whether the sessions that were served since then, and this one, are more than there are slots."""
    return other_sessions >= slots


def reason_of(happened: Circumstances) -> CacheLossReason:
    """Give the first reason that fits."""
    for reason in fields(Circumstances):
        if getattr(happened, reason.name):
            return CacheLossReason(reason.name)
    return CacheLossReason.UNKNOWN
