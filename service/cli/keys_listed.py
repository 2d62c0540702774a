"""A list of API keys as people read it, and as programs do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from service.core.api_keys import ApiKey
from service.core.key_list import format_created

_HEADINGS = ("name", "id", "owner", "scopes", "created")


def lines_of_keys(keys: Sequence[ApiKey]) -> Iterator[str]:
    """Give a line with headings and one for each key, in columns; nothing where there is no key."""
    if not keys:
        return
    rows = [_HEADINGS, *((key.name, key.id, key.owner, ",".join(_scopes(key)), _created(key)) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def json_of_keys(keys: Sequence[ApiKey]) -> str:
    """Give all of them as one JSON object."""
    items = [
        {"name": key.name, "id": key.id, "owner": key.owner, "scopes": _scopes(key), "created_at": _created(key)}
        for key in keys
    ]
    return json.dumps({"items": items}, indent=2)


def _scopes(key: ApiKey) -> list[str]:
    return sorted(key.scopes)


def _created(key: ApiKey) -> str:
    return format_created(key.created_at)
