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
    from service.turns.readiness import Check


def doctor(
    llama_url: Annotated[str | None, typer.Option(help="Where llama-server answers.")] = None,
    tool_port_url: Annotated[str | None, typer.Option(help="Where the tool port answers.")] = None,
    database_url: Annotated[str | None, typer.Option(help="The store: sqlite:///PATH")] = None,
) -> None:
    """Look at store, llama-server and tool port with the settings in force, and say what was found.

    It changes nothing, and may run beside the service. What the model's chat template can't do is a warning, as are
    tools that are left out. The exit code is 0 when there are only warnings, 1 when something does not work.
    """
    settings = settings_or_fail(llama_url=llama_url, tool_port_url=tool_port_url, database_url=database_url)
    be_silent()
    checks = _examined(settings)
    for check in checks:
        typer.echo(f"{_state(check)}: {check.name}: {check.message}")
    if not all(check.ok for check in checks):
        raise typer.Exit(FAILED)


def _examined(settings: Settings) -> Sequence[Check]:
    # Imported here, so that --help and --version don't load all of it.
    from service.bootstrap import examine
    from service.config import SettingsError

    try:
        return examine(settings)
    except SettingsError as error:
        fail(str(error), exit_code=WRONG_USE)


def _state(check: Check) -> str:
    if not check.ok:
        return "wrong"
    return "warning" if check.warnings else "ok"
