"""The log as the model sees it: messages that only ever grow at their end (P1, P2, P4, P8).

What isn't settled isn't projected: a batch appears when its last result is in, so that a prompt that was sent
once is a prefix of every later one, and the server's cache holds. The template profile of the baseline, which is
fixed as well, gives the messages the form that the model's template takes. A `summary` is the one place where the
prompt begins anew: it stands for the blocks up to the record that it names, and those behind are kept (C1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.core.baseline import Baseline
from service.core.ids import TurnId
from service.core.json_types import JsonObject
from service.core.prompt_messages import assistant_message, batch_messages, head
from service.core.records import (
    Assistant,
    Limit,
    Outcome,
    Record,
    SessionCreated,
    Summary,
    ToolResult,
    TurnFinished,
    User,
)
from service.core.result_cap import LEAST_CAP, capped
from service.core.summary_text import with_summary

SHORTENED_BYTES = LEAST_CAP
"""How much is left of a result that had to make room: head, tail, and where the rest is (C1)."""

CLOSING_TEXT: dict[Outcome, str] = {
    Outcome.ANSWERED: "(I had nothing to say.)",
    Outcome.TURN_LIMIT: "(I stopped here: this turn reached one of its limits before there was an answer.)",
    Outcome.SESSION_FULL: "(I stopped here: there is no room left in my context for an answer.)",
    Outcome.FAILED: "(I could not answer: something failed on my side.)",
    Outcome.CANCELLED: "(I stopped here: this turn was cancelled.)",
}
"""What stands as the assistant's last word of a turn that ended without one, so that roles alternate (P4)."""

LIMIT_TEXT: dict[Limit, str] = {
    Limit.TOOL_ITERATIONS: "too many rounds of tool calls; limit tool_iterations",
    Limit.REPEATED_CALL: "the same call came again and again; limit repeated_call, setting repeat_detection",
    Limit.DENIED_REPEATEDLY: "what was denied was asked for again; limit denied_repeatedly, setting denied_repeats",
    Limit.MAX_TOKENS: "the answer was cut before it said anything; limit max_tokens",
    Limit.TURN_TIME: "its time was up; limit turn_time, setting turn_time_s",
}
"""What a turn that a limit ended says of it in its last word: the reason, the limit and its setting (T12)."""


