"""Draws what the model does in one completion."""

from __future__ import annotations

import json
from random import Random
from typing import TypeVar

from tests.conversations.plan import CONTEXT_TOKENS, CallPlan, Moment, PlayPlan
from tests.conversations.world import AGENTS, AT_ONCE, IN_STREAM, TOOLS

_Value = TypeVar("_Value")

_WORDS = ("Yes.", "It rains in Paris.", "雨 🙂 é", "Two words")
_ODD_TEXTS = (*_WORDS, "", " \n", "<think>", "a\u2028b\x00c", "\ufffd", "}]", "(I had nothing to say.)")
_THOUGHTS = ("", "", "Let me see.", " \n", "雨 🙂")
_LONG_SUMMARY = "They spoke of the weather in Brest. " * 250
_LONG_THOUGHTS = ("hm " * 39 + "so", "hm " * 199 + "so")
_IDS = ("call-1", None, "", "a", "b", "c00000001", "abcdefghi", "a longer id than others have")
_FINISH = (*[None] * 6, "stop", "length", "content_filter", "tool_calls", "odd")

_DEEP = 3000
_GOOD_ARGUMENTS = ("{}", "{}", '{"city": "Paris"}', '{"city": "Paris"}', '{ "city" :"Paris" }', '{"city": "Rome"}')
_BAD_ARGUMENTS = (
    '{"city": "Rome", "city": "Paris"}',
    "",
    "{",
    "[]",
    "null",
    '{"city": 1}',
    '{"x": 1e999}',
    '{"city": "Par',
    "[" * _DEEP,
    '{"a":' * _DEEP + "1" + "}" * _DEEP,
)
_PORT_NAMES = (*TOOLS, "weather", "weather", "long", "long", "denied", "asks", "waits")
_OTHER_NAMES = ("nothing", "", "find_tool", "handoff_to", "Weather 🙂")
_AGENTS = (*AGENTS.profiles, "expert", "expert", "clerk")
_TASKS = ("Which tea?", "雨 🙂", "</untrusted 0>")
_GO_ON = '{"agent": "expert", "message": "Go on."}'
_CARRIED = (None, 0, 1, 3, 10)
# One more than may follow one another.
_DEEPEST = 4
_LOCAL_CALLS = (
    *[("read_result", "HERE")] * 3,
    ("read_result", '{"call": 1, "offset": 99999}'),
    ("read_result", '{"call": 0, "offset": 0}'),
    ("call_tool", '{"name": "weather"}'),
    ("call_tool", '{"name": 5}'),
    *[("find_tool", '{"query": "weather"}')] * 2,
    ("find_tool", '{"query": "zzz"}'),
    ("find_tool", "{}"),
)


OF_CHILDREN = (Moment.CREATING, Moment.CREATED, Moment.HANDED)
"""Moments that only come about where there are agents."""

RARE = (*OF_CHILDREN, Moment.WAITING, Moment.DECIDED)
"""Moments of which a turn has few."""

# The server says that its context is full before there was an answer.
_FULL = PlayPlan(prompt_tokens=CONTEXT_TOKENS)


