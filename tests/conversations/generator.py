"""Draws whole conversations, each from a seed and its number.

A conversation is one value and not the steps of a state machine: it shrinks as a whole, prints as Python, and a
moment at which something strikes is a number. They are drawn from `random` rather than by hypothesis, whose examples
are small and much alike: of a thousand of them two cancelled a running tool, and drawing took longer than playing.
"""

from __future__ import annotations

from random import Random
from typing import Any, TypeVar

from service.core.baseline import Compaction, Thinking, ToolMode
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice
from tests.conversations.plan import (
    CONTEXT_TOKENS,
    Blow,
    Conversation,
    Manner,
    Moment,
    Strike,
    TurnPlan,
    Word,
)
from tests.conversations.plays import OF_CHILDREN, RARE, PlayDrawing
from tests.conversations.world import PROFILES

_Value = TypeVar("_Value")

_MESSAGES = ("Hello", "Hello", "雨 🙂", "\u2028", "x" * 3000)
_BLOWS = (
    *[Blow.CANCEL] * 2,
    *[Blow.STOP] * 2,
    *[Blow.KILL] * 2,
    *[Blow.TIME] * 2,
    Blow.CANCEL_CHILD,
    Blow.STORE,
    Blow.DISK,
)
_LAGS = (40, 40, 0, 1, 3, 10)
# How many of a kind may pass before something strikes; of the others two.
_FURTHEST = {
    **dict.fromkeys(RARE, 0),
    Moment.HANDED: 5,
    Moment.ENDING: 1,
    Moment.SUMMARISING: 3,
    Moment.STREAMING: 12,
    Moment.WRITING: 8,
    Moment.WRITTEN: 8,
}
_LIMITS: dict[str, tuple[Any, ...]] = {
    "tool_iterations": (8, 3, 2, 1, 0),
    "repeat_detection": (False, True),
    "denied_repeats": (2, 1),
    "thinking_tokens": (8192, 20, 0),
    "tool_result_cap": (16_384, 1000, 256),
    "turn_time_s": (0, 600, 30),
    "max_tokens": (4096, 1),
}
"""Each from the widest to the narrowest: a turn may lower what its session allows."""

_FEW_TOOLS = ("weather", "long", "denied", "broken", "asks", "waits", "wild", "send")
_APPROVED = ((True,), (True,), (False,), (True, False), (False, True))
_EDITED = (*[None] * 3, '{"city": "Oslo"}', '{ "city" :"水" }', '{"city": 5}', "{")
_CONTEXTS = (*[CONTEXT_TOKENS] * 4, 2500, 1500, 900)
_FORMAT: JsonObject = {"type": "json_object"}


def made(seed: int, number: int) -> Conversation:
    """Make a conversation; the same numbers give the same one."""
    return _Drawing(Random(f"{seed}:{number}")).conversation()


class _Drawing:
    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def _one_of(self, values: tuple[_Value, ...]) -> _Value:
        return self._rng.choice(values)

    def _once_in(self, times: int) -> bool:
        return self._rng.randrange(times) == 0

    def conversation(self) -> Conversation:
        met_server = not self._once_in(12)
        mode = self._one_of((ToolMode.DIRECT, ToolMode.DIRECT, ToolMode.DISCOVER, None))
        agents = self._once_in(2)
        drawing = PlayDrawing(self._rng, discover=mode is ToolMode.DISCOVER, agents=agents)
        limits = self._lower({}) | {"repeat_detection": not self._once_in(4)}
        return Conversation(
            turns=tuple(self._turn(limits, drawing, agents=agents) for _ in range(self._rng.randint(1, 4))),
            profile=self._one_of(tuple(PROFILES)) if met_server else "plain",
            system=self._one_of(("", "Be short.", "雨 🙂")),
            tools=self._one_of((None, None, None, None, _FEW_TOOLS, ())),
            mode=mode,
            thinking=self._one_of(tuple(Thinking)),
            limits=limits,
            met_server=met_server,
            pace=self._one_of(((), (3, 1, 2), (1, 5), (9, 0))),
            agents=agents,
            approval_wait_s=self._one_of((0, 60, 5000)),
            guarded=not self._once_in(6),
            context_tokens=self._one_of(_CONTEXTS),
            compaction=Compaction.OFF if self._once_in(8) else Compaction.ON,
            compact_messages=self._one_of((0, 0, 0, 0, 4, 9)),
        )

    def _lower(self, allowed: JsonObject) -> JsonObject:
        """Draw bounds at or below those that are allowed; some are left out."""
        lowered: JsonObject = {}
        for name, values in _LIMITS.items():
            if self._once_in(3):
                lowered[name] = self._one_of(values[values.index(allowed.get(name, values[0])) :])
        return lowered

    def _turn(self, limits: JsonObject, drawing: PlayDrawing, *, agents: bool) -> TurnPlan:
        moments = tuple(moment for moment in (*Moment, *RARE, *OF_CHILDREN) if agents or moment not in OF_CHILDREN)
        strikes = self._strikes(moments)
        plays = [play for strike in strikes[:1] for play in drawing.leading_to(strike.at)]
        summaries = drawing.summaries()
        if self._once_in(3):
            plays += drawing.opening()
        elif self._once_in(14):
            plays, summaries = drawing.filling()
        for _ in range(self._rng.randint(0, 5)):
            plays.append(drawing.play(plays))
        return TurnPlan(
            content=self._one_of(_MESSAGES),
            plays=tuple(plays),
            endless=bool(plays) and self._once_in(6),
            words=tuple(self._word() for _ in range(self._rng.randint(0, 3))),
            summaries=summaries,
            compact=self._once_in(8),
            strikes=strikes,
            tool_choice=self._one_of((*[ToolChoice.AUTO] * 4, ToolChoice.NONE, ToolChoice.REQUIRED)),
            on_tool_limit=self._one_of(tuple(OnToolLimit)),
            limits=self._lower(limits),
            response_format=_FORMAT if self._once_in(10) else None,
        )

    def _word(self) -> Word:
        return Word(
            manner=self._one_of(tuple(Manner)),
            approved=self._one_of(_APPROVED),
            arguments=self._one_of(_EDITED),
            reason=self._one_of((None, "as agreed 🙂")),
            to_child=self._once_in(2),
        )

    def _strikes(self, moments: tuple[Moment, ...]) -> tuple[Strike, ...]:
        if self._once_in(3):
            return ()
        if self._once_in(12):
            # A service that goes down again and again with the same turn.
            return (Strike(self._one_of((Blow.STOP, Blow.KILL)), self._one_of(moments), 0, 40),) * 4
        return tuple(self._strike(moments) for _ in range(self._one_of((1, 1, 2, 3))))

    def _strike(self, moments: tuple[Moment, ...]) -> Strike:
        at = self._one_of(moments)
        after = self._rng.randint(0, _FURTHEST.get(at, 2))
        return Strike(self._one_of(_BLOWS), at, after, self._one_of(_LAGS))
