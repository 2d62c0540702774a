"""A llama-server program that is asked to end in mid-stream: it falls silent and keeps the connection (L4, L7).

The server of the other tests ends at once, so these need a program: `TURNKEEPER_TEST_LLAMA_SERVER` names it.
"""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.live.client import Client, Frame, named
from tests.live.llama_program import PROGRAM, PROGRAM_VARIABLE
from tests.live.processes import DEMO, service
from tests.live.troubled_server import TroubledServer

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.live,
    pytest.mark.skipif(PROGRAM is None, reason=f"{PROGRAM_VARIABLE} names no llama-server program"),
]

STORY: JsonObject = {"content": "Tell me a long story.", "limits": {"max_tokens": 250, "thinking_tokens": 16}}
QUICK = {"poll_ms": "100", "liveness_ms": "5000"}


# The server may also be about to send a token when it is told to end, and then it closes the connection: that is
# another failure, which is told and got over as well. Where the machine is busy it happens in one of several times.
TRIES = 4


@pytest.mark.rules("L4", "L7")
async def test_the_silence_of_a_server_that_was_asked_to_end_is_noticed_and_the_turn_goes_on_with_the_next_one(
    tool_port_url: str, folder: Path, http: httpx.AsyncClient
) -> None:
    options = ("--parallel", "1", "--ctx-size", "2048")
    reasons: list[str] = []
    with TroubledServer(DEMO / "chatml-demo.jinja", folder, *options) as server:
        server.start_and_wait()
        with service(server.url, tool_port_url, folder, **QUICK) as address:
            client = Client(address, http)
            while "stalled" not in reasons and len(reasons) < TRIES:
                reasons.append(await ended_in_mid_stream(client, server))

    assert reasons[-1] == "stalled"
    assert set(reasons) <= {"stalled", "stream_closed"}


async def ended_in_mid_stream(client: Client, server: TroubledServer) -> str:
    """Run a turn whose server is asked to end and followed by another one; say how the service noticed it."""
    session = await client.session(tools={"names": []})
    seen: list[Frame] = []
    async with aclosing(client.frames(session, STORY)) as frames:
        async for frame in frames:
            seen.append(frame)
            if frame.event == "content" and len(named(seen, "content")) == 1:
                server.terminate()
            if frame.event == "retrying":
                # A silent one ends only when its client has left.
                server.wait_until_gone()
                server.start()

    kinds = [frame.event for frame in seen]
    (retrying,), (attempt,) = named(seen, "retrying"), named(seen, "attempt")
    assert retrying["reason"] == attempt["kind"]
    assert "content" in kinds[kinds.index("retrying") :]
    assert named(seen, "turn_finished")[0]["outcome"] == "answered"
    return retrying["reason"]
