"""What a session's records say to a person: its last turns in brief, and its last records as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.cli.chat_news import news_of
from service.cli.chat_shown import Note, Tone
from service.cli.chat_words import call_in_words
from service.cli.words import first_line, shown_text
from service.core.json_types import JsonObject
from service.core.records import ApprovalRequested, Assistant, Outcome, ToolCallStarted, ToolResult, TurnFinished, User
from service.core.visible import visible

READ = 200
"""So many of the last records are looked at."""

TURNS_SHOWN = 3
LOG_SHOWN = 15
_ANSWER_LINES = 6
_TYPE_SHOWN = 30
_TIME_SHOWN = 19
_LINE_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTurn:
    """A turn, and the message that it began with."""

    turn: str
    content: str


def last_turn(records: Sequence[JsonObject]) -> AskedTurn | None:
    """Give the last turn that began in these records."""
    for record in reversed(records):
        news = news_of(str(record.get("type")), record)
        if news is not None and isinstance(news.what, User):
            return AskedTurn(turn=news.turn, content=news.what.content)
    return None


def turns_in_brief(records: Sequence[JsonObject]) -> list[Note]:
    """Show the last turns of these records that have ended: the message, and how the answer begins."""
    turns: dict[str, list[Note]] = {}
    ended: list[str] = []
    for record in records:
        news = news_of(str(record.get("type")), record)
        if news is None:
            continue
        match news.what:
            case User():
                turns[news.turn] = [Note(text=f"> {first_line(news.what.content)}", tone=Tone.USER, aside=True)]
            case TurnFinished() if news.turn in turns:
                turns[news.turn] += _end_in_brief(news.what)
                ended.append(news.turn)
            case _:
                pass
    return [note for turn in ended[-TURNS_SHOWN:] for note in turns[turn]]


def _end_in_brief(end: TurnFinished) -> Iterator[Note]:
    lines = shown_text(end.content or "").splitlines()
    for line in lines[:_ANSWER_LINES]:
        yield Note(text=line, tone=Tone.PLAIN, aside=True)
    if len(lines) > _ANSWER_LINES:
        yield Note(text=f"… and {len(lines) - _ANSWER_LINES} lines more", aside=True)
    if end.outcome is not Outcome.ANSWERED:
        yield Note(text=f"(it ended with {end.outcome.value.replace('_', ' ')})", tone=Tone.WARNING, aside=True)


def log_lines(records: Sequence[JsonObject]) -> list[Note]:
    """List the last of these records, each in one line."""
    return [Note(text=_log_line(record), aside=True) for record in records[-LOG_SHOWN:]]


def _log_line(record: JsonObject) -> str:
    kind, time = visible(str(record.get("type")), _TYPE_SHOWN), visible(str(record.get("time")), _TIME_SHOWN)
    line = f"{record.get('seq')!s:>6}  {time.rstrip('…'):19}  {kind:18}  {_gist(record)}"
    return line.rstrip() if len(line) <= _LINE_SHOWN else f"{line[: _LINE_SHOWN - 1]}…"


def _gist(record: JsonObject) -> str:
    news = news_of(str(record.get("type")), record)
    match news.what if news is not None else None:
        case User() | Assistant() as said:
            return first_line(said.content)
        case ToolCallStarted() as call:
            return call_in_words(call.name, call.arguments)
        case ToolResult() as result:
            return f"{call_in_words(result.name, '').strip()} {result.status}: {first_line(result.content)}"
        case ApprovalRequested() as asked:
            return ", ".join(call_in_words(call.name, call.arguments) for call in asked.calls)
        case TurnFinished() as end:
            return end.outcome.value
        case _:
            return ""
