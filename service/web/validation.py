"""What pydantic found wrong with a request, told so that a person knows which field to change and how (H2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from service.core.errors import ProblemCode, RequestRefused
from service.core.json_types import JsonObject

# Of a request with very many faults the first ones are told.
MAX_TOLD = 10
MAX_NAME_CHARACTERS = 100

_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not known here; leave it out",
}

# pydantic writes "Input should be…", "String should have…"; we name the field in place of that word.
_SUBJECT = re.compile(r"^\w+ (?=should )")


def refused_for(errors: Sequence[Any]) -> RequestRefused:
    """Make a refusal of pydantic's error list; it quotes no values, which may be long or secret (K5)."""
    told = [_told(error) for error in errors[:MAX_TOLD]]
    detail = "; ".join(f"{fault['field']} {fault['detail']}" for fault in told[:3])
    return RequestRefused(ProblemCode.VALIDATION, detail, extensions={"errors": told})


def refused_body(error: ValidationError) -> RequestRefused:
    """Make a refusal of what a model found wrong with a body that a route reads itself."""
    return refused_for([{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()])


def refused_field(where: str, field: str, detail: str) -> RequestRefused:
    """Make a refusal of one field that pydantic does not check: `where` is `query`, `header` or `body`."""
    fault = {"in": where, "field": field[:MAX_NAME_CHARACTERS], "detail": detail}
    return RequestRefused(ProblemCode.VALIDATION, f"{fault['field']} {detail}", extensions={"errors": [fault]})


UNKNOWN = _MESSAGES["extra_forbidden"]
"""What is said of a name that means nothing here."""


def _told(error: Any) -> JsonObject:
    where, *path = error["loc"]
    if error["type"] == "json_invalid":
        return {"in": "body", "field": "the body", "detail": f"is not JSON: {error['ctx']['error']}"}
    # Keys of an object are told as a part named "[key]" behind the key.
    names = [str(part)[:MAX_NAME_CHARACTERS] for part in path if part != "[key]"]
    field = ".".join(names) or f"the {where}"
    return {"in": where, "field": field, "detail": _message(error, names)}


def _message(error: Any, names: Sequence[str]) -> str:
    return _MESSAGES.get(error["type"]) or _SUBJECT.sub("", error["msg"])
