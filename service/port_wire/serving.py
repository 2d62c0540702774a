"""A port's own server: an address to listen on, one line that says where, and an end that takes no longer than it must.

Above: the commands of both ports. Below: uvicorn.
"""

import contextlib
import ipaddress
import os
import signal
import socket
import sys
from types import FrameType
from typing import NoReturn

import uvicorn
from fastapi import FastAPI


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address; port 0 takes a free one.

    Raises:
        OSError: it can't be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Else the old connections of a port that has just ended are in the way of its next start.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(found[0][4])
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def is_loopback(host: str) -> bool:
    """Say whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(app: FastAPI, listener: socket.socket, name: str) -> None:
    """Serve until a signal comes; say on standard output where, when it is there."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws="none",
        # Longer than clients keep an idle connection, so that no call goes into one that is being closed.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
    )
    # uvicorn has shut down in order when it raises the signal again, and that is the usual end here.
    signal.signal(signal.SIGTERM, _end_well)
    with contextlib.suppress(KeyboardInterrupt):
        _Announcing(config, name).run(sockets=[listener])


def _end_well(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


class _Announcing(uvicorn.Server):
    """Says where it listens once it is there to be ended: a Ctrl-C that comes before its handlers may be lost."""

    def __init__(self, config: uvicorn.Config, name: str) -> None:
        super().__init__(config)
        self._name = name

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            sys.stdout.write(f"{self._name} on http://{_authority(listener)}\n")
        sys.stdout.flush()


def _authority(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
