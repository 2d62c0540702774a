"""`turnkeeper keys`: make, list, rotate and revoke API keys; a service that runs knows of it at once (K3, D2)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import WRONG_USE, fail
from service.cli.settings import settings_or_fail
from service.core.visible import visible

if TYPE_CHECKING:
    from service.core.callers import Scope
    from service.ports.key_file import MadeKey

keys = typer.Typer(no_args_is_help=True, help="Make, list, rotate and revoke the API keys of the service.")

_SHOWN = 100

_File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="The file of keys; else api_keys_file.")]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The key's name: letters, digits, dots, _ and -.")]


@keys.command()
def add(
    name: _Name,
    scopes: Annotated[
        str | None, typer.Option(metavar="LIST", help="What it may do: some of turns,approve,admin; else turns.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="OWNER", help="Whose sessions it works with; else those of its name.")
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Replace the key that has this name; the old one ends at once.")
    ] = False,
    file: _File = None,
) -> None:
    """Make a key and print it, once: only its hash is kept.

    The key alone goes to standard output. A key that replaces another has its owner and scopes, unless others are
    given. Exit codes: 0 made, 1 refused, 2 wrong use.
    """
    # Imported here, so that --help and --version don't load all of it.
    from service.bootstrap import change_keys
    from service.core.callers import Scope
    from service.core.ids import OwnerId

    _check_name("NAME", name)
    wanted = None if scopes is None else _scopes(scopes)
    if owner is not None:
        _check_name("--owner", owner)
    whose = None if owner is None else OwnerId(owner)
    path = _path(file)
    changes = change_keys(path)
    with _told_in_one_line():
        if rotate:
            made = changes.rotate(name, owner=whose, scopes=wanted)
        else:
            made = changes.add(name, owner=whose or OwnerId(name), scopes=wanted or frozenset({Scope.TURNS}))
    typer.echo(made.text)
    _tell_made(made, path, replaces=rotate)


@keys.command("list")
def list_keys(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    file: _File = None,
) -> None:
    """List the keys: name, id, owner, scopes, and when each was made. None of them can be printed again."""
    from service.bootstrap import change_keys
    from service.cli.keys_listed import json_of_keys, lines_of_keys

    path = _path(file)
    with _told_in_one_line():
        listed = change_keys(path).keys()
    if as_json:
        typer.echo(json_of_keys(listed))
        return
    for line in lines_of_keys(listed):
        typer.echo(line)
    if not listed:
        _say(f"{path} has no key, so nobody is let in; `turnkeeper keys add NAME` makes one")


@keys.command()
def revoke(name: _Name, file: _File = None) -> None:
    """End a key at once. What was made with it stays with its owner."""
    from service.bootstrap import change_keys

    _check_name("NAME", name)
    path = _path(file)
    with _told_in_one_line():
        change_keys(path).revoke(name)
    _say(f"the key {name} in {path} is revoked; a service that runs refuses it from now on")


@contextmanager
def _told_in_one_line() -> Generator[None]:
    from service.ports.key_file import KeyFileError, KeyNameTaken

    try:
        yield
    except KeyNameTaken as refusal:
        fail(f"{refusal}; --rotate replaces it")
    except KeyFileError as refusal:
        fail(str(refusal))


def _path(file: Path | None) -> Path:
    path = file if file is not None else settings_or_fail().api_keys_file
    if path is None:
        fail(
            "say where the keys are: --file FILE, or set TURNKEEPER_API_KEYS_FILE, which the service needs too",
            exit_code=WRONG_USE,
        )
    return path


def _check_name(what: str, name: str) -> None:
    from service.core.api_keys import fault_of_name

    fault = fault_of_name(name)
    if fault is not None:
        fail(f"{what} can't be that: {fault}", exit_code=WRONG_USE)


def _scopes(text: str) -> frozenset[Scope]:
    from service.core.api_keys import looks_secret
    from service.core.callers import Scope

    known = ", ".join(Scope)
    words = [word.strip() for word in text.split(",")]
    unknown = next((word for word in words if word not in set(Scope)), None)
    if unknown is not None:
        shown = "that" if looks_secret(unknown) else f'"{visible(unknown, _SHOWN)}"'
        fail(f"--scopes can't be {shown}: say some of {known}, with commas between them", exit_code=WRONG_USE)
    return frozenset(Scope(word) for word in words)


def _tell_made(made: MadeKey, path: Path, *, replaces: bool) -> None:
    kept = made.kept
    if made.is_in_new_file:
        _say(f"made the file {path.absolute()}; a service that is to ask for keys needs it as TURNKEEPER_API_KEYS_FILE")
    done = "replaces the one before, which is refused from now on" if replaces else "is good from now on"
    _say(f"the key {kept.name} {done}: id {kept.id}, owner {kept.owner}, scopes {','.join(sorted(kept.scopes))}")
    _say("keep it now: it is not shown again, and only its hash is in the file")


def _say(message: str) -> None:
    typer.echo(f"turnkeeper: {message}", err=True)
