"""A conversation as its log, record by record, with what must be in the prompt at each sending point (P2, P8).

Below: the real numbering of calls and the real projection, so that what is rendered is what a session sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from service.core.baseline import Baseline, TemplateProfile
from service.core.call_ids import numbered_calls
from service.core.completion_events import ModelCall
from service.core.json_types import JsonObject
from service.core.projection import CLOSING_TEXT, Projection
from service.core.records import (
    Assistant,
    Outcome,
    Record,
    ResultStatus,
    SessionCreated,
    SessionTotals,
    ToolResult,
    TurnFinished,
    TurnOptions,
    User,
)
from service.core.usage import UsageTotals

# As llama-server makes them: 32 letters and digits, another for each call.
_ID_STEM = "f3Kq8ZtYw1Bn6RjUe0XsLc5Vd9HgMa"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call of a batch and how it ended."""

    name: str
    arguments: str
    result: str
    status: ResultStatus = ResultStatus.OK
    fence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingPoint:
    """What the model is asked with: `turn` counts from 1; `marks` must be shown, one behind the other."""

    turn: int
    messages: tuple[JsonObject, ...]
    marks: tuple[str, ...]


@dataclass(slots=True)
class Conversation:
    """A session that is written turn by turn, in the words of the people in it."""

    template: TemplateProfile | None
    system: str = "You help people at the harbour, briefly."
    sent: list[SendingPoint] = field(default_factory=list[SendingPoint])
    _projection: Projection = field(default_factory=Projection)
    _marks: list[str] = field(default_factory=list[str])
    _turn: int = 0
    _calls: int = 0
    _answered: bool = False

    def __post_init__(self) -> None:
        """Begin the log."""
        self._take(SessionCreated(agent=None, baseline=Baseline(system=self.system, template=self.template)))

    def user(self, text: str) -> None:
        """Begin a turn; the model is asked at once."""
        self._turn += 1
        self._answered = False
        self._take(User(content=text, options=TurnOptions()))
        self._marks.append(text)
        self._send()

    def step(self, calls: Sequence[Asked], *, text: str = "", thought: str = "", reverse: bool = False) -> None:
        """Let the model call tools, then ask it again; `reverse` lets the last result arrive first."""
        self._batch(calls, text=text, thought=thought, reverse=reverse)
        self._send()

    def answer(self, text: str, *, thought: str = "") -> None:
        """Let the model answer, which ends the turn."""
        self._take(_said(text, thought, finish_reason="stop"))
        self._marks.append(text)
        self._end(Outcome.ANSWERED)

    def stop(self, outcome: Outcome, *, said: str = "", calls: Sequence[Asked] = ()) -> None:
        """End the turn without an answer: at what was said of it, or behind a batch that did not run."""
        if calls:
            self._batch(calls, text="", thought="", reverse=False)
        if said:
            self._take(_said(said, "", finish_reason="cancelled"))
        self._marks.append(said or CLOSING_TEXT[outcome])
        self._end(outcome)

    def _batch(self, calls: Sequence[Asked], *, text: str, thought: str, reverse: bool) -> None:
        first = self._calls + 1
        self._calls += len(calls)
        made = [
            ModelCall(id=f"{_ID_STEM}{number:02}", name=call.name, arguments=call.arguments)
            for number, call in enumerate(calls, start=first)
        ]
        nine = self.template is not None and self.template.call_id == "nine"
        numbered = numbered_calls(made, first, nine=nine)
        self._take(_said(text, thought, finish_reason="tool_calls", tool_calls=numbered))
        results = [
            ToolResult(
                call=call.call,
                tool_call_id=call.tool_call_id,
                name=call.name,
                status=asked.status,
                content=asked.result,
                untrusted=asked.fence is not None,
                fence=asked.fence,
            )
            for call, asked in zip(numbered, calls, strict=True)
        ]
        for result in reversed(results) if reverse else results:
            self._take(result)
        self._marks += [asked.result for asked in calls]

    def _end(self, outcome: Outcome) -> None:
        self._take(TurnFinished(outcome=outcome, steps=1, usage=UsageTotals(), totals=SessionTotals()))

    def _take(self, record: Record) -> None:
        self._projection.apply(record)

    def _send(self) -> None:
        messages = self._projection.messages
        self.sent.append(SendingPoint(turn=self._turn, messages=messages, marks=tuple(self._marks)))


def _said(text: str, thought: str, *, finish_reason: str, **other: object) -> Assistant:
    fields = {"step": 1, "content": text, "reasoning": thought, "finish_reason": finish_reason, **other}
    return Assistant(**fields)  # pyright: ignore[reportArgumentType]
