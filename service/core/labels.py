"""Labels of a tool result: how secret it is, and whether it is text from outside (X6)."""

from __future__ import annotations

from enum import StrEnum


class DataClass(StrEnum):
    """How secret a text is: `public` < `internal` < `secret`."""

    PUBLIC = "public"
    INTERNAL = "internal"
    SECRET = "secret"


_RANK = {DataClass.PUBLIC: 0, DataClass.INTERNAL: 1, DataClass.SECRET: 2}


def higher_class(one: DataClass, other: DataClass) -> DataClass:
    """Give the more secret of two classes."""
    return one if _RANK[one] >= _RANK[other] else other
