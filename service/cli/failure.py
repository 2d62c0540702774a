"""How a command ends when the person at the terminal has to change something: one line, and an exit code."""

from typing import NoReturn

import typer

FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130


def fail(message: str, *, exit_code: int = FAILED) -> NoReturn:
    """Print the message as one line on standard error and end the command.

    Raises:
        typer.Exit: always, with the exit code.
    """
    typer.echo(f"turnkeeper: {message}", err=True)
    raise typer.Exit(exit_code)
