"""Run the example tool port: `python -m service.example_port`."""

import argparse
import contextlib
import ipaddress
import logging
import os
import socket
import sys
from collections.abc import Sequence

import uvicorn

from service.example_port.app import create_app
from service.example_port.signatures import BadSecretError, Signatures

TOKEN_VARIABLE = "TOOL_PORT_TOKEN"
SECRET_VARIABLE = "EXAMPLE_PORT_SECRET"


def main(argv: Sequence[str] | None = None) -> None:
    """Listen until a signal ends it; leave with one line and status 1 if the address can't be had."""
    parser = argparse.ArgumentParser(
        prog="python -m service.example_port",
        description="Run Turnkeeper's example tool port.",
        epilog=(
            f"With {TOKEN_VARIABLE} set, callers need it as a bearer token. With {SECRET_VARIABLE} set, which is"
            " Turnkeeper's TURNKEEPER_TOOL_PORT_SECRET, their requests must be signed with it."
        ),
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=_port_number, default=8090, help="0 takes a free one (default: %(default)s)")
    options = parser.parse_args(argv)
    token = os.environ.get(TOKEN_VARIABLE) or None
    secret = os.environ.get(SECRET_VARIABLE) or None
    try:
        signatures = Signatures(secret) if secret is not None else None
    except BadSecretError as error:
        parser.exit(1, f"example port: {SECRET_VARIABLE} {error}\n")
    try:
        listener = _listen(options.host, options.port)
    except OSError as error:
        reason = error.strerror or error
        address = f"{options.host}:{options.port}"
        parser.exit(1, f"example port: can't listen on {address}: {reason}; try another --port\n")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if token is None and signatures is None and not _is_loopback(options.host):
        sys.stderr.write(
            f"warning: without {TOKEN_VARIABLE} or {SECRET_VARIABLE} whoever reaches this port can run its tools\n"
        )
    with listener:
        _serve(listener, token, signatures)


def _serve(listener: socket.socket, token: str | None, signatures: Signatures | None) -> None:
    config = uvicorn.Config(
        create_app(token=token, signatures=signatures),
        log_level="warning",
        access_log=False,
        ws="none",
        # Longer than clients keep an idle connection, so that no call goes into one that is being closed.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
    )
    # uvicorn has shut down in order when it raises Ctrl-C again, and that is the usual end here.
    with contextlib.suppress(KeyboardInterrupt):
        _Announcing(config).run(sockets=[listener])


class _Announcing(uvicorn.Server):
    """Says where it listens once it is there to be ended: a Ctrl-C that comes before its handlers may be lost."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            sys.stdout.write(f"example tool port on http://{_authority(listener)}\n")
        sys.stdout.flush()


def _port_number(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return number


def _listen(host: str, port: int) -> socket.socket:
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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _authority(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


if __name__ == "__main__":
    main()
