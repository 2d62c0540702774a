"""`${NAME}` in the file stands for a variable of this process, so that secrets need not stand in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class MissingVariable(ValueError):
    """A variable that the file names is not set; the text names it."""


def filled_in(text: str, variables: Mapping[str, str]) -> str:
    """Put values in the place of names: `${NAME}`, or `${NAME:-other}` for one that may be missing.

    Raises:
        MissingVariable: a variable without another value is not set.
    """

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        given = variables.get(name)
        if given is None and otherwise is None:
            raise MissingVariable(f"names the variable {name}, which is not set")
        return given if given is not None else otherwise

    return _NAMED.sub(value, text)
