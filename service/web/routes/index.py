"""The front door: what there is at which address."""

from __future__ import annotations

from fastapi import APIRouter, Request

from service import __version__
from service.web.contract import refusals
from service.web.deps import only_query
from service.web.schemas.listings import IndexAnswer
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["index"], route_class=StrictJsonRoute)


@router.get("/", dependencies=[only_query()], responses=refusals())
async def get_index(request: Request) -> IndexAnswer:
    """List the addresses of the service."""
    paths = request.app.openapi()["paths"]
    addresses = {
        f"{method.upper()} {path}": operation["description"].partition("\n")[0]
        for path, operations in paths.items()
        for method, operation in operations.items()
    }
    return IndexAnswer(name="turnkeeper", version=__version__, addresses=addresses)
