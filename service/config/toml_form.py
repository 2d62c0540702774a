"""Values of settings as TOML writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast


def literal(value: object) -> str:
    """Write a value: text, number, truth, path, or a list or table of such.

    Raises:
        TypeError: it is of another kind, as a secret is.
    """
    match value:
        case bool() | int() | float():
            return json.dumps(value)
        case str() | Path():
            # TOML's strings are JSON's, but for one character.
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(map(literal, cast('list[object]', value)))}]"
        case dict():
            members = cast("dict[str, object]", value).items()
            return f"{{{', '.join(f'{literal(name)} = {literal(member)}' for name, member in members)}}}"
        case _:
            raise TypeError(f"a setting can't be written as a {type(value).__name__}")
