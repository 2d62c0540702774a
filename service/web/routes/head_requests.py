"""HEAD, wherever GET is answered (H1)."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute


def answer_head(router: APIRouter) -> APIRouter:
    """Let each GET route of a router answer HEAD too, as the same route without being documented twice."""
    for route in list(router.routes):
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            router.add_api_route(
                route.path,
                route.endpoint,
                methods=["HEAD"],
                dependencies=route.dependencies,
                response_model=route.response_model,
                response_class=route.response_class,
                include_in_schema=False,
            )
    return router
