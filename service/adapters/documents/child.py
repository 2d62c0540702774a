"""The process of one document: the file comes as standard input, what was found goes to standard output."""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import BinaryIO

from service.adapters.documents.confinement import confine
from service.adapters.documents.extraction import extract
from service.adapters.documents.frames import FrameKind, write_frame
from service.adapters.documents.refusal import Refused
from service.adapters.documents.text_sink import TextSink

# The calls that are told of a defect, innermost last.
_CALLS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a child is told: the end of the file's name, its declared media type, and its bounds."""

    suffix: str
    media_type: str | None
    max_text_bytes: int
    memory_bytes: int
    time_s: float

    def as_argument(self) -> str:
        """Write it as one argument of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, argument: str) -> Task:
        """Read what `as_argument` wrote."""
        return cls(**json.loads(argument))


def main() -> None:
    """Read the file that is standard input."""
    task = Task.from_argument(sys.argv[1])
    confine(memory_bytes=task.memory_bytes, time_s=task.time_s)
    out = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints is no part of the answer.
    os.dup2(2, 1)
    kind, payload = _answer(task, sys.stdin.buffer, out)
    write_frame(out, kind, payload.encode("utf-8", "replace"))


def _answer(task: Task, file: BinaryIO, out: BinaryIO) -> tuple[FrameKind, str]:
    try:
        sink = TextSink(out, max_bytes=task.max_text_bytes)
        return FrameKind.DONE, extract(file, sink, suffix=task.suffix, media_type=task.media_type)
    except Refused as refused:
        return FrameKind.REFUSED, str(refused)
    except MemoryError:
        return FrameKind.REFUSED, too_much_memory(task.memory_bytes)
    except Exception as error:
        return FrameKind.FAILED, _where(error)


def _where(error: Exception) -> str:
    """Tell what went wrong and where, without the error's message: it may hold the document's text."""
    calls = traceback.extract_tb(error.__traceback__)[-_CALLS:]
    places = ", ".join(f"{PurePath(call.filename).name}:{call.lineno}" for call in calls)
    return f"{type(error).__name__} at {places}"


def too_much_memory(memory_bytes: int) -> str:
    """Say that a document asked for more memory than it may have."""
    limit = f"{memory_bytes / (1 << 20):.4g} MiB"
    return f"could not be read within {limit} of memory, or is damaged; send its text instead"


if __name__ == "__main__":
    main()
