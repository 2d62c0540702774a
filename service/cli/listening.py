"""Listening sockets, and whether a port is free, before anything is started on it."""

import errno
import os
import socket


class CannotListen(Exception):
    """An address can't be listened on; the message says which and why, without the way out."""


def listen(host: str, port: int) -> socket.socket:
    """Return a TCP socket bound to the address; the server that gets it calls listen.

    Raises:
        CannotListen: the port is taken, not allowed, or the host is no address of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, OverflowError) as error:
        raise CannotListen(f"{host}:{port} is no address to listen on") from error
    bound = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # A port whose last connections are still closing is free for a server. On Windows the same
            # option would let two servers share a port.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise CannotListen(_reason(host, port, error)) from error
    return bound


def _reason(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host} may not be used by this user"
    return f"{host}:{port} can't be listened on: {error.strerror}"


def url_of(bound: socket.socket) -> str:
    """Return the address that the socket is bound to, as a URL."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
