"""What is shown for which event of a turn: a fold from news to lines, pieces of text and what is going on.

Above: who follows the turn. Below: the sentences. No clock and no terminal: live and replayed events show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from service.cli.chat_news import TurnNews
from service.cli.chat_shown import Answer, Doing, Note, Piece, Reasoning, Shown, Tone
from service.cli.chat_text import GrowingText
from service.cli.chat_usage import TurnUsage
from service.cli.chat_words import (
    call_in_words,
    decision_in_words,
    handoff_in_words,
    loss_in_words,
    outcome_in_words,
    result_in_words,
    retrying_in_words,
    summary_in_words,
    thinking_in_words,
    waiting_in_words,
)
from service.cli.words import seconds_in_words, shown_text
from service.core.records import (
    ApprovalDecided,
    Assistant,
    Attempt,
    CacheLoss,
    HandoffReturned,
    HandoffStarted,
    Resumed,
    StepUsage,
    Summary,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
    TurnQueued,
    User,
)
from service.core.signals import (
    ContentDelta,
    Partial,
    Progress,
    Queued,
    ReasoningDelta,
    Resync,
    Retrying,
    SessionDeleted,
    ShuttingDown,
    StoreBroken,
    ThinkingCapped,
    Waiting,
)

_AGAIN = "the step was asked again; forget what the model has said in it"


class TurnFold:
    """Takes the news of one turn in the order of its stream.

    `says_message` shows the user's message as well, for whoever joins a turn of somebody else. `context_tokens` is the
    size of the model's context, where it is known.
    """

    def __init__(
        self,
        *,
        reasoning: Reasoning = Reasoning.COUNTED,
        says_message: bool = False,
        context_tokens: int | None = None,
    ) -> None:
        self._reasoning = reasoning
        self._says_message = says_message
        self.usage = TurnUsage(context_tokens=context_tokens)
        self.end: TurnFinished | None = None
        self._step = 0
        self._thought = GrowingText()
        self._content = GrowingText()
        self._thought_told = False
        self._calls: dict[int, tuple[str, str]] = {}
        self._started: dict[int, datetime | None] = {}
        self._retried: set[tuple[int, int]] = set()

    def take(self, news: TurnNews) -> Iterator[Shown]:
        """Give what is shown for this."""
        what = news.what
        match what:
            case ContentDelta() | ReasoningDelta() | Partial():
                yield from self._take_text(what)
            case Queued() | Waiting() | Progress():
                yield self._doing(waiting_in_words(what))
            case Assistant():
                yield from self._take_assistant(what)
            case StepUsage():
                self.usage.take(what)
            case ToolCallStarted() | ToolResult():
                yield from self._take_call(what, news.time)
            case TurnFinished():
                yield from self._take_end(what, news.time)
            case User() | TurnQueued():
                yield from self._take_message(what, news.time)
            case _:
                yield from self._take_other(what)

    def _take_other(self, what: object) -> Iterator[Shown]:
        match what:
            case Attempt() | Retrying():
                yield from self._try_again(what)
            case Resumed():
                again = f"; {_AGAIN}" if self._content.known else ""
                self._forget()
                yield Note(text=f"the service was started again and goes on with this turn{again}", tone=Tone.WARNING)
            case ThinkingCapped():
                capped = f"the thought was ended at the limit thinking_tokens ({what.reasoning_tokens} tokens)"
                yield Note(text=capped, tone=Tone.WARNING)
            case CacheLoss():
                yield Note(text=loss_in_words(what), tone=Tone.WARNING, aside=True)
            case Summary():
                yield Note(text=summary_in_words(what), tone=Tone.WARNING, aside=True)
            case ApprovalDecided():
                yield Note(text=decision_in_words(what), tone=Tone.TOOL)
            case HandoffStarted() | HandoffReturned():
                yield Note(text=handoff_in_words(what), tone=Tone.TOOL, aside=True)
            case _:
                yield from _stream_troubles(what)

    def _try_again(self, what: Attempt | Retrying) -> Iterator[Shown]:
        # The record is there for whoever joins later, the signal says how long it takes.
        if (what.step, what.attempt) not in self._retried:
            self._retried.add((what.step, what.attempt))
            had_text = self._step == what.step and bool(self._content.known)
            self._forget()
            kind = what.kind if isinstance(what, Attempt) else what.reason
            yield Note(text=retrying_in_words(kind, had_text=had_text), tone=Tone.WARNING)
        if isinstance(what, Retrying):
            yield self._doing(f"asks again in {seconds_in_words(what.delay_ms / 1000)}")

    def _take_text(self, what: ContentDelta | ReasoningDelta | Partial) -> Iterator[Shown]:
        self._enter(what.step)
        match what:
            case ReasoningDelta():
                yield from self._think(lambda thought: thought.grow(what.text, what.offset))
            case ContentDelta():
                yield from self._say(lambda content: content.grow(what.text, what.offset))
            case Partial():
                if what.reasoning:
                    yield from self._think(lambda thought: thought.become(what.reasoning))
                if what.content:
                    yield from self._say(lambda content: content.become(what.content))

    def _think(self, change: Callable[[GrowingText], tuple[bool, str]]) -> Iterator[Shown]:
        begun_anew, new = change(self._thought)
        if not new:
            return
        if begun_anew:
            self._thought_told = False
        if self._reasoning is Reasoning.SHOWN:
            yield Piece(text=new, is_thought=True)
        elif self._reasoning is Reasoning.COUNTED:
            yield self._doing(f"thinks: {self._thought_in_words()}")
        else:
            yield self._doing("thinks")

    def _say(self, change: Callable[[GrowingText], tuple[bool, str]]) -> Iterator[Shown]:
        yield from self._tell_thought()
        begun_anew, new = change(self._content)
        if begun_anew:
            yield Note(text=_AGAIN, tone=Tone.WARNING)
        if new:
            yield Piece(text=new)

    def _tell_thought(self) -> Iterator[Shown]:
        if self._thought.known and not self._thought_told and self._reasoning is not Reasoning.HIDDEN:
            yield Note(text=f"thought: {self._thought_in_words()}", tone=Tone.THOUGHT, aside=True)
        self._thought_told = True

    def _thought_in_words(self) -> str:
        return thinking_in_words(self._thought.tokens, self.usage.thinking_cap)

    def _enter(self, step: int) -> None:
        if step != self._step:
            self._step = step
            self._forget()

    def _forget(self) -> None:
        self._thought, self._content, self._thought_told = GrowingText(), GrowingText(), False

    def _take_assistant(self, said: Assistant) -> Iterator[Shown]:
        self._enter(said.step)
        if said.reasoning:
            yield from self._think(lambda thought: thought.become(said.reasoning))
        yield from self._say(lambda content: content.become(said.content))
        for cut in said.cut_calls:
            call = call_in_words(cut.name, cut.arguments)
            yield Note(text=f"cut off and not run: {call}", tone=Tone.WARNING, aside=True)
        if said.tool_calls:
            self.usage.batches += 1
            self._calls = {call.call: (call.name, call.arguments) for call in said.tool_calls}
        yield Doing(text="")

    def _take_call(self, what: ToolCallStarted | ToolResult, time: datetime | None) -> Iterator[Shown]:
        if what.call not in self._started:
            name, arguments = self._calls.get(what.call, (what.name, ""))
            if isinstance(what, ToolCallStarted):
                name, arguments = what.name, what.arguments
                self._started[what.call] = time
            yield Note(text=f"calls {call_in_words(name, arguments)}", tone=Tone.TOOL, aside=True)
        if isinstance(what, ToolCallStarted):
            yield self._doing(f"runs {call_in_words(what.name, '').strip()}")
            return
        began = self._started.get(what.call)
        seconds = (time - began).total_seconds() if time is not None and began is not None else None
        yield Note(text=result_in_words(what, seconds), tone=Tone.TOOL, aside=True)
        yield Doing(text="")

    def _take_message(self, what: User | TurnQueued, time: datetime | None) -> Iterator[Shown]:
        self.usage.limits = what.options.limits
        if isinstance(what, TurnQueued):
            yield self._doing("waits behind an earlier turn")
            return
        self.usage.began = time
        if self._says_message:
            for line in shown_text(what.content).splitlines():
                yield Note(text=f"> {line}", tone=Tone.USER, aside=True)

    def _take_end(self, end: TurnFinished, time: datetime | None) -> Iterator[Shown]:
        self.end = end
        yield Doing(text="")
        if end.content:
            yield Answer(text=end.content)
        for line, is_without_answer in outcome_in_words(end, self.usage.limits):
            yield Note(text=line, tone=Tone.ERROR if is_without_answer else Tone.WARNING)
        yield Note(text=self.usage.in_words(end, time), aside=True)

    def _doing(self, text: str) -> Doing:
        used = self.usage.limits_in_words()
        return Doing(text=f"{text} · {used}" if used else text)


def _stream_troubles(what: object) -> Iterator[Shown]:
    match what:
        case ShuttingDown():
            yield Doing(text="the service stops; its next start goes on with the turn")
        case SessionDeleted():
            yield Note(text="the session was deleted", tone=Tone.ERROR)
        case StoreBroken():
            yield Note(text="the service could not write its log, and the turn failed with that", tone=Tone.ERROR)
        case Resync():
            yield Note(text="the service's store is another one now; what was missed is not shown", tone=Tone.WARNING)
        case _:
            pass
