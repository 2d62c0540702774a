"""How a peer comes into an environment of its own.

Above: the command line. Below: `peer`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from benchmarks.peers.peer import Peer


class InstallationFailed(Exception):
    """A command of an installation failed; what it said stands before."""


def install(peer: Peer) -> None:
    """Make a peer's environment anew, with the Python that runs this; do nothing where it is there already.

    Raises:
        InstallationFailed: the environment can't be made, or a package can't be had.
    """
    if peer.is_installed:
        return
    shutil.rmtree(peer.environment_folder, ignore_errors=True)
    peer.environment_folder.parent.mkdir(exist_ok=True)
    for command in _commands(peer):
        finished = subprocess.run(command, check=False)
        if finished.returncode:
            raise InstallationFailed(f"{peer.name}: {' '.join(command)} ended with {finished.returncode}")
    # Last: an environment without it is one whose installation was broken off.
    shutil.copyfile(peer.requirements, peer.installed_marker)


def _commands(peer: Peer) -> list[list[str]]:
    pip = [str(peer.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [
        [sys.executable, "-m", "venv", str(peer.environment_folder)],
        [*pip, "--requirement", str(peer.requirements)],
    ]
