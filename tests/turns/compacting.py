"""Sessions that fill a small context, and what tests look at in them."""

from __future__ import annotations

from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import (
    Outcome,
    Summary,
)
from service.ports import Tracer
from tests.fakes.counted_llama import CountedLlama
from tests.fakes.house import House
from tests.fakes.llama import ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec

SIZE = 1024
WORDS = "some words of an answer " * 20
QUESTION = "Where was I? " * 10


async def summaries(house: House, session: SessionId) -> list[Summary]:
    return [record for record in await house.records(session) if isinstance(record, Summary)]


async def the_summary(house: House, session: SessionId) -> Summary:
    (summary,) = await summaries(house, session)
    return summary


async def prompt(house: House, session: SessionId) -> list[dict[str, object]]:
    return list((await house.sessions.messages(session, LOCAL_OWNER)).messages)


async def filled(
    llama: CountedLlama, turns: int = 8, port: TablePort | None = None, tracer: Tracer | None = None, **asked: object
) -> tuple[House, SessionId]:
    """Make a session and talk until its context is full enough to be compacted."""
    house = House(llama, port, tracer=tracer)
    session = await house.session(**asked)
    for number in range(turns):
        view = await house.run(session, f"Question {number}. {QUESTION}")
        assert view.outcome is Outcome.ANSWERED, view
    return house, session


def talker(**other: object) -> CountedLlama:
    return CountedLlama(say(WORDS), context_tokens=SIZE, endless=True, **other)  # pyright: ignore[reportArgumentType]


def working(batches: int, text: str = "line of a result\n" * 30, **labels: object) -> tuple[CountedLlama, TablePort]:
    plays = [ask_for(call("dump", f'{{"city": "{number}"}}', id=f"call-{number}")) for number in range(batches)]
    port = TablePort(spec("dump"), tools={"dump": lambda request: result(f"{request.call}: {text}", **labels)})
    return CountedLlama(*plays, say("Done."), context_tokens=SIZE), port
