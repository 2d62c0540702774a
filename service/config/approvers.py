"""The setting `approver_keys`: a JSON object in the environment, a table in `turnkeeper.toml` (A5)."""

from __future__ import annotations

import json
from typing import cast

from service.core.decision_signature import read_approver_keys

_FORM = 'must be a JSON object of names and public keys, like {"alice": "11qYAY…"}'


def parse_approver_keys(value: object) -> object:
    """Read the text of an environment variable; what comes from a file is a table already.

    Raises:
        ValueError: it is no object of texts, or has a name twice.
    """
    keys = _parsed(value) if isinstance(value, str) else value
    if not isinstance(keys, dict) or not all(isinstance(key, str) for key in cast(dict[object, object], keys).values()):
        raise ValueError(_FORM)
    return cast(object, keys)


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except _Repeated:
        raise
    except (ValueError, RecursionError) as error:
        raise ValueError(_FORM) from error


def check_approver_keys(keys: dict[str, str]) -> dict[str, str]:
    """Give the keys as they are, when all of them can be used.

    Raises:
        ValueError: one can't; the text says which and why.
    """
    read_approver_keys(keys)
    return keys


class _Repeated(ValueError):
    """A name stands twice: whose key counts would be a guess."""


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise _Repeated(f"has the name {json.dumps(repeated)} twice")
    return dict(pairs)
