"""llama-server's routes without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import respx

from service.adapters.llama import LlamaClient, LlamaHttp

URL = "http://llama.test:8080"


def over(router: respx.MockRouter) -> httpx.AsyncBaseTransport:
    """The way to these routes; their answers come with bodies that are still to be read, as from a network."""

    async def answer(request: httpx.Request) -> httpx.Response:
        answered = await router.async_handler(request)
        body = httpx.ByteStream(answered.content)
        return httpx.Response(answered.status_code, headers=answered.headers, stream=body)

    return httpx.MockTransport(answer)


@asynccontextmanager
async def mocked(router: respx.MockRouter) -> AsyncGenerator[LlamaHttp]:
    async with LlamaClient(URL, transport=over(router)) as client:
        yield LlamaHttp(client)
