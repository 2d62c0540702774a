"""`turnkeeper doctor`: look at all that the service needs, and say what is wrong or could be better (D2, L10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import FAILED, WRONG_USE, fail
from service.cli.logs import be_silent
from service.cli.settings import settings_or_fail

if TYPE_CHECKING:
    from service.config import Settings
    from service.core.diagnosis.findings import Finding


def doctor(
    llama_url: Annotated[str | None, typer.Option(help="Where llama-server answers.")] = None,
    tool_port_url: Annotated[str | None, typer.Option(help="Where the tool port answers.")] = None,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Have llama-server evaluate four small prompts, to see what it keeps."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
) -> None:
    """Look at store, llama-server, tool port and settings in force, and say in plain words what was found.

    It changes nothing, ends within seconds, and may run beside the service. Each finding has a code, by which
    docs/howto/find-what-is-wrong.md has more. Without --probe nothing is generated. Exit codes: 0 there are only
    warnings, or none; 1 something does not work; 2 the settings can't be used.
    """
    settings = settings_or_fail(llama_url=llama_url, tool_port_url=tool_port_url, database_url=database_url)
    be_silent()
    findings = _examined(settings, probe=probe)
    # Imported here, so that --help and --version don't load all of it.
    from service.cli.doctor_report import is_well, json_of_findings, lines_of_findings

    if as_json:
        typer.echo(json_of_findings(findings))
    else:
        for line in lines_of_findings(findings):
            typer.echo(line)
    if not is_well(findings):
        raise typer.Exit(FAILED)


def _examined(settings: Settings, *, probe: bool) -> Sequence[Finding]:
    from service.bootstrap import examine
    from service.cli.open_files import KEPT_FREE
    from service.config import SettingsError

    try:
        return examine(settings, kept_free=KEPT_FREE, probe=probe)
    except SettingsError as error:
        fail(str(error), exit_code=WRONG_USE)