class PlayDrawing:
    """Draws the completions of one conversation.

    `discover` says that most calls go through `call_tool`, `agents` that there are some to hand over to.
    """

    def __init__(self, rng: Random, *, discover: bool, agents: bool) -> None:
        self._rng = rng
        self._discover = discover
        self._agents = agents
        self._depth = 0
        kinds = {
            self._asking: 8,
            self._answer: 3,
            self._trouble: 2,
            self._reading_on: 2,
            self._empty: 1,
            self._only_thought: 1,
            self._long_thought: 1,
            self._filling: 1,
            self._cut: 1,
            self._odd_text: 1,
            self._handoff: 4 if agents else 0,
        }
        self._kinds = tuple(kind for kind, times in kinds.items() for _ in range(times))

    def play(self, before: list[PlayPlan]) -> PlayPlan:
        """Draw one, or take the one before again."""
        if before and self._once_in(5):
            return before[-1]
        return self._one_of(self._kinds)()

    def opening(self) -> list[PlayPlan]:
        """Draw completions that only mean something one behind the other."""
        if self._agents and self._once_in(3):
            child = self._one_of(((PlayPlan(calls=(self._chain(_DEEPEST - 1),)),), (self.calling("long"), _FULL)))
            return [PlayPlan(calls=(CallPlan("handoff_to", _GO_ON, child=child),))]
        if self._discover and self._once_in(3):
            return [PlayPlan(calls=(CallPlan("find_tool", '{"query": "weather"}'),)), self.calling("weather")]
        times = self._rng.randint(2, 3)
        match self._rng.randrange(9):
            case 0:
                return [self._trouble()] * 3
            case 2:
                return [self._long_thought()] * times
            case 1:
                return [self.calling("long"), *[self._reading_on()] * times]
            case 3:
                return [self.calling("long", "wild_long"), *[_FULL] * (times + 1)]
            case 4 | 5:
                # The attack that approvals are for.
                return [
                    self.calling("wild"),
                    self.calling(*self._one_of((("send",), ("ledger",), ("ledger", "clock")))),
                ]
            case _:
                # A model that insists, most often on what was denied.
                return [self.calling(self._one_of(("denied", "denied", "weather", "broken")))] * times

    def leading_to(self, moment: Moment) -> list[PlayPlan]:
        """Draw a completion that brings about a moment which is rare otherwise."""
        if moment in (Moment.CALLING, Moment.RUNNING):
            return [self.calling("weather", "send", "long")]
        if moment in (Moment.WAITING, Moment.DECIDED):
            return [self.calling(*self._one_of((("asks",), ("waits",), ("waits", "waits_on"), ("asks", "post"))))]
        if moment in OF_CHILDREN:
            return [PlayPlan(calls=(self._handing_over(),))]
        if moment is Moment.SUMMARISING:
            return [self.calling("long"), _FULL]
        if moment in (Moment.STREAMING, Moment.ENDING):
            return [PlayPlan("Once upon a time there was a king", "Let me tell a story.")]
        return [PlayPlan(trouble="closed")] if moment is Moment.SLEEPING else []

    def calling(self, *names: str, arguments: str = '{"city": "Paris"}') -> PlayPlan:
        """Give good calls of these tools."""
        wrapped = "call_tool", '{{"name": "{}", "arguments": {}}}'
        name, form = wrapped if self._discover else ("{}", "{1}")
        return PlayPlan(
            calls=tuple(CallPlan(name.format(tool), form.format(tool, arguments), id=tool) for tool in names)
        )

    def filling(self) -> tuple[list[PlayPlan], tuple[PlayPlan, ...]]:
        """Draw what fills the context again and again, and the summaries: after some none is worth anything."""
        more = self.calling("long", "wild_long", arguments='{"city": "Rome"}')
        plays = [self.calling("long", "wild_long"), _FULL, more, *[_FULL] * self._rng.randint(3, 4)]
        # A long part is summarised in pieces, each of which needs one.
        return plays, (*[PlayPlan("Yes.")] * self._one_of((0, 2, 2, 3)), *[PlayPlan()] * 3)

    def summaries(self) -> tuple[PlayPlan, ...]:
        """Draw what the model does when it is asked for summaries."""
        if self._once_in(5):
            return (PlayPlan(),) * 3
        return tuple(self._summary() for _ in range(self._rng.randint(0, 2)))

    def _summary(self) -> PlayPlan:
        kind = self._rng.randrange(8)
        if kind == 0:
            return PlayPlan(self._one_of(("", " \n")), self._one_of(_THOUGHTS))
        if kind == 1:
            return PlayPlan("Once upon", trouble=self._one_of((*AT_ONCE, *IN_STREAM)))
        if kind == 2:
            return PlayPlan(self._one_of((_LONG_SUMMARY, "</untrusted 0000000000000001>")))
        return PlayPlan(self._one_of(_WORDS), self._one_of(_THOUGHTS), finish_reason=self._one_of(_FINISH))

    def _handoff(self) -> PlayPlan:
        calls = [self._handing_over()]
        if self._once_in(3):
            calls += self._calls()
        if self._once_in(4):
            calls.append(self._handing_over())
        self._rng.shuffle(calls)
        return PlayPlan(self._one_of(("", "Let me ask.")), self._one_of(_THOUGHTS), tuple(calls))

    def _handing_over(self) -> CallPlan:
        self._depth += 1
        plays: list[PlayPlan] = []
        for _ in range(self._one_of((0, 1, 1, 2, 3)) if self._depth < _DEEPEST else 0):
            plays.append(self._of_child() if self._once_in(2) else self.play(plays))
        self._depth -= 1
        asked = {"agent": self._one_of(_AGENTS), "message": self._one_of(_TASKS), "carry": self._one_of(_CARRIED)}
        arguments = json.dumps({name: value for name, value in asked.items() if value is not None})
        return CallPlan("handoff_to", arguments, self._one_of(_IDS), tuple(plays))

    def _of_child(self) -> PlayPlan:
        """Draw what shows that a child is a session like any other: it asks people, fails, or hands over itself."""
        match self._rng.randrange(6):
            case 0:
                return PlayPlan(calls=(self._handing_over(),))
            case 1:
                return PlayPlan("Once", trouble="template error")
            case 2:
                return _FULL
            case _:
                return self.calling(self._one_of(("asks", "waits", "wild", "post", "long")))

    def _chain(self, links: int) -> CallPlan:
        """Draw a handoff in a handoff, and so on."""
        child = (PlayPlan(calls=(self._chain(links - 1),)),) if links > 1 else (self._of_child(),)
        return CallPlan("handoff_to", _GO_ON, child=child)

    def _one_of(self, values: tuple[_Value, ...]) -> _Value:
        return self._rng.choice(values)

    def _once_in(self, times: int) -> bool:
        return self._rng.randrange(times) == 0

    def _asking(self) -> PlayPlan:
        said, thought = self._one_of(("", "", "Let me look.")), self._one_of(_THOUGHTS)
        return PlayPlan(said, thought, self._calls(), self._one_of(_FINISH), cached_tokens=self._cached())

    def _answer(self) -> PlayPlan:
        said, thought = self._one_of(_WORDS), self._one_of(_THOUGHTS)
        return PlayPlan(said, thought, finish_reason=self._one_of(_FINISH), cached_tokens=self._cached())

    def _cached(self) -> int | None:
        return 0 if self._once_in(4) else None

    def _trouble(self) -> PlayPlan:
        said, trouble = (
            self._one_of(("", "Once upon a time", " ")),
            self._one_of((*AT_ONCE, *IN_STREAM, "closed", "closed")),
        )
        return PlayPlan(said, self._one_of(_THOUGHTS), trouble=trouble)

    def _reading_on(self) -> PlayPlan:
        if self._once_in(3):
            return PlayPlan(calls=(CallPlan("call_tool", '{"name": "read_result", "arguments": HERE}'),))
        return PlayPlan(calls=(CallPlan("read_result", "HERE"),))

    def _empty(self) -> PlayPlan:
        return PlayPlan(finish_reason=self._one_of(_FINISH))

    def _only_thought(self) -> PlayPlan:
        return PlayPlan(reasoning="Let me see.", finish_reason=self._one_of(_FINISH))

    def _long_thought(self) -> PlayPlan:
        return PlayPlan(self._one_of(("", "Yes.")), self._one_of(_LONG_THOUGHTS))

    def _filling(self) -> PlayPlan:
        filled = self._one_of((CONTEXT_TOKENS, CONTEXT_TOKENS - 100))
        calls = self._calls() if self._once_in(2) else ()
        finish = "length" if self._once_in(2) else None
        return PlayPlan(self._one_of(("", "Yes.")), calls=calls, finish_reason=finish, prompt_tokens=filled)

    def _cut(self) -> PlayPlan:
        return PlayPlan(self._one_of(("", "Yes.")), "", self._calls(), "length")

    def _odd_text(self) -> PlayPlan:
        odd, thought = self._one_of(_ODD_TEXTS), self._one_of(_ODD_TEXTS)
        return PlayPlan(odd, thought, finish_reason=self._one_of(_FINISH))

    def _calls(self) -> tuple[CallPlan, ...]:
        return tuple(self._call() for _ in range(self._one_of((1, 1, 2, 3))))

    def _call(self) -> CallPlan:
        kind = self._rng.randrange(10)
        if kind < 2 or (self._discover and kind == 4):
            return CallPlan(*self._one_of(_LOCAL_CALLS), self._one_of(_IDS))
        name = self._one_of(_OTHER_NAMES if kind == 2 else _PORT_NAMES)
        arguments = self._one_of(_BAD_ARGUMENTS if self._once_in(6) else _GOOD_ARGUMENTS)
        if self._discover and kind > 3:
            name, arguments = "call_tool", self._wrapped(name, arguments)
        return CallPlan(name, arguments, self._one_of(_IDS))

    def _wrapped(self, name: str, arguments: str) -> str:
        as_text = arguments.replace('"', '\\"')
        form = self._one_of(
            (
                *['{{"name": "{name}", "arguments": {arguments}}}'] * 6,
                '{{"arguments": {arguments}, "name": "{name}"}}',
                '{{"name": "{name}", "arguments": "{as_text}"}}',
                '{{"name": "call_tool", "arguments": {{"name": "{name}", "arguments": {{}}}}}}',
                '{{"name": "read_result", "arguments": HERE}}',
            )
        )
        return form.format(name=name, arguments=arguments or "{}", as_text=as_text)
