"""What `turnkeeper read` says at the end: the answer alone on standard output, what it comes from beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import typer

from service.cli.failure import FAILED, INTERRUPTED
from service.cli.read_evidence import UsedPart
from service.cli.read_run import ReadingRun
from service.cli.words import counted, shown_text
from service.core.json_types import JsonObject
from service.core.reading.records import ReadingOutcome, RunEnd
from service.core.visible import visible

ANSWERED = 0
NOT_FOUND = 3

_PARTS_SHOWN = 20
_SHOWN = 2000
_NAME_SHOWN = 200
_EXIT_CODES = {ReadingOutcome.ANSWERED: ANSWERED, ReadingOutcome.NOT_FOUND: NOT_FOUND}


def report(run: ReadingRun, resource: JsonObject | None, *, quiet: bool) -> int:
    """Print the answer, or the reading as JSON when it is given; say the rest; give the exit code."""
    ended = run.board.ended
    if resource is not None:
        # Escaped, so that it is the same in every encoding and steers no terminal.
        typer.echo(json.dumps(resource).replace("\x7f", "\\u007f"))
    elif run.board.answer is not None:
        _print_answer(run.board.answer.content)
    if ended is None:
        _say("the service said nothing of an end that this version knows")
        return FAILED
    for line in _outcome(run, ended):
        _say(line)
    if not quiet:
        for line in (*_origin(run), _counts(run, ended)):
            _say(line)
    if run.wants_cancel and ended.outcome is ReadingOutcome.CANCELLED:
        return INTERRUPTED
    return _EXIT_CODES.get(ended.outcome, FAILED)


def _print_answer(answer: str) -> None:
    reconfigure: Any = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # An answer in other letters than the terminal's is shown with gaps.
        reconfigure(errors="replace")
    typer.echo(shown_text(answer))


def _outcome(run: ReadingRun, ended: RunEnd) -> Iterator[str]:
    match ended.outcome:
        case ReadingOutcome.ANSWERED:
            if run.board.answer is not None and run.board.answer.truncated:
                yield "the answer was cut at its longest"
        case ReadingOutcome.NOT_FOUND:
            yield "not found: no part of the text was of use for the question"
        case ReadingOutcome.CANCELLED:
            yield "the reading was cancelled"
        case ReadingOutcome.FAILED:
            error = ended.error
            yield "the reading failed" + ("" if error is None else f": {error.kind}: {visible(error.message, _SHOWN)}")


def _origin(run: ReadingRun) -> Iterator[str]:
    board = run.board
    if board.answer is None or board.created is None:
        return
    parts = run.trail.parts(board.created.options.level)
    yield f"the answer comes from {counted(sum(map(_chunks, parts)), 'chunk')}:"
    for document, of_document in groupby(parts, key=lambda part: part.document):
        shown = list(of_document)
        more = len(shown) - _PARTS_SHOWN
        listed = ", ".join(map(_place, shown[:_PARTS_SHOWN])) + (f" and {more} more" if more > 0 else "")
        yield f"  {visible(board.name_of(document), _NAME_SHOWN)}: {listed}"


def _chunks(part: UsedPart) -> int:
    return part.last_chunk - part.first_chunk + 1


def _place(part: UsedPart) -> str:
    chunks = f"chunk {part.first_chunk}"
    if part.last_chunk > part.first_chunk:
        chunks = f"chunks {part.first_chunk} to {part.last_chunk}"
    return f"{chunks} (bytes {part.start} to {part.end})"


def _counts(run: ReadingRun, ended: RunEnd) -> str:
    name = (run.location or "").rpartition("/")[2]
    return (
        f"{ended.chunks_used} of {counted(ended.chunks_seen, 'chunk')} used, {counted(ended.calls, 'call')} of the "
        f"model, reading {visible(name, _NAME_SHOWN)}"
    )


def _say(message: str) -> None:
    typer.echo(f"turnkeeper: {message}", err=True)
