"""`turnkeeper openapi`: the API's description, to print, to keep in a file, or to compare with one."""

import json
from pathlib import Path
from typing import Annotated

import typer

from service.cli.failure import fail


def openapi(
    output: Annotated[Path | None, typer.Option(help="Write this file instead of printing.")] = None,
    check: Annotated[Path | None, typer.Option(help="Only compare: fail when this file is out of date.")] = None,
) -> None:
    """Print the OpenAPI description of the service's HTTP interface."""
    text = _description()
    if check is not None:
        if not check.is_file() or check.read_text(encoding="utf-8") != text:
            fail(f"{check} is out of date; run: make openapi")
    elif output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    else:
        typer.echo(text, nl=False)


def _description() -> str:
    # Imported here, so that other commands don't load the web framework.
    from service.web.openapi import openapi_document

    return json.dumps(openapi_document(), indent=2, ensure_ascii=False) + "\n"
