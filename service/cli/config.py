"""`turnkeeper config`: the settings in force, and where each value came from (D1)."""

from __future__ import annotations

from typing import Annotated

import typer

from service.cli.failure import WRONG_USE, fail
from service.cli.settings import settings_or_fail


def config(
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not at its default.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a turnkeeper.toml that explains all.")] = False,
) -> None:
    """Print the settings of a service that is started here and now, and where each came from.

    The output is a turnkeeper.toml without the secrets, of which it says only whether they are set. Exit codes: 0 the
    settings can be used, 2 one of them is wrong.
    """
    if example:
        if changed or as_json:
            fail("--example prints the defaults: say it alone", exit_code=WRONG_USE)
        from service.config.example_file import example_file

        typer.echo(example_file(), nl=False)
        return
    settings = settings_or_fail()
    # Imported here, so that --help doesn't wait for it.
    from service.config.in_force import json_in_force, toml_in_force
    from service.config.origins import config_file, origins

    file = config_file()
    typer.echo(f"turnkeeper: {file} {'is read' if file.is_file() else 'is not there'}", err=True)
    told = json_in_force if as_json else toml_in_force
    typer.echo(told(settings, origins(), only_changed=changed), nl=False)
