"""Runs the checkers of others, which `make` installs beside this Python.

Above: `check_compose.py`, `check_kubernetes.py`. Below: requirements/deploy.txt.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_CHECK_S = 300


class CheckFailed(Exception):
    """A checker found something, or isn't there; the message says what."""


def program(name: str) -> str:
    """Give the path of a checker.

    Raises:
        CheckFailed: it isn't installed.
    """
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise CheckFailed(f"{name} isn't installed; `make check-deploy` does it")
    return found


def run(command: Sequence[str], *, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a checker in a folder and give what it prints on standard output.

    Raises:
        CheckFailed: it ends with another code than 0; the message is all that it printed.
    """
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_CHECK_S
    )
    if ran.returncode != 0:
        raise CheckFailed(f"{' '.join(command)} ends with {ran.returncode}\n{ran.stdout}{ran.stderr}".rstrip())
    return ran.stdout
