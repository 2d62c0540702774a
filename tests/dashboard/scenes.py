"""What is recorded: each scene asks a service for one thing, and keeps what it tells of that."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx

from service.core.json_types import JsonObject
from tests.dashboard.stage import Stage, Tape, keep, tape
from tests.live.processes import service
from tests.live.troubled_server import TroubledServer

STEADY: JsonObject = {"temperature": 0, "seed": 1, "repeat_penalty": 1.1}
# Tokens that a turn may think are added to those of its answer.
BRIEF: JsonObject = {"thinking_tokens": 0}
NO_TOOLS: JsonObject = {"tools": {"names": []}, "sampling": STEADY, "limits": BRIEF}
ONE_CALL: JsonObject = {"tool_choice": "required", "on_tool_limit": "conclude"}
TALES = (
    "The captain waited for the winter stores. A small boat carried seven barrels of salt to the old harbour.",
    "My neighbour painted a grey horse. The north wind remembered nothing at all about the long road.",
    "The secret password of the old lighthouse is marmalade seven. Nobody else knows it.",
    "A letter was left behind on the pier. The captain paid for it and went home before the storm.",
)


def of_session(session: str) -> str:
    """Give the address of a session's events."""
    return f"sessions/{session}/events"


async def plain(stage: Stage) -> None:
    """Two turns without tools."""
    session = await stage.session(**NO_TOOLS)

    async def act(_: Tape) -> None:
        await stage.turn(session, "What is the capital of France? 🇫🇷", limits={"max_tokens": 40})
        await stage.turn(session, "And of Italy?", limits={"max_tokens": 30})

    await tape(stage, "plain", of_session(session), act)


async def cut(stage: Stage) -> None:
    """A connection that is lost while the model writes, and resumed."""
    session = await stage.session(**NO_TOOLS)
    live = Tape()
    turn = await stage.begin(session, "Tell me a long story.", limits={"max_tokens": 80})
    await live.take(stage, of_session(session), until=lambda told: told.count(b"event: content") >= 4)
    last = live.last_id.decode()
    # Some of it is missed: another one sees it.
    onwards = f"{of_session(session)}?after={last}"
    await Tape().take(stage, onwards, until=lambda told: told.count(b"event: content") >= 4)
    over = re.compile(rb"event: turn_finished\n.*\n\n")
    headers = {"Last-Event-ID": last}
    await live.take(stage, of_session(session), until=lambda told: over.search(told) is not None, **headers)
    assert b"event: partial" in live.bytes, turn
    again = Tape()
    await again.take(stage, f"{of_session(session)}?after=0", until=lambda told: over.search(told) is not None)
    keep("cut", live.bytes, again.bytes)


async def cancel(stage: Stage) -> None:
    """A turn that is cancelled in mid-stream, and one that is cancelled while it waits behind it."""
    session = await stage.session(**NO_TOOLS)

    async def act(live: Tape) -> None:
        first = await stage.begin(session, "Tell me a long story.", limits={"max_tokens": 500})
        second = await stage.begin(session, "And another one.", on_busy="queue")
        third = await stage.begin(session, "Say hello.", on_busy="queue", limits={"max_tokens": 12})
        await live.wait_for(b"event: content", 6)
        for turn in (second, first):
            await stage.ask("POST", f"sessions/{session}/turns/{turn}/cancel")
        await stage.resource(f"sessions/{session}/turns/{third}", lambda turn: turn["state"] == "finished")

    await tape(stage, "cancel", of_session(session), act)


async def compaction(stage: Stage) -> None:
    """A compaction by hand, and a turn behind it."""
    session = await stage.session(**NO_TOOLS)
    notes = "The harbour has three piers, and the ferry leaves from the second one. " * 12
    for number in range(3):
        asked = f"Note {number}: {notes} Say only: noted."
        await stage.turn(session, asked, limits={"max_tokens": 8})

    async def act(_: Tape) -> None:
        done = await stage.ask("POST", f"sessions/{session}/compact")
        assert done["summary"] is not None, done["detail"]
        await stage.turn(session, "Where does the ferry leave?", limits={"max_tokens": 16})

    await tape(stage, "compaction", of_session(session), act)


