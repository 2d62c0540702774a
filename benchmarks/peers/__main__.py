"""`python -m benchmarks.peers`: install a peer into an environment of its own, or run one in the foreground."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence

from benchmarks.peers.catalogue import known_peers
from benchmarks.peers.installation import InstallationFailed, install
from benchmarks.peers.peer import Peer, PeerNotInstalled


def main(arguments: Sequence[str] | None = None, peers: Iterable[Peer] | None = None) -> None:
    """Do what the command line says, with the known peers unless others are given.

    Raises:
        SystemExit: it can't be done, or the command line can't be read.
    """
    named = {peer.name: peer for peer in (known_peers() if peers is None else peers)}
    given = _parser(list(named)).parse_args(arguments)
    try:
        if given.word == "install":
            _install(list(named.values()) if given.name == "all" else [named[given.name]])
        elif given.word == "run":
            _run(named[given.name], given.port, given.upstream)
        else:
            _list(named.values())
    except (InstallationFailed, PeerNotInstalled) as error:
        sys.exit(f"error: {error}")


def _parser(names: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("list", help="show the peers, and whether they are installed")
    installing = words.add_parser("install", help="make its environment")
    installing.add_argument("name", choices=[*names, "all"])
    running = words.add_parser("run", help="serve on a port of this machine until it is ended")
    running.add_argument("name", choices=names)
    running.add_argument("--port", type=int, default=8101)
    running.add_argument("--upstream", default="http://127.0.0.1:8080", help="llama-server's root address")
    return parser


def _install(peers: Iterable[Peer]) -> None:
    for peer in peers:
        sys.stderr.write(f"{peer.name}: {'is installed' if peer.is_installed else 'installing'}\n")
        install(peer)


def _run(peer: Peer, port: int, upstream: str) -> None:
    command = peer.command(port, upstream)
    os.execve(command[0], command, {**os.environ, **peer.environment(port, upstream)})


def _list(peers: Iterable[Peer]) -> None:
    for peer in peers:
        sys.stdout.write(f"{peer.name}: {'installed' if peer.is_installed else 'not installed'}\n")


if __name__ == "__main__":
    main()
