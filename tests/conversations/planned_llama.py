"""A model that plays what a turn's plan says, for each session its own, and keeps each request as it was."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from service.codec import decode_record
from service.core.completion_events import Completion, CompletionDelta, ModelCall
from service.core.completion_request import CompletionRequest
from service.core.errors import ContextFull
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import Assistant
from service.core.summarising import INSTRUCTIONS
from service.ports import Take
from tests.conversations.moments import Moments
from tests.conversations.plan import CallPlan, Moment, PlayPlan
from tests.conversations.world import AT_ONCE, CHECKS_AWAY, IN_STREAM
from tests.fakes.house import House
from tests.fakes.llama import GONE, Play, ScriptedLlama

# A server that is away is asked 150 times; no conversation needs more than a few times that.
_MOST_REQUESTS = 1000
_CUT_PLACE = re.compile(r'read_result (\{\\*"call\\*": \d+, \\*"offset\\*": \d+\})')
_NOTHING_CUT = '{"call": 1, "offset": 0}'
_LAST_WORD = PlayPlan("That is all.")
_SUMMARY = PlayPlan("They spoke of the weather.")
_FOR_A_SUMMARY = INSTRUCTIONS.split("{", maxsplit=1)[0]
_CHARACTERS_PER_TOKEN = 4
_AROUND_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, and its messages as they were at that moment: what they are made of could change later.

    `seq` is that of the session's last record then, `tokens` what the server counts of the prompt.
    """

    session: SessionId
    turn: TurnId | None
    seq: int
    prompt: str
    request: CompletionRequest
    tokens: int
    for_summary: bool
    is_of_child: bool


@dataclass(slots=True)
class _Script:
    """What is still to be played in a session, and what was played last with calls."""

    plays: list[PlayPlan] = field(default_factory=list[PlayPlan])
    is_endless: bool = False
    asked_last: PlayPlan = _LAST_WORD

    def next(self) -> PlayPlan:
        if not self.plays:
            return _LAST_WORD
        play = self.plays[0] if self.is_endless and len(self.plays) == 1 else self.plays.pop(0)
        if play.calls:
            self.asked_last = play
        return play


