"""A service that runs, as its own command line calls it: `read` and `chat`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from service.core.errors import TurnkeeperError
from service.core.json_types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file to be uploaded: one on disk that can be rewound. `media_type` None leaves it to the service."""

    name: str
    content: BinaryIO
    media_type: str | None = None


Sent = Callable[[int, int], None]
"""Is told how many bytes of an upload are on their way, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBegun:
    """The service has taken it on: `location` is the path of what it works on, and its last part is its id."""

    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEvent:
    """One event of a stream; `pos` is None of a signal, which nothing can be resumed behind."""

    type: str
    data: JsonObject
    pos: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingBack:
    """The connection is gone, which ends nothing in the service: the stream is resumed in `wait_s` seconds.

    `attempt` counts from 1 to `attempts`; `reason` is a clause.
    """

    reason: str
    attempt: int
    attempts: int
    wait_s: float


Told = WorkBegun | ToldEvent | ComingBack
"""What a caller is told of its work, in order."""


class ServiceTrouble(TurnkeeperError):
    """The service did not do what was asked; the message is a clause for a person."""


class ServiceAway(ServiceTrouble):
    """Nothing answers at the address; nothing was begun."""


class ServiceLost(ServiceTrouble):
    """The connection was lost and could not be had again; what was begun goes on."""


class ServiceRefused(ServiceTrouble):
    """The service answered, and said no (H2); foreign text, so show it with care (K5). `code` may be empty."""

    def __init__(self, status: int, detail: str, code: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


class RunningService(Protocol):
    """Whatever calls a service. Paths begin with `/`."""

    def send_files(
        self, path: str, fields: Mapping[str, str], files: Sequence[SentFile], *, ends_with: str, sent: Sent
    ) -> AsyncGenerator[Told]:
        """Post a form and tell what comes of it, up to the event of the type `ends_with`.

        A connection that breaks is made again a few times, without a gap and without a record told twice (H6).

        Raises:
            ServiceTrouble: one of its kinds.
            OSError: a file could not be read.
        """
        ...

    def follow(self, location: str, *, ends_with: str) -> AsyncGenerator[Told]:
        """Tell what comes of the work at this path, from its beginning up to the event of the type `ends_with`.

        A connection that breaks is made again as with `send_files`.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        ...

    async def send(self, path: str, body: JsonObject, *, later: bool = False) -> JsonObject:
        """Post JSON; `later` asks for an answer at once, though the work goes on (H1).

        The request has a key, so that it does its work once when it has to be made again (H3).

        Raises:
            ServiceTrouble: one of its kinds.
        """
        ...

    async def get(self, path: str) -> JsonObject:
        """Fetch what is at this path.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        ...

    async def post(self, path: str) -> JsonObject:
        """Ask for something that needs no body.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        ...
