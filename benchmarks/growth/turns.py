"""Sessions and turns as a client asks for them, each checked to have gone well. Above: what is measured."""

from __future__ import annotations

import json

from benchmarks.growth.connection import Answer, Connection
from benchmarks.growth.stored import SYSTEM
from benchmarks.overhead.failures import MeasurementFailed

_ANSWERED = b'"outcome":"answered"'

TOKENS = 16
"""Of the answer of a turn, where nothing else is said."""


def prompt(tokens: int, between_ms: int = 0) -> str:
    """Write a message that has the fake llama-server answer with so many tokens, so many milliseconds apart."""
    return f"fake:n={tokens},d={between_ms}"


async def make_session(connection: Connection) -> str:
    """Make a session; gives its id."""
    answer = await connection.ask("POST", "/sessions", {"system": SYSTEM})
    return answer.json["id"]


async def run_turn(connection: Connection, session: str, content: str = prompt(TOKENS)) -> Answer:
    """Run a turn and read its stream to the end.

    Raises:
        MeasurementFailed: the model's answer isn't its outcome.
    """
    answer = await connection.ask("POST", f"/sessions/{session}/turns", {"content": content})
    if _ANSWERED not in answer.body:
        raise MeasurementFailed(f"a turn of {session} ended otherwise: {answer.body[-1000:].decode(errors='replace')}")
    return answer


async def begin_turn(connection: Connection, session: str, content: str) -> str:
    """Begin a turn without waiting for its end; gives its id."""
    path = f"/sessions/{session}/turns"
    answer = await connection.ask("POST", path, {"content": content}, prefer="respond-async")
    return json.loads(answer.body)["id"]
