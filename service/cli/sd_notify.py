"""Tells a service manager such as systemd how the service is, as sd_notify(3) has it: a datagram to a socket."""

from __future__ import annotations

import contextlib
import os
import socket

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str) -> None:
    """Say how the service is; nothing where nobody asked to be told.

    A manager that can't be told waits in vain and says so itself; the service goes on.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    # The manager's own name for a socket without a file begins with a zero byte.
    where = f"\0{address[1:]}" if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.sendto(state.encode(), where)