class PlannedLlama(ScriptedLlama):
    """Plays a turn's plan, then says a last word; keeps each request. `house` is the service that asks."""

    def __init__(self, moments: Moments, house: Callable[[], House], *, context_tokens: int) -> None:
        super().__init__(context_tokens=context_tokens)
        self.counted_tokens = 0
        self._moments = moments
        self._house = house
        self._scripts: dict[SessionId, _Script] = {}
        self._summaries: list[PlayPlan] = []
        self._asked: Sent | None = None
        self._checks_away = 0
        self._tool_tokens: dict[int, tuple[object, int]] = {}
        self.sent: list[Sent] = []

    def plan(
        self, session: SessionId, plays: Sequence[PlayPlan], summaries: Sequence[PlayPlan], *, endless: bool = False
    ) -> None:
        """Take the completions of the session's next turn, and the summaries of all that happens in it."""
        before = self._scripts.get(session, _Script())
        # A turn that the store left open may be gone on with after this, and have its child made only then.
        self._scripts[session] = _Script(list(plays), endless, before.asked_last)
        self._summaries = list(summaries)
        self._checks_away = 0

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        sent = await self._taken(request)
        await self._reach(sent, Moment.ASKING)
        if sent.tokens >= self.server.context_tokens:
            raise ContextFull("too long", prompt_tokens=sent.tokens, context_tokens=self.server.context_tokens)
        self._asked = sent
        async with aclosing(super().stream(request)) as played:
            async for item in played:
                await self._reach(sent, Moment.ENDING if isinstance(item, Completion) else Moment.STREAMING)
                yield item

    async def _taken(self, request: CompletionRequest) -> Sent:
        """Keep a request, with what is known of the session that it is of: that one was let in last."""
        house = self._house()
        holder = house.turns.gate.holders[-1]
        assert holder.session is not None  # there are no readings here
        row = await house.log.session(holder.session)
        assert row is not None  # nothing is deleted here
        sent = Sent(
            session=holder.session,
            turn=holder.turn,
            seq=row.head.seq,
            prompt=as_json(request.messages),
            request=request,
            tokens=await self.count_tokens(request),
            for_summary=not request.tools and request.messages[0]["content"].startswith(_FOR_A_SUMMARY),
            is_of_child=row.parent is not None,
        )
        self.sent.append(sent)
        assert len(self.sent) < _MOST_REQUESTS, "the model is asked again and again"
        if holder.session not in self._scripts:
            self._scripts[holder.session] = await self._script_of_child(house, holder.session)
        return sent

    async def _script_of_child(self, house: House, session: SessionId) -> _Script:
        """Give what the call says, in the session above, that this one answers."""
        row = await house.log.session(session)
        assert row is not None
        assert row.parent is not None  # the first of a family has its plan before it asks
        above = await house.log.read(row.parent.session)
        asked = decode_record([stored for stored in above if stored.type == Assistant.type][-1].body).record
        assert isinstance(asked, Assistant)  # it asked for the handoff
        place = [call.call for call in asked.tool_calls].index(row.parent.call)
        return _Script(list(self._scripts[row.parent.session].asked_last.calls[place].child))

    async def _reach(self, sent: Sent, moment: Moment) -> None:
        await self._moments.reach(Moment.SUMMARISING if sent.for_summary else moment)
        if sent.is_of_child:
            await self._moments.reach(Moment.HANDED)

    async def count_tokens(self, request: CompletionRequest) -> int:
        # The same list of specs is counted again and again.
        kept = self._tool_tokens.get(id(request.tools))
        if kept is None:
            kept = self._tool_tokens[id(request.tools)] = (request.tools, await super().count_tokens(request))
        return kept[1] + sum(map(_tokens_of, request.messages))

    async def check(self) -> None:
        if self._checks_away:
            self._checks_away -= 1
            raise GONE
        await super().check()

    def _next(self) -> Play:
        asked = self._asked
        assert asked is not None  # what is played was asked for
        if asked.for_summary:
            plan = self._summaries.pop(0) if self._summaries else _SUMMARY
        else:
            plan = self._scripts[asked.session].next()
        if plan.trouble == "away for long":
            self._checks_away = CHECKS_AWAY
        at_once, in_stream = AT_ONCE.get(plan.trouble or ""), IN_STREAM.get(plan.trouble or "")
        calls = tuple(self._call(asked, call) for call in plan.calls)
        said = (plan.content, plan.reasoning, *(text for call in calls for text in (call.name, call.arguments)))
        return Play(
            content=plan.content,
            reasoning=plan.reasoning,
            calls=calls,
            finish_reason=plan.finish_reason,
            at_once=at_once and at_once(),
            failure=in_stream and in_stream(),
            prompt_tokens=asked.tokens if plan.prompt_tokens is None else plan.prompt_tokens,
            completion_tokens=sum(map(_tokens, said)),
            cached_tokens=plan.cached_tokens,
        )

    def _call(self, asked: Sent, plan: CallPlan) -> ModelCall:
        arguments = plan.arguments
        if "HERE" in arguments:
            places = _CUT_PLACE.findall(asked.prompt)
            arguments = arguments.replace("HERE", places[-1].replace("\\", "") if places else _NOTHING_CUT)
        return ModelCall(id=plan.id, name=plan.name, arguments=arguments)


def _tokens_of(message: JsonObject) -> int:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    texts = [message["content"], message.get("reasoning_content", "")]
    return _AROUND_MESSAGE + sum(map(_tokens, (*texts, *(call[part] for call in calls for part in call))))


def _tokens(text: str) -> int:
    return max(len(text.split()), len(text) // _CHARACTERS_PER_TOKEN)


def as_json(messages: object) -> str:
    """Give messages as the text that a request has of them."""
    return json.dumps(messages, ensure_ascii=False)
