"""What requests cost in stores with different numbers of sessions. Above: `run`. Below: stored sessions, a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks.growth.connection import Answer, connected
from benchmarks.growth.stored import SYSTEM, store_sessions
from benchmarks.growth.turns import TOKENS, make_session, run_turn
from benchmarks.startup.own_service import OwnService, own_service
from benchmarks.startup.rounds import Measured
from service.adapters.log_sql import open_sql_log
from service.core.ids import SessionId

_PAGE = 10
_WARM_TURNS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ManySessions:
    """A store with so many sessions; `ids` are the oldest first."""

    store: Path
    ids: Sequence[SessionId]


async def many_sessions(folder: Path, count: int) -> ManySessions:
    """Make the store, once for all rounds, which add few sessions to it."""
    store = folder / f"sessions-{count}.db"
    async with open_sql_log(f"sqlite:///{store.as_posix()}") as log:
        return ManySessions(store=store, ids=await store_sessions(log, count))


async def round_of_counts(made: Sequence[ManySessions], llama_url: str, *, requests: int) -> list[Measured]:
    """Measure each store once, with a service that has just been started and warmed up."""
    return [one for store in made for one in await _measured(store, llama_url, requests)]


async def _measured(made: ManySessions, llama_url: str, requests: int) -> list[Measured]:
    async with own_service(made.store, llama_url=llama_url) as service, connected(service.port) as connection:
        warm = await make_session(connection)
        for _ in range(_WARM_TURNS):
            await run_turn(connection, warm)
            await connection.ask("GET", f"/sessions?limit={_PAGE}")
            await connection.ask("POST", "/sessions", {"system": SYSTEM})
        # Spread over the whole store; none is in memory, since the service has just been started.
        old = made.ids[:: max(1, len(made.ids) // requests)]
        asked: dict[str, tuple[Callable[[str], Awaitable[Answer]], Iterable[str]]] = {
            "list": (lambda _: connection.ask("GET", f"/sessions?limit={_PAGE}"), [""] * requests),
            "turn in an old session": (lambda session: run_turn(connection, session), islice(old, requests)),
            "create": (lambda _: connection.ask("POST", "/sessions", {"system": SYSTEM}), [""] * requests),
        }
        found = {name: await _cost(service, ask, given) for name, (ask, given) in asked.items()}
    conditions = f"{len(made.ids):,} sessions in the store; pages of {_PAGE}, turns of {TOKENS} tokens"
    return [
        Measured(measure=measure, unit="ms", value=value * 1000, conditions=conditions)
        for name, (cpu_s, took_s) in found.items()
        for measure, value in ((f"CPU per {name}", cpu_s), (name, took_s))
    ]


async def _cost(
    service: OwnService, ask: Callable[[str], Awaitable[Answer]], given: Iterable[str]
) -> tuple[float, float]:
    """Ask one after the other; gives the mean of the CPU and the median of the time of one, in seconds."""
    before = service.cpu_s()
    took = [(await ask(what)).took_s for what in given]
    return (service.cpu_s() - before) / len(took), median(took)
