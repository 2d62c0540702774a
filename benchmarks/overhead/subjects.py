"""Who is measured: the upstream itself, nginx before it, Turnkeeper, and its peers.

Above: the bench, which runs them. Below: the adapters, the command of a process, the peers.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead.adapters import OPENAI, TURNS, Adapter
from benchmarks.overhead.nginx import nginx_configuration
from benchmarks.overhead.processes import Command
from benchmarks.peers.peer import FOLDER_VARIABLE, Peer

# Completions in flight that Turnkeeper allows: more than the benchmark offers, so that its gate bounds nothing.
_SLOTS = 4096
# Turns that nobody follows any more are not waited for at the end.
_DRAIN_S = 1
# Not each system has it in the path of those who aren't root.
_NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/local/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server is to listen, what is its upstream, and where it may keep files."""

    port: int
    upstream: str
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One of those that are compared; the upstream itself needs no command."""

    name: str
    adapter: Adapter
    command: Callable[[Place], Command] | None
    is_peer: bool = False

    @property
    def is_upstream(self) -> bool:
        """Whether it is the upstream of the others itself."""
        return self.command is None


def known_subjects(peers: list[Peer], say: Callable[[str], None]) -> list[Subject]:
    """List who can be measured here; `say` gets a line for each who can't."""
    subjects = [Subject(name="direct", adapter=OPENAI, command=None)]
    if _NGINX is None:
        say("nginx is left out: there is no such program here")
    else:
        subjects.append(Subject(name="nginx", adapter=OPENAI, command=_nginx))
    subjects.append(Subject(name="turnkeeper", adapter=TURNS, command=_turnkeeper))
    for peer in peers:
        if peer.is_installed:
            subjects.append(Subject(name=peer.name, adapter=peer.adapter, command=_command_of(peer), is_peer=True))
        else:
            say(f"{peer.name} is left out: it is not installed (python -m benchmarks.peers install {peer.name})")
    return subjects


def nginx_program() -> str | None:
    """Give the path of nginx; None where there is none."""
    return _NGINX


def _nginx(place: Place) -> Command:
    configuration = place.folder / "nginx.conf"
    configuration.write_text(nginx_configuration(place.port, place.upstream), encoding="utf-8")
    folder = str(place.folder)
    return Command(arguments=(_NGINX or "nginx", "-p", folder, "-e", "nginx.err", "-c", str(configuration)))


def _turnkeeper(place: Place) -> Command:
    return Command(
        arguments=(str(Path(sys.executable).with_name("turnkeeper")), "serve"),
        environment={
            "TURNKEEPER_LLAMA_URL": place.upstream,
            "TURNKEEPER_PORT": str(place.port),
            "TURNKEEPER_DATABASE_URL": f"sqlite:///{(place.folder / 'turnkeeper.db').as_posix()}",
            "TURNKEEPER_SLOTS": str(_SLOTS),
            # As many as are asked for; the bounds themselves are at work.
            "TURNKEEPER_REQUESTS_AT_ONCE": str(_SLOTS),
            "TURNKEEPER_TURNS_PER_OWNER": str(_SLOTS),
            "TURNKEEPER_MAX_CONNECTIONS": str(_SLOTS),
            "TURNKEEPER_DRAIN_S": str(_DRAIN_S),
        },
    )


def _command_of(peer: Peer) -> Callable[[Place], Command]:
    def command(place: Place) -> Command:
        own_folder = {FOLDER_VARIABLE: str(place.folder)}
        environment = {**peer.environment(place.port, place.upstream), **own_folder}
        return Command(arguments=tuple(peer.command(place.port, place.upstream)), environment=environment)

    return command