def closing_text(outcome: Outcome, limit: Limit | None = None) -> str:
    """Give the last word of a turn that ended without an answer."""
    if outcome is Outcome.TURN_LIMIT and limit is not None:
        return f"(I stopped here, without an answer: {LIMIT_TEXT[limit]}.)"
    return CLOSING_TEXT[outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Messages that stand and go together: a user's message, an answer, a batch with its results, a closing word.

    `first_seq` and `last_seq` are those of the records that it shows. `question` is a user's message word by word;
    `batch` and `results` are those of a batch, in call order and as far as they are shown.
    """

    turn: TurnId | None
    first_seq: int
    last_seq: int
    messages: tuple[JsonObject, ...]
    question: str | None = None
    batch: Assistant | None = None
    results: tuple[ToolResult, ...] = ()


class Projection:
    """The messages of one session, grown record by record.

    Feed it every record in order, from `session_created` on: it counts them.
    """

    def __init__(self) -> None:
        self._baseline = Baseline()
        self._head: list[JsonObject] = []
        self._blocks: list[Block] = []
        self._messages: list[JsonObject] = []
        self._begun_with: SessionCreated | None = None
        self._summary: Summary | None = None
        self._first_question: str | None = None
        self._seq = 0
        self._turn: TurnId | None = None
        self._in_turn = False
        self._batch: Assistant | None = None
        self._batch_seq = 0
        self._results: dict[int, ToolResult] = {}

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[JsonObject, ...]:
        """Everything that is settled, in the form of P1."""
        return tuple(self._messages)

    @property
    def head(self) -> tuple[JsonObject, ...]:
        """What stands before all blocks: the system prompt, where it has a message of its own."""
        return tuple(self._head)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What is settled behind the head; the first block holds the summary, when there is one."""
        return tuple(self._blocks)

    @property
    def summary(self) -> Summary | None:
        """The last summary, which is the one that is shown."""
        return self._summary

    @property
    def begun_with(self) -> SessionCreated | None:
        """The session's first record."""
        return self._begun_with

    @property
    def first_question(self) -> str:
        """The session's first message, word by word."""
        return self._first_question or ""

    @property
    def in_turn(self) -> bool:
        """Whether the last turn has not ended."""
        return self._in_turn

    @property
    def settled(self) -> int:
        """How many messages stay as they are: where all that stands is a summary, the next message goes into it."""
        return len(self._messages) - (1 if self._blocks and _awaits_question(self._blocks) else 0)

    def with_question(self, content: str) -> tuple[JsonObject, ...]:
        """Give the messages as they would be with this user's message behind them (C0)."""
        shown = self._head if self._opens() else self._messages
        return (*shown, *self._asked(content, None).messages)

    def with_summary(self, summary: Summary) -> tuple[JsonObject, ...]:
        """Give the messages as they would be behind this summary."""
        return (*self._head, *_messages_of(self._summarised(summary)))

    def with_all_summarised(self, text: str, content: str) -> tuple[JsonObject, ...]:
        """Give the least that may stand before a user's message: the head, and a summary with this text (C0)."""
        summary = Summary(covers=self._seq, text=text, tokens_before=0, tokens_after=0)
        return (*self._head, *self._opening(summary, content, None, self._seq).messages)

    def apply(self, record: Record, turn: TurnId | None = None) -> None:
        """Take the next record of the log, with the turn that it belongs to."""
        self._seq += 1
        match record:
            case SessionCreated(baseline=baseline):
                self._begun_with, self._baseline = record, baseline
                self._head = head(baseline)
                self._messages = list(self._head)
            case User(content=content):
                self._take_up(content, turn)
            case Assistant():
                self._answer(record)
            case ToolResult():
                self._settle(record)
            case Summary():
                self._show(self._summarised(record))
                self._summary = record
            # A turn that ends in the queue was never in the prompt (H4).
            case TurnFinished(outcome=outcome, limit=limit) if turn == self._turn:
                self._close(closing_text(outcome, limit))
            case _:
                pass

    def _take_up(self, content: str, turn: TurnId | None) -> None:
        self._turn, self._in_turn = turn, True
        if self._first_question is None:
            self._first_question = content
        asked = self._asked(content, turn)
        if self._opens():
            self._show([asked])
        else:
            self._add(asked)

    def _opens(self) -> bool:
        """Say whether the next user's message stands first; one that follows a summary stands in its message."""
        return not self._blocks or _awaits_question(self._blocks)

    def _asked(self, content: str, turn: TurnId | None) -> Block:
        """Give the block of a user's message."""
        if self._opens():
            return self._opening(self._summary, content, turn, self._seq)
        message: JsonObject = {"role": "user", "content": content}
        return self._block(message, turn=turn, question=content)

    def _opening(self, summary: Summary | None, question: str | None, turn: TurnId | None, seq: int) -> Block:
        """Give the first block; it holds the system prompt where that has no message of its own (P8)."""
        text, fence = (summary.text, summary.fence) if summary is not None else ("", None)
        content = with_summary(text, fence, question)
        if not self._head and self._baseline.system:
            content = f"{self._baseline.system}\n\n{content}"
        message: JsonObject = {"role": "user", "content": content}
        return Block(turn=turn, first_seq=seq, last_seq=seq, messages=(message,), question=question)

    def _summarised(self, summary: Summary) -> list[Block]:
        """Give the blocks behind a summary: pure, so that the log alone gives them again."""
        kept = [self._shortened(block, summary) for block in self._blocks if block.first_seq > summary.covers]
        if kept and kept[0].question is not None:
            first, kept = kept[0], kept[1:]
        elif kept or self._in_turn:
            # The cut is within a turn: its message stays, word by word.
            first = next(block for block in reversed(self._blocks) if _opens_before(block, summary.covers))
        else:
            return [self._opening(summary, None, None, summary.covers)]
        return [self._opening(summary, first.question, first.turn, first.first_seq), *kept]

    def _shortened(self, block: Block, summary: Summary) -> Block:
        if block.batch is None or not any(result.call in summary.shortened for result in block.results):
            return block
        results = [shortened(result) if result.call in summary.shortened else result for result in block.results]
        return replace(block, messages=batch_messages(self._baseline, block.batch, results), results=tuple(results))

    def _answer(self, record: Assistant) -> None:
        if record.tool_calls:
            self._batch, self._batch_seq = record, self._seq
        elif record.content.strip():
            self._add(self._block(assistant_message(record.content, record.reasoning), turn=self._turn))

    def _settle(self, result: ToolResult) -> None:
        batch = self._batch
        if batch is None:
            return
        self._results[result.call] = result
        if len(self._results) < len(batch.tool_calls):
            return
        # Results are kept as they arrive and shown in call order (T8).
        results = tuple(self._results[call.call] for call in batch.tool_calls)
        block = self._block(*batch_messages(self._baseline, batch, results), turn=self._turn)
        self._add(replace(block, first_seq=self._batch_seq, batch=batch, results=results))
        self._batch, self._results = None, {}

    def _close(self, last_word: str) -> None:
        self._in_turn = False
        # A turn that was cancelled before its message was taken up has nothing to close.
        if self._blocks and self._messages[-1]["role"] in ("user", "tool") and not _awaits_question(self._blocks):
            self._add(self._block({"role": "assistant", "content": last_word}, turn=self._turn))

    def _block(self, *messages: JsonObject, turn: TurnId | None, question: str | None = None) -> Block:
        return Block(turn=turn, first_seq=self._seq, last_seq=self._seq, messages=messages, question=question)

    def _add(self, block: Block) -> None:
        self._blocks.append(block)
        self._messages += block.messages

    def _show(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        self._messages = [*self._head, *_messages_of(blocks)]


def _messages_of(blocks: Sequence[Block]) -> list[JsonObject]:
    return [message for block in blocks for message in block.messages]


def _awaits_question(blocks: Sequence[Block]) -> bool:
    """Say whether all that stands is a summary: the next message goes into the same one, so that roles alternate."""
    return len(blocks) == 1 and blocks[0].question is None and blocks[0].messages[0]["role"] == "user"


def _opens_before(block: Block, seq: int) -> bool:
    return block.question is not None and block.first_seq <= seq


def shortened(result: ToolResult) -> ToolResult:
    """Give a result with what is left of its text when it has to make room (C1)."""
    text = capped(result.content, SHORTENED_BYTES, call=result.call, whole_bytes=result.original_bytes)
    return replace(result, content=text.text)
