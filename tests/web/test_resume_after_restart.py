"""A stream goes on behind a client's cursor though the service was another process's, or this one's before (H6, S4)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.web.cut_client import CutClient, record_lines
from tests.web.serving import BOUND_S, frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6", "S4")]

QUESTION = "What time is it?"
# As many as a turn has at most: what opens the stream, its records and its text.
FRAMES = 14


def script() -> list[Reply]:
    return [ask_for(Call(name="clock"), text="One m\u00f6ment."), say("It is\u2028noon.", thought="So.")]


async def read(service: WholeService, client: CutClient, address: str, frames: int | None = None) -> None:
    """Go on with a stream, for so many frames or to the end of the turn."""
    client.connected()
    headers = {"Last-Event-ID": client.cursor} if client.cursor else {}
    async with (
        asyncio.timeout(BOUND_S),
        service.served.http.stream("GET", f"{address}/events", headers=headers) as response,
        aclosing(frames_of(response)) as stream,
    ):
        assert response.status_code == 200
        while frames is None or frames > 0:
            frame = await anext(stream, None)
            if frame is None:
                return
            client.take(frame)
            frames = frames - 1 if frames is not None else None
            if frame.field("event") == "turn_finished":
                return


@pytest.mark.cases(10)
@pytest.mark.timeout(120)
async def test_a_stream_that_was_cut_anywhere_goes_on_with_the_next_start(tmp_path: Path) -> None:
    clients: list[tuple[str, str, CutClient]] = []
    async with StrictLlama(*script() * FRAMES) as llama, FakePort() as port:
        for frames in range(1, FRAMES + 1):
            async with service_over(tmp_path, llama, port) as service:
                session = await service.session()
                turn = await service.start(session, QUESTION)
                both = [(session, session, CutClient()), (session, turn, CutClient())]
                await asyncio.gather(*(read(service, client, address, frames) for _, address, client in both))
                clients += both
        async with service_over(tmp_path, llama, port) as service:
            for session, address, client in clients:
                if not client.records or client.records[-1].field("event") != "turn_finished":
                    for _ in range(2):
                        await read(service, client.at_hand(), address, 1)
                    await read(service, client, address)
                again = CutClient()
                await read(service, again, address)
                records = await service.records(session)

                told = [frame.data for frame in client.records]
                assert told == (records if address == session else records[1:])
                assert record_lines(again.records) == record_lines(client.records)
