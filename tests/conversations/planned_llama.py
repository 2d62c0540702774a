"""A model that plays what a turn's plan says, and keeps each request as it was."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from service.core.completion_events import Completion, CompletionDelta, ModelCall
from service.core.completion_request import CompletionRequest
from tests.conversations.moments import Moments
from tests.conversations.plan import CallPlan, Moment, PlayPlan
from tests.conversations.world import AT_ONCE, CHECKS_AWAY, CONTEXT_TOKENS, IN_STREAM
from tests.fakes.llama import GONE, Play, ScriptedLlama, say

# A server that is away is asked 150 times; no conversation needs more than a few times that.
_MOST_REQUESTS = 1000
_CUT_PLACE = re.compile(r'read_result (\{\\*"call\\*": \d+, \\*"offset\\*": \d+\})')
_NOTHING_CUT = '{"call": 1, "offset": 0}'


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, and its messages as they were at that moment: what they are made of could change later."""

    prompt: str
    request: CompletionRequest


class PlannedLlama(ScriptedLlama):
    """Plays a turn's plan, then says a last word; keeps each request."""

    def __init__(self, moments: Moments) -> None:
        super().__init__(context_tokens=CONTEXT_TOKENS)
        self._moments = moments
        self._plan: list[PlayPlan] = []
        self._is_endless = False
        self._checks_away = 0
        self.sent: list[Sent] = []

    def plan(self, plays: Sequence[PlayPlan], *, endless: bool = False) -> None:
        """Take the completions of the next turn."""
        self._plan = list(plays)
        self._is_endless = endless
        self._checks_away = 0

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        self.sent.append(Sent(as_json(request.messages), request))
        assert len(self.sent) < _MOST_REQUESTS, "the model is asked again and again"
        await self._moments.reach(Moment.ASKING)
        async with aclosing(super().stream(request)) as played:
            async for item in played:
                await self._moments.reach(Moment.ENDING if isinstance(item, Completion) else Moment.STREAMING)
                yield item

    async def check(self) -> None:
        if self._checks_away:
            self._checks_away -= 1
            raise GONE
        await super().check()

    def _next(self) -> Play:
        if not self._plan:
            return say("That is all.")
        plan = self._plan[0] if self._is_endless and len(self._plan) == 1 else self._plan.pop(0)
        if plan.trouble == "away for long":
            self._checks_away = CHECKS_AWAY
        at_once, in_stream = AT_ONCE.get(plan.trouble or ""), IN_STREAM.get(plan.trouble or "")
        return Play(
            content=plan.content,
            reasoning=plan.reasoning,
            calls=tuple(self._call(call) for call in plan.calls),
            finish_reason=plan.finish_reason,
            at_once=at_once and at_once(),
            failure=in_stream and in_stream(),
            prompt_tokens=plan.prompt_tokens,
            cached_tokens=plan.cached_tokens,
        )

    def _call(self, plan: CallPlan) -> ModelCall:
        arguments = plan.arguments
        if "HERE" in arguments:
            places = _CUT_PLACE.findall(self.sent[-1].prompt)
            arguments = arguments.replace("HERE", places[-1].replace("\\", "") if places else _NOTHING_CUT)
        return ModelCall(id=plan.id, name=plan.name, arguments=arguments)


def as_json(messages: object) -> str:
    """Give messages as the text that a request has of them."""
    return json.dumps(messages, ensure_ascii=False)
