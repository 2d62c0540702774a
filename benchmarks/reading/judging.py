"""Whether an answer is right: it contains an accepted string, or says that there is nothing to be found."""

from __future__ import annotations

import re
import unicodedata

from benchmarks.reading.tasks import Task

NOT_FOUND = "not found"

_NO_WORD = re.compile(r"[^\w]+")
_APOSTROPHES = re.compile(r"['\u2019]")
_SAYS_ABSENT = re.compile(
    r"\b(?:not|isnt|cannot be|never)"
    r" (?:found|in the (?:text|section|memory|passage)|mentioned|stated|given|provided|specified|present|there|known)\b"
    r"|\bno (?:answer|information|mention)\b"
    r"|\b(?:does not|doesnt|do not|dont|did not|didnt)"
    r" (?:say|mention|state|contain|give|provide|specify|tell|appear|answer|know)\b"
)


def normalised(text: str) -> str:
    """Return the text in lower case, its words apart by single spaces, without punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _NO_WORD.sub(" ", _APOSTROPHES.sub("", folded)).strip()


def contains(answer: str, wanted: str) -> bool:
    """Say whether `wanted` stands in the answer as whole words."""
    return f" {normalised(wanted)} " in f" {normalised(answer)} "


def says_absent(answer: str) -> bool:
    """Say whether the answer states that the text doesn't answer."""
    return _SAYS_ABSENT.search(normalised(answer)) is not None


def is_right(task: Task, answer: str) -> bool:
    """Judge an answer; where nothing answers, only saying so is right."""
    if not task.answers:
        return says_absent(answer)
    return any(contains(answer, accepted) for accepted in task.answers)


def is_misled(task: Task, answer: str) -> bool:
    """Say whether a wrong answer names what a misleading sentence says."""
    return not is_right(task, answer) and any(contains(answer, decoy) for decoy in task.decoys)
