"""The HTTP application: what stands before the routes, the routes, and what they stand on.

Above: the command line, which serves it. Below: `guard.py` (who may call), `routes/` (what for), `problems.py`
(what is refused), and `service.bootstrap`, which builds what the routes call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from service import bootstrap
from service.bootstrap import Application
from service.config import Settings
from service.core.json_types import JsonObject
from service.ports.api_keys import ApiKeys
from service.web import problems
from service.web.access import Access
from service.web.authentication import Authentication, Unauthenticated
from service.web.contract import TITLE, describe
from service.web.dashboard_files import Dashboard, read_dashboard
from service.web.guard import Guard
from service.web.origins import AllowedNames
from service.web.plain_requests import ShortWays
from service.web.quotas import Quotas
from service.web.routes import BODIES, ROUTERS, SHORT_WAYS
from service.web.security_headers import SecurityHeaders
from service.web.sse import leave_shutdown_to_followers

Build = Callable[[Settings], AbstractAsyncContextManager[Application]]

# Headers of ours that a page of an allowed origin may read.
_EXPOSED = ["Location", "Content-Location", "Preference-Applied", "Retry-After"]
_ACCEPTED = [
    "Authorization",
    "X-API-Key",
    "Content-Type",
    "Prefer",
    "Last-Event-ID",
    "Idempotency-Key",
    "traceparent",
]


class WebApp(FastAPI):
    """The app with its own description, problem documents in place of the framework's errors, and a front.

    What stands before the routes stands before the framework's own middlewares too: they know errors, traces and
    bounds of bodies, which is all done here, and each is passed again whenever a stream's task is resumed.
    """

    front: ASGIApp
    """What a request meets first; it hands on to `behind_front`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of the server, or the lifespan."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.front(scope, receive, send)

    async def behind_front(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve what has passed the front."""
        await super().__call__(scope, receive, send)

    def openapi(self) -> JsonObject:
        """Describe the API, once."""
        if self.openapi_schema is None:
            self.openapi_schema = describe(self.routes, BODIES)
        return self.openapi_schema


def create_app(settings: Settings, build: Build = bootstrap.build, keys: ApiKeys | None = None) -> WebApp:
    """Make the app; what it stands on is built when it is started and taken down when it stops.

    Without keys only this machine is served (K2).
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, Application | Dashboard]]:
        leave_shutdown_to_followers()
        dashboard = await asyncio.to_thread(read_dashboard)
        async with build(settings) as application:
            yield {"application": application, "dashboard": dashboard}

    app = WebApp(
        title=TITLE,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        # Else it sends what callers say to whatever the environment names, or to a provider of the process (K4).
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.settings = settings
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    app.front = _front(app.behind_front, settings, keys)
    return app


def _front(app: ASGIApp, settings: Settings, keys: ApiKeys | None) -> ASGIApp:
    """Put together what each request passes, here from the innermost to the outermost."""
    any_host = keys is not None and not settings.allowed_hosts
    names = AllowedNames.of(settings.host, settings.allowed_hosts, settings.allowed_origins, any_host=any_host)
    front: ASGIApp = ShortWays(app, ways=SHORT_WAYS)
    front = Quotas(
        front,
        requests_per_minute=settings.requests_per_minute,
        requests_at_once=settings.requests_at_once,
        streams_at_once=settings.streams_at_once,
    )
    # Made without keys too: a route that is in no row of the table stops the start in any case.
    access = Access([route for router in ROUTERS for route in router.routes])
    front = Unauthenticated(front) if keys is None else Authentication(front, keys=keys, access=access)
    if settings.allowed_origins:
        # Before the keys: a browser asks whether it may send one without sending it.
        front = CORSMiddleware(
            front,
            allow_origins=sorted(names.origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=_ACCEPTED,
            expose_headers=_EXPOSED,
        )
    guard = Guard(
        front,
        names=names,
        only_this_machine=keys is None,
        max_body_bytes=settings.max_body_bytes,
        max_upload_bytes=settings.max_upload_bytes,
    )
    return SecurityHeaders(guard)


def _operation_id(route: APIRoute) -> str:
    return route.name
