"""The API keys that `turnkeeper serve` asks for: read at the start, with one line where their file is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from service.cli.failure import fail

if TYPE_CHECKING:
    from service.ports.api_keys import ApiKeys


def service_keys(file: Path | None) -> ApiKeys | None:
    """Open the file of keys, and warn when others may read it; None without a file: no key is asked for (K2).

    Raises:
        typer.Exit: the file is missing or can't be used; one line says why.
    """
    if file is None:
        return None
    # Imported here, so that --help and --version don't load all of it.
    from service.bootstrap import open_keys, warning_about_keys
    from service.ports.key_file import KeyFileError

    try:
        keys = open_keys(file)
    except KeyFileError as error:
        fail(str(error))
    warning = warning_about_keys(file)
    if warning is not None:
        typer.echo(f"turnkeeper: {warning}", err=True)
    return keys
