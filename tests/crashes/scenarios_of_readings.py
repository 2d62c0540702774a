"""What is read while the service is killed: documents, how they are read, and what the model writes of each part."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from service.core.json_types import JsonObject
from tests.crashes.dying_service import DOCUMENT, READING_BEGUN, TEXTS
from tests.crashes.kill_points import KillPoint
from tests.crashes.watched_reader import AskedSection, Reads, Said
from tests.readings.reading_house import CHUNK_TOKENS, part, retain, update

_PART = re.compile(r"Part (\d+)( \S+)?")
_NOTE = re.compile(r"(?:^|; )(?:It is under|They know of) [^;]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingScenario:
    """One reading: `documents` by name; those of an `upload` go as files.

    It comes to `held` and waits there; it is cancelled then when it `cancels`, and then it may go on. `silent` are
    places that leave no record. `readers` is how many documents are read at the same time, at most.
    """

    documents: Mapping[str, str]
    reads: Reads
    options: JsonObject = field(default_factory=dict[str, object])
    outcome: str = "answered"
    upload: bool = False
    held: KillPoint | None = None
    cancels: bool = False
    silent: tuple[KillPoint, ...] = ()
    readers: int = 1


def _book(*says: str) -> str:
    return "".join(part(number, said) for number, said in enumerate(says, start=1))


_SCRIPT: Mapping[int, Sequence[Said]] = {
    1: [retain(exit=True)],
    2: [update("It is under the mat.")],
    3: ["not at all", '{"update": 1}', update("It is under the mat, or was.")],
    4: ["nothing", "nothing", "nothing"],
    6: [update(" ".join(["word"] * 90))],
    7: [('{"update": true, "memory": "on and on', "length")],
    10: [update("It is under the stone.")],
    12: [update(" ".join(["word"] * 90), exit=True)],
}


def _read_book(asked: AskedSection) -> Said:
    if asked.is_answer:
        return f"Answer: {asked.text}"
    found = _PART.search(asked.text)
    script = _SCRIPT.get(int(found[1])) if found is not None else None
    return retain() if script is None else script[asked.attempt]


def _never_exits(asked: AskedSection) -> Said:
    said = _read_book(asked)
    return said.replace('"exit": true', '"exit": false') if isinstance(said, str) else said


def _read_for_sure(asked: AskedSection) -> Said:
    """End each object with a draft, as `exit: measured` wants it."""
    said = _never_exits(asked)
    if asked.is_answer or isinstance(said, tuple) or not said.startswith("{"):
        return said
    found = asked.memory or ""
    return f"{said[:-1]}, {json.dumps('answer')}: {json.dumps(found)}}}"


def _note(asked: AskedSection) -> Said:
    """Add what a part says to the memory; at level 2 the parts are memories."""
    if asked.is_answer:
        return f"Answer: {asked.text}"
    told = _PART.search(asked.text)
    news = f"It is under {told[2].strip()}" if told is not None and told[2] else ""
    if told is None:
        news = f"They know of {len(_NOTE.findall(asked.text))}"
    return update("; ".join(filter(None, [asked.memory, news]))) if news else retain()


def _nothing(asked: AskedSection) -> Said:
    return retain(exit=True)


def _first_only(asked: AskedSection) -> Said:
    return f"Answer: {asked.text}" if asked.is_answer else update("It is under the mat.", exit=True)


def _named(name: str, *parts: str) -> str:
    return "".join(part(number, f"{said} {name}" if said else f"- {name}") for number, said in enumerate(parts, 1))


_HTML = "<html><body>{}</body></html>"
_THREE = {
    "one.txt": _named("one", "", "stones", "", "mats"),
    "two.txt": _named("two", "doors", "", ""),
    "three.md": _named("three", "", "", "beds", "", "roofs"),
}
_FILES = {
    "{}.txt": _named("text", "", "stones", ""),
    "{}.html": _HTML.format(f"<p>{_named('page', 'mats')}</p>"),
}
# Its texts are written in two slices.
_LARGE = _book("") + "".join(part(number) for number in range(2, 4_600))

A_READING = "a reading with all that may become of a chunk"
SEVERAL = "three documents at a time, then their memories"
UPLOADED = "documents that come as files"
LARGE = "a text that is kept in slices"
CANCELLED_READING = "a reading that is cancelled"

READINGS: dict[str, ReadingScenario] = {
    A_READING: ReadingScenario(
        documents={"book.txt": _book(*["something"] * 13)}, reads=_read_book, options={"exit": "asked"}
    ),
    "a reading that stops when it is sure": ReadingScenario(
        documents={"book.md": _book(*["something"] * 16)}, reads=_read_for_sure, options={"exit": "measured"}
    ),
    SEVERAL: ReadingScenario(documents=_THREE, reads=_note, options={"level": 2}, readers=2),
    "a reading that finds nothing": ReadingScenario(
        documents={"book.txt": _book("", "", "")}, reads=_nothing, options={"exit": "asked"}, outcome="not_found"
    ),
    UPLOADED: ReadingScenario(
        documents=_FILES,
        reads=_note,
        options={"level": 2, "parallel": 1},
        upload=True,
        silent=tuple(
            KillPoint(f"write {place}: {DOCUMENT}", nth) for place in ("before", "inside", "after") for nth in (1, 2)
        ),
    ),
    LARGE: ReadingScenario(
        documents={"long.txt": _LARGE},
        reads=_first_only,
        options={"exit": "asked", "chunk_tokens": 5000},
        silent=tuple(
            KillPoint(f"write {place}: {what}", nth)
            for place in ("before", "inside", "during", "after")
            for what, nth in ((READING_BEGUN, 1), (TEXTS, 1), (TEXTS, 2))
        ),
    ),
    CANCELLED_READING: ReadingScenario(
        documents={"book.txt": _book(*["something"] * 13)},
        reads=_read_book,
        options={"exit": "asked"},
        outcome="cancelled",
        held=KillPoint("reader: piece", 14),
        cancels=True,
    ),
}
"""Readings; all but the large one are cut into chunks of one part each."""

_DEFAULTS: JsonObject = {"memory_budget": 64, "chunk_tokens": CHUNK_TOKENS}


def options_of(scenario: ReadingScenario) -> JsonObject:
    """Give the options of a request."""
    return _DEFAULTS | scenario.options
