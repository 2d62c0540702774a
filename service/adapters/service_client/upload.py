"""A form with files as the body of a request, read from disk as it is sent, outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import httpx

from service.ports.running_service import Sent, SentFile, ServiceTrouble

_FIELD = "files"
# The service looks at names and first bytes itself; a guess here would depend on this machine.
_ANY_TYPE = "application/octet-stream"
# The length is told before, and is that of the files when they were looked at.
_CHANGED = "a file has changed while it was sent; try again"


def form_request(
    client: httpx.AsyncClient,
    path: str,
    fields: Mapping[str, str],
    files: Sequence[SentFile],
    headers: Mapping[str, str],
    sent: Sent,
) -> httpx.Request:
    """Build the request; the files are rewound when it is sent.

    Raises:
        OSError: a file can't be looked at.
    """
    request = client.build_request(
        "POST",
        path,
        data=dict(fields),
        files=[(_FIELD, (file.name, file.content, file.media_type or _ANY_TYPE)) for file in files],
        headers=dict(headers),
    )
    form = request.stream
    assert isinstance(form, httpx.SyncByteStream)  # what the library makes of files can be read either way
    request.stream = _FromDisk(form, int(request.headers["Content-Length"]), sent)
    return request


class _FromDisk(httpx.AsyncByteStream):
    def __init__(self, form: httpx.SyncByteStream, total: int, sent: Sent) -> None:
        self._form = form
        self._total = total
        self._sent = sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces, done = iter(self._form), 0
        while (piece := await asyncio.to_thread(_next, pieces)) is not None:
            done += len(piece)
            if done > self._total:
                raise ServiceTrouble(_CHANGED)
            yield piece
            self._sent(done, self._total)
        if done < self._total:
            raise ServiceTrouble(_CHANGED)


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
