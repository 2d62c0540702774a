"""`${NAME}` in the file stands for a variable of this process, so that secrets need not stand in the file.

Some clients write `${env:NAME}`, which is the same. What they fill in besides, as `${input:token}`, can't be had here:
handed on as it stands it would be a wrong password or folder that nobody sees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMED = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OF_OTHERS = re.compile(r"\$\{[A-Za-z]+:[^}]*\}")


class MissingVariable(ValueError):
    """What the file names has no value here; the text names it."""


def filled_in(text: str, variables: Mapping[str, str]) -> str:
    """Put values in the place of names: `${NAME}`, or `${NAME:-other}` for one that may be missing.

    Raises:
        MissingVariable: a variable without another value is not set, or only another program could fill it in.
    """
    foreign = next((found for found in _OF_OTHERS.finditer(text) if not _NAMED.fullmatch(found[0])), None)
    if foreign is not None:
        raise MissingVariable(
            f"has {foreign[0]}, which only the program that it was written for can fill in; write ${{NAME}} for a "
            "variable of this process"
        )

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        given = variables.get(name)
        if given is None and otherwise is None:
            raise MissingVariable(f"names the variable {name}, which is not set")
        return given if given is not None else otherwise

    return _NAMED.sub(value, text)
