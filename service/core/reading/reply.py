"""What the model wrote about a chunk, taken at its word: one JSON object, or it isn't parsed (R4).

A gate is never guessed: no prose is searched for an object, no member is added, no value is bent into another type.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from service.core.completion_events import FinishReason
from service.core.json_types import JsonObject, JsonValue

_UPDATE, _MEMORY, _EXIT, _ANSWER = "update", "memory", "exit", "answer"
_CANDIDATE_BEGUN = re.compile(r'\s*\{\s*"update"\s*:\s*true\s*,\s*"memory"\s*:\s*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """A reply that parsed: the candidate memory is there exactly when `update` is; `draft` only when it was wanted."""

    update: bool
    candidate: str | None
    exit: bool
    draft: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateCut:
    """The candidate memory had not ended when the model had written all that it may (R3)."""


@dataclass(frozen=True, slots=True)
class NotParsed:
    """Anything else; `reason` says why in a clause."""

    reason: str


Reply = Gates | CandidateCut | NotParsed


def read_reply(content: str, finish_reason: str, *, with_draft: bool = False) -> Reply:
    """Read a reply; `with_draft` is whether an answer so far was asked for (R11)."""
    try:
        said = json.loads(content, object_pairs_hook=_members)
    except (ValueError, RecursionError):
        cut = finish_reason == FinishReason.LENGTH
        if cut and _CANDIDATE_BEGUN.match(content):
            return CandidateCut()
        return NotParsed("it was cut off" if cut else "it is not one JSON object")
    if not isinstance(said, dict):
        return NotParsed("it is not one JSON object")
    members = cast(JsonObject, said)
    fault = _fault_of(members, with_draft)
    if fault is not None:
        return NotParsed(fault)
    return Gates(
        update=members[_UPDATE], candidate=members.get(_MEMORY), exit=members[_EXIT], draft=members.get(_ANSWER)
    )


def _members(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def _fault_of(members: JsonObject, with_draft: bool) -> str | None:
    update = members.get(_UPDATE)
    if not isinstance(update, bool) or not isinstance(members.get(_EXIT), bool):
        return "update and exit must be true or false"
    wanted = {_UPDATE, _EXIT}
    if update:
        wanted.add(_MEMORY)
    if with_draft:
        wanted.add(_ANSWER)
    if members.keys() != wanted:
        return f"its members must be {', '.join(sorted(wanted))}"
    texts = [members[name] for name in (_MEMORY, _ANSWER) if name in wanted]
    if not all(isinstance(text, str) and _is_text(text) for text in texts):
        return "memory and answer must be text"
    if update and not members[_MEMORY].strip():
        return "the memory must not be empty"
    return None


def _is_text(text: str) -> bool:
    """Whether it can be stored and sent: a lone surrogate can't."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
