"""llama-server's routes without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import respx

from service.adapters.llama import LlamaClient, LlamaHttp

URL = "http://llama.test:8080"


@asynccontextmanager
async def mocked(router: respx.MockRouter) -> AsyncGenerator[LlamaHttp]:
    transport = httpx.MockTransport(router.async_handler)
    async with LlamaClient(URL, transport=transport) as client:
        yield LlamaHttp(client)
