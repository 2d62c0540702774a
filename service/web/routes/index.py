"""The front door: the dashboard for a browser, and for others what there is at which address."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service import __version__
from service.web.contract import refusals
from service.web.deps import PageOrIndex, only_query
from service.web.negotiation import HTML
from service.web.routes.dashboard import DashboardDep, answer_with
from service.web.schemas.listings import IndexAnswer
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["index"], route_class=StrictJsonRoute)

_VARIES = {"Vary": "Accept"}


@router.get(
    "/",
    dependencies=[only_query()],
    response_model=IndexAnswer,
    responses={
        200: {
            "description": "The dashboard where `Accept` names `text/html`, as browsers do; else the list.",
            "content": {HTML: {"schema": {"type": "string"}}},
        },
        304: {"description": "The dashboard's page is what `If-None-Match` names."},
        **refusals(),
    },
)
async def get_index(
    request: Request, response: Response, media_type: PageOrIndex, dashboard: DashboardDep
) -> Response | IndexAnswer:
    """Show the dashboard to a browser; list the addresses of the service to others."""
    if media_type == HTML:
        return answer_with(dashboard.page, request, _VARIES)
    response.headers.update(_VARIES)
    return _index(request)


def _index(request: Request) -> IndexAnswer:
    paths = request.app.openapi()["paths"]
    addresses = {
        f"{method.upper()} {path}": operation["description"].partition("\n")[0]
        for path, operations in paths.items()
        for method, operation in operations.items()
    }
    return IndexAnswer(name="turnkeeper", version=__version__, addresses=addresses)
