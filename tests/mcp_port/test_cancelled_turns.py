"""A turn that is cancelled cancels the MCP request that it waits for, through the whole service (T13, X1)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.mcp_port.app import create_app
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over
from tests.example_port.port_client import served
from tests.mcp_port.odd import Notes, odd, running

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T13", "X1")]

BOUND_S = 30.0


class AtAddress(FakePort):
    """A port that runs elsewhere."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._address = url

    @property
    def url(self) -> str:
        return self._address


async def test_a_cancelled_turn_cancels_the_request_at_its_server(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND_S), Notes() as notes:
        config = odd(notes=notes)
        async with (
            running(config) as servers,
            served(create_app([config], servers=servers)) as port,
            StrictLlama(ask_for(Call(name="odd__hang", id="one"))) as llama,
            service_over(tmp_path, llama, AtAddress(str(port.http.base_url))) as service,
        ):
            turn = await service.start(await service.session())
            hung = await notes.with_words("hangs")
            await service.cancel(turn)

            assert await notes.with_words("cancelled") == hung.replace("hangs", "cancelled")
            assert (await service.finish(turn))["outcome"] == "cancelled"
