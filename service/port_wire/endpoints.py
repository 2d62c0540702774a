"""The three addresses of a tool port: what each refuses first, and who answers then.

Above: the ports. Below, in the order of a call: `incoming.py` checks who asks and reads it, `signatures.py` who wrote
it.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI, Request, Response

from service.port_wire import problems
from service.port_wire.incoming import CallRequest, check_caller, idempotency_key, parse_call, read_body
from service.port_wire.signatures import Signatures

ListTools = Callable[[], Awaitable[bytes]]
"""Gives the body of `GET /tools`."""

RunCall = Callable[[Request, CallRequest, str | None], Awaitable[Response]]
"""Answers a call that may be run, with its idempotency key."""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def port_app(
    title: str,
    list_tools: ListTools,
    run_call: RunCall,
    *,
    token: str | None,
    signatures: Signatures | None,
    lifespan: Lifespan | None = None,
) -> FastAPI:
    """Build the app of a port, open to all callers without token and signatures."""
    # Turnkeeper follows no redirect (K4), so `/tools/` has to be a clear 404.
    app = FastAPI(
        title=title,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        # What is called here goes nowhere, whatever the environment sets up for programs of this framework.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    problems.install(app)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/tools")
    async def tools(request: Request) -> Response:
        check_caller(request, token)
        if signatures is not None:
            signatures.check(request, b"")
        return json_answer(await list_tools())

    @app.post("/calls")
    async def calls(request: Request) -> Response:
        check_caller(request, token)
        body = await read_body(request)
        if signatures is not None:
            signatures.check_call(request, body)
        key = idempotency_key(request)
        return await run_call(request, parse_call(body), key)

    return app


def json_answer(body: bytes) -> Response:
    """Answer 200 with this body."""
    return Response(body, media_type="application/json")
