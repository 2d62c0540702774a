"""Run the example tool port: `python -m service.example_port`."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from service.example_port.app import create_app
from service.port_wire.serving import is_loopback, listen, serve
from service.port_wire.signatures import BadSecretError, Signatures

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
        listener = listen(options.host, options.port)
    except OSError as error:
        reason = error.strerror or error
        address = f"{options.host}:{options.port}"
        parser.exit(1, f"example port: can't listen on {address}: {reason}; try another --port\n")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if token is None and signatures is None and not is_loopback(options.host):
        sys.stderr.write(
            f"warning: without {TOKEN_VARIABLE} or {SECRET_VARIABLE} whoever reaches this port can run its tools\n"
        )
    with listener:
        serve(create_app(token=token, signatures=signatures), listener, "example tool port")


def _port_number(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return number


if __name__ == "__main__":
    main()
