"""Two ways to an example port: in this process, and over a real socket."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

BOUND_S = 10


class PortClient:
    """Ask a port as Turnkeeper does."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def post(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        key: str | None = None,
        approval: Mapping[str, object] | None = None,
    ) -> httpx.Response:
        body = {"session": "ses_1", "turn": "trn_1", "call": 1, "tool": tool, "arguments": arguments}
        if approval is not None:
            body["approval"] = approval
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self.http.post("/calls", json=body, headers=headers)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        key: str | None = None,
        approval: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        response = await self.post(tool, arguments, key=key, approval=approval)
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        return response.json()

    async def specs(self) -> dict[str, dict[str, Any]]:
        response = await self.http.get("/tools")
        assert response.status_code == 200
        return {spec["name"]: spec for spec in response.json()["tools"]}


@asynccontextmanager
async def connected(app: FastAPI) -> AsyncGenerator[PortClient]:
    """Reach the app without a socket; no answer of a port is a stream, so this hides nothing."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://port", trust_env=False) as http:
        yield PortClient(http)


@asynccontextmanager
async def served(app: FastAPI) -> AsyncGenerator[PortClient]:
    """Serve the app by uvicorn on a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="uvicorn")
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            async with httpx.AsyncClient(base_url=url, timeout=BOUND_S, trust_env=False) as http:
                yield PortClient(http)
        finally:
            server.should_exit = True
            await serving