async def fork(stage: Stage) -> None:
    """A fork before the second of two turns, asked anew."""
    source = await stage.session(**NO_TOOLS)
    await stage.turn(source, "What is the capital of France?", limits={"max_tokens": 16})
    second = await stage.turn(source, "And of Italy?", limits={"max_tokens": 16})
    session = await stage.session(fork={"session": source, "before": second["id"]})

    async def act(_: Tape) -> None:
        await stage.turn(session, "And of Spain?", limits={"max_tokens": 16})

    await tape(stage, "fork", of_session(session), act)


async def reasoning(stage: Stage) -> None:
    """Thoughts before answers, up to their cap."""
    session = await stage.session(**NO_TOOLS | {"limits": {"thinking_tokens": 32}})

    async def act(_: Tape) -> None:
        await stage.turn(session, "What is 2 + 2?", limits={"max_tokens": 30})

    await tape(stage, "reasoning", of_session(session), act)


async def tool_call(stage: Stage) -> None:
    """Two calls at once, one of them with a result from outside, and an answer."""
    session = await stage.session(tools={"names": ["get_tides"]}, sampling=STEADY, limits=BRIEF)

    async def act(_: Tape) -> None:
        limits = {"tool_iterations": 1, "max_tokens": 160}
        await stage.turn(session, "When is high tide in Brest?", limits=limits, **ONE_CALL)

    await tape(stage, "tool_call", of_session(session), act)


async def broken_off(stage: Stage) -> None:
    """The model writes what its server can't read: after a call it breaks off, again and again, and the turn fails."""
    session = await stage.session(tools={"names": ["get_weather"]}, sampling=STEADY, limits=BRIEF)

    async def act(_: Tape) -> None:
        limits = {"tool_iterations": 5, "max_tokens": 200}
        asked = "What is the weather in Paris, and in Paris, and in Rome, and in Oslo?"
        await stage.turn(session, asked, limits=limits, tool_choice="required")

    await tape(stage, "repeated", of_session(session), act)


async def limit(stage: Stage) -> None:
    """One batch is allowed, and the model asks for another."""
    session = await stage.session(tools={"names": ["get_weather"]}, sampling=STEADY, limits=BRIEF)

    async def act(_: Tape) -> None:
        limits = {"tool_iterations": 0, "max_tokens": 160}
        await stage.turn(session, "What is the weather in Paris?", limits=limits, tool_choice="required")

    await tape(stage, "limit", of_session(session), act)


async def approved(stage: Stage) -> None:
    """A call that waits for a person, who lets it run with other arguments."""
    await _decided(stage, "approved", approved=True, arguments='{"id": 8}')


async def denied(stage: Stage) -> None:
    """A call that waits for a person, who denies it."""
    await _decided(stage, "denied", approved=False, reason="Not this one.")


async def _decided(stage: Stage, name: str, *, approved: bool, **more: object) -> None:
    session = await stage.session(tools={"names": ["delete_file"]}, sampling=STEADY, limits=BRIEF)

    async def act(_: Tape) -> None:
        limits = {"tool_iterations": 1, "max_tokens": 160}
        waiting = await stage.turn(session, "Delete file 7.", limits=limits, **ONE_CALL)
        await stage.decide(waiting, approved=approved, **more)
        await stage.resource(f"sessions/{session}", lambda found: found["state"] == "idle")

    await tape(stage, name, of_session(session), act)


