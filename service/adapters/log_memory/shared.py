"""What sessions and readings of the store in memory share: ids, places, keys of requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from service.core import chain
from service.core.chain import Head
from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import ReadingId, SessionId
from service.core.request_key import KeyedAnswer, KeyedReading, RequestKey

K = TypeVar("K", KeyedAnswer, KeyedReading)


class Placed(NamedTuple):
    """Where a record was put, and its hash."""

    seq: int
    pos: int
    hash: bytes


@dataclass(slots=True)
class Shared:
    """One for the whole store."""

    last_pos: int = 0
    ids: set[str] = field(default_factory=set[str])
    keys: dict[tuple[str, ...], tuple[datetime, KeyedAnswer | KeyedReading]] = field(
        default_factory=dict[tuple[str, ...], tuple[datetime, KeyedAnswer | KeyedReading]]
    )

    def take_id(self, kind: str, id_: str) -> None:
        """Take an id for a session or a reading.

        Raises:
            StoreFailure: it is taken.
        """
        if id_ in self.ids:
            raise StoreFailure(f"there is a {kind} {id_} already")
        self.ids.add(id_)

    def place(self, head: Head, bodies: Iterable[bytes]) -> Sequence[Placed]:
        """Give the next places to records of a log that ends at `head`, and link them to it (S3)."""
        placed: list[Placed] = []
        seq, last_hash = head.seq, head.hash
        for body in bodies:
            seq, self.last_pos, last_hash = seq + 1, self.last_pos + 1, chain.link(last_hash, body)
            placed.append(Placed(seq, self.last_pos, last_hash))
        return placed

    def keep_key(self, key: RequestKey, answer: KeyedAnswer | KeyedReading, now: datetime) -> None:
        """Keep what a request with a key made; of two with the same key the first stays."""
        self.keys.setdefault(_name(key), (now, answer))

    def keyed(self, key: RequestKey, kind: type[K]) -> K | None:
        """Give what was made under a key, if it is of this kind."""
        _, found = self.keys.get(_name(key), (None, None))
        return found if isinstance(found, kind) else None

    def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        self.keys = {name: kept for name, kept in self.keys.items() if kept[0] >= before}

    def let_go(self, gone: Iterable[SessionId | ReadingId]) -> None:
        """Forget ids that are gone, and their keys."""
        ids = frozenset(gone)
        self.ids -= ids
        self.keys = {name: kept for name, kept in self.keys.items() if _made(kept[1]) not in ids}


def refuse_wrong_seq(kind: str, id_: str, head: Head, expected_seq: int) -> None:
    """Refuse what is appended elsewhere than at the end of a log.

    Raises:
        SequenceConflict: the log's last `seq` is another.
    """
    if head.seq != expected_seq:
        raise SequenceConflict(f"{kind} {id_} is at seq {head.seq}, not {expected_seq}")


def _made(answer: KeyedAnswer | KeyedReading) -> SessionId | ReadingId:
    return answer.session if isinstance(answer, KeyedAnswer) else answer.reading


def _name(key: RequestKey) -> tuple[str, ...]:
    return (key.owner, key.method, key.path, key.key)
