"""The state of each slot, asked over HTTP (L10)."""

from __future__ import annotations

import httpx
import pytest
import respx

from service.adapters.llama import LlamaClient, LlamaHttp, LlamaTimes
from service.core.errors import ErrorKind, ModelFailure
from service.core.slot_state import SlotState
from tests.adapters.llama_routes import over

pytestmark = [pytest.mark.anyio, pytest.mark.rules("L10")]

URL = "http://llama.test"


def llama(router: respx.MockRouter, model: str | None = None) -> LlamaHttp:
    client = LlamaClient(URL, transport=over(router))
    return LlamaHttp(client, LlamaTimes(poll_ms=200), model=model)


async def test_the_slots_are_told(router: respx.MockRouter) -> None:
    router.get(f"{URL}/slots", params={"model": "m"}).mock(
        return_value=httpx.Response(200, json=[{"id": 0, "is_processing": False}])
    )
    assert await llama(router, model="m").slots() == (SlotState(id=0, processing=False),)


async def test_a_server_that_does_not_tell_them_says_so(router: respx.MockRouter) -> None:
    router.get(f"{URL}/slots").mock(return_value=httpx.Response(501))
    with pytest.raises(ModelFailure, match="does not tell its slots: it answered 501") as caught:
        await llama(router).slots()
    assert caught.value.kind is ErrorKind.UPSTREAM_HTTP


@pytest.mark.parametrize("error", [httpx.ConnectError("refused"), TimeoutError()])
async def test_a_server_that_is_away_is_a_failure_of_the_connection(router: respx.MockRouter, error: Exception) -> None:
    router.get(f"{URL}/slots").mock(side_effect=error)
    with pytest.raises(ModelFailure) as caught:
        await llama(router).slots()
    assert caught.value.kind is ErrorKind.CONNECT