async def everything(stage: Stage) -> None:
    """All sessions of a service: two that are made, one that waits for a person, one that is deleted."""

    async def act(_: Tape) -> None:
        session = await stage.session(tools={"names": ["delete_file"]}, sampling=STEADY, limits=BRIEF)
        other = await stage.session(**NO_TOOLS)
        limits = {"tool_iterations": 1, "max_tokens": 160}
        waiting = await stage.turn(session, "Delete file 7.", limits=limits, **ONE_CALL)
        await stage.turn(other, "Say hello.", limits={"max_tokens": 12})
        await stage.decide(waiting, approved=False)
        await stage.resource(f"sessions/{session}", lambda found: found["state"] == "idle")
        answer = await stage.http.delete(f"{stage.address}/sessions/{other}")
        assert answer.status_code == 204
        await stage.session(**NO_TOOLS)

    await tape(stage, "everything", "events", act, after=await stage.last_pos())


async def handoff(stage: Stage) -> None:
    """Another agent answers."""
    session = await stage.session()

    async def act(_: Tape) -> None:
        await stage.turn(session, "Is it warm in Paris?", limits={"tool_iterations": 1}, **ONE_CALL)

    await tape(stage, "handoff", of_session(session), act)


async def read_one(stage: Stage) -> None:
    """A reading of one document."""
    await _read(stage, "reading", ["\n\n".join(TALES * 3)])


async def read_two(stage: Stage) -> None:
    """A reading of two documents, and of their memories."""
    await _read(stage, "reading_level_2", ["\n\n".join(TALES * 2), "\n\n".join(TALES[:2] * 2)], level=2)


async def _read(stage: Stage, name: str, documents: Sequence[str], **asked: object) -> None:
    named = [{"name": f"tale {place}.txt", "text": text} for place, text in enumerate(documents, start=1)]
    body = {
        "query": "What is the secret password of the old lighthouse?",
        "documents": named,
        "chunk_tokens": 128,
        "memory_budget": 48,
        **asked,
    }
    answer = await stage.http.post(f"{stage.address}/readings", json=body, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 200, answer.text
    found = re.search(rb'"reading":"(rdg_[^"]+)"', answer.content)
    assert found is not None
    again = await stage.http.get(f"{stage.address}/readings/{found[1].decode()}/events?after=0")
    keep(name, answer.content, again.content)


async def retrying(stage: Stage, server: TroubledServer) -> None:
    """The model server is killed in mid-stream and started again."""
    session = await stage.session(**NO_TOOLS)

    async def act(live: Tape) -> None:
        turn = await stage.begin(session, "Tell me a long story.", limits={"max_tokens": 60})
        await live.wait_for(b"event: content", 5)
        server.kill()
        await live.wait_for(b"event: retrying")
        server.start()
        await stage.resource(f"sessions/{session}/turns/{turn}", lambda found: found["state"] == "finished")

    await tape(stage, "retrying", of_session(session), act)


async def restart(http: httpx.AsyncClient, llama: str, port: str, folder: Path) -> None:
    """The service is stopped in mid-turn, and the next one goes on."""
    store = {"database_url": f"sqlite:///{(folder / 'restart.db').as_posix()}"}
    live = Tape()
    over = re.compile(rb"event: turn_finished\n.*\n\n")
    with ExitStack() as first:
        stage = Stage(first.enter_context(service(llama, port, folder, **store)), http)
        session = await stage.session(**NO_TOOLS)
        ends = asyncio.create_task(live.take(stage, of_session(session), until=lambda _: False))
        await stage.begin(session, "Tell me a long story.", limits={"max_tokens": 250})
        await live.wait_for(b"event: content", 4)
        await asyncio.to_thread(first.close)
        await ends
    with service(llama, port, folder, **store) as address:
        stage = Stage(address, http)
        headers = {"Last-Event-ID": live.last_id.decode()}
        await live.take(stage, of_session(session), until=lambda told: over.search(told) is not None, **headers)
        again = Tape()
        await again.take(stage, f"{of_session(session)}?after=0", until=lambda told: over.search(told) is not None)
    assert b"event: resumed" in live.bytes
    keep("restart", live.bytes, again.bytes)
