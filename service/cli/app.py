"""The `turnkeeper` command and its list of sub-commands. Each lives in a module of its own."""

from typing import Annotated

import typer

from service import __version__
from service.cli.backup import backup
from service.cli.chat import chat
from service.cli.config import config
from service.cli.demo.command import demo
from service.cli.doctor import doctor
from service.cli.export import export
from service.cli.keys import keys
from service.cli.mcp_port import mcp_port
from service.cli.openapi import openapi
from service.cli.prune import prune
from service.cli.read import read
from service.cli.restore import restore
from service.cli.serve import serve
from service.cli.sign import sign
from service.cli.verify import verify

app = typer.Typer(
    name="turnkeeper",
    help="Sessions, a bounded agent loop and an event log in front of llama-server.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(serve)
app.command()(demo)
app.command()(chat)
app.command()(read)
app.command()(openapi)
app.command()(doctor)
app.command()(config)
app.command()(export)
app.command()(verify)
app.command()(prune)
app.command()(backup)
app.command()(restore)
app.command()(sign)
app.command(name="mcp-port")(mcp_port)
app.add_typer(keys, name="keys")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turnkeeper {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Hold the options that belong to no sub-command."""


def main() -> None:
    """Run the command line of this process and exit."""
    app(prog_name="turnkeeper")
