"""The recorded exchanges with a real llama-server, read from their files (see INDEX.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "llama"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What came back: the `raw` bytes of the wire, and the body out of its HTTP chunks as far as it came."""

    name: str
    raw: bytes
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def streams(self) -> bool:
        return self.headers["content-type"] == "text/event-stream"


def recorded(name: str) -> Exchange:
    raw = (_FOLDER / f"{name}.http").read_bytes()
    head, _, body = raw.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("ascii").split("\r\n")
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _out_of_chunks(body)
    return Exchange(name=name, raw=raw, status=int(status_line.split()[1]), headers=headers, body=body)


def names() -> list[str]:
    return sorted(path.name.removesuffix(".http") for path in _FOLDER.glob("*.http"))


def _out_of_chunks(body: bytes) -> bytes:
    found = bytearray()
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        found += body[:length]
        body = body[length + len(b"\r\n") :]
    return bytes(found)
