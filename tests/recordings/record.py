"""Record exchanges with a real llama-server anew: the bytes sent are those of `llama/NAME.request`.

`python -m tests.recordings.record NAME… --url http://127.0.0.1:8080` writes `NAME.http`, the bytes as they came.
What a recording means stands in `llama/INDEX.md`; review the difference before you commit it.
"""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

FOLDER = Path(__file__).parent / "llama"
# Longer than any of these exchanges is silent.
SILENCE_S = 60


def record(request: bytes, host: str, port: int) -> bytes:
    """Send a request as it is and give all that comes until the server closes."""
    with socket.create_connection((host, port), timeout=SILENCE_S) as connection:
        connection.sendall(request)
        received = bytearray()
        while chunk := connection.recv(65_536):
            received += chunk
    return bytes(received)


def main() -> None:
    """Record what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.recordings.record")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder for the results (default: beside the requests)")
    options = parser.parse_args()
    url: str = options.url
    folder: Path = options.to
    names: list[str] = options.names
    address = urlsplit(url)
    for name in names:
        request = FOLDER / f"{name}.request"
        if not request.exists():
            sys.exit(f"there is no request {name}; those there are: {FOLDER}/*.request")
        try:
            received = record(request.read_bytes(), address.hostname or "127.0.0.1", address.port or 80)
        except OSError as error:
            sys.exit(f"llama-server at {url} can't be recorded: {error}")
        (folder / f"{name}.http").write_bytes(received)


if __name__ == "__main__":
    main()
