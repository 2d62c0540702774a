"""The figures of a run as JSON for programs and as Markdown for people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.reading.attempts import Attempt
from benchmarks.reading.summary import cost_table, kind_table, notes, rows_of
from benchmarks.reading.tasks import Task
from service.core.json_types import JsonObject

JSON_FILE = "reading.json"
MARKDOWN_FILE = "reading.md"

_EXPLANATION = """\
Right: the answer contains an accepted string as whole words; where nothing answers, it says so. Misled: a wrong
answer that names the false or older value of a misleading sentence. Prompt tokens evaluated are those that came from
no cache. Evidence used: the share of the evidence in the parts that a rival chose to rest on, where it chooses; text
used: the share of the text in those parts. A reading that uses all of the text has chosen nothing.
Seconds are those of one machine, and each rival cuts the text itself within them.

A few made-up facts in old prose say little about other questions, and a small model says little about larger ones.
"""


def as_json(settings: Mapping[str, object], tasks: Sequence[Task], attempts: Sequence[Attempt]) -> JsonObject:
    """Return all there is to know of a run; texts by their length and SHA-256, since the seed gives them again."""
    return {
        "settings": dict(settings),
        "rivals": [asdict(row) for row in rows_of(attempts)],
        "tasks": [_task(task) for task in tasks],
        "attempts": [asdict(each) for each in attempts],
    }


def as_markdown(settings: Mapping[str, object], attempts: Sequence[Attempt]) -> str:
    """Return the page."""
    listed = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in settings.items())
    parts = ["# Reading: the gated loop and its rivals", listed, cost_table(attempts), "Right answers by kind of task:"]
    parts.append(kind_table(attempts))
    if without := notes(attempts):
        parts.append("Without an answer:\n\n" + "\n".join(f"- {line}" for line in without))
    return "\n\n".join([*parts, _EXPLANATION])


def write(folder: Path, settings: Mapping[str, object], tasks: Sequence[Task], attempts: Sequence[Attempt]) -> None:
    """Write both files into the folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = json.dumps(as_json(settings, tasks, attempts), ensure_ascii=False, indent=1)
    (folder / JSON_FILE).write_text(figures + "\n", encoding="utf-8")
    (folder / MARKDOWN_FILE).write_text(as_markdown(settings, attempts), encoding="utf-8")


def _task(task: Task) -> JsonObject:
    return {
        "id": task.id,
        "kind": task.kind,
        "seed": task.seed,
        "query": task.query,
        "documents": [_document(document.name, document.text.encode()) for document in task.documents],
        "answers": list(task.answers) or None,
        "evidence": [asdict(span) for span in task.evidence],
        "distractors": [asdict(span) for span in task.distractors],
        "decoys": list(task.decoys),
    }


def _document(name: str, text: bytes) -> JsonObject:
    return {"name": name, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
