"""What the dashboard's page loads: scripts, styles, pictures, the licences of its libraries.

It is no part of the API, so it isn't in its description; the page itself stands at `GET /` (`index.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response

from service.core.errors import ProblemCode, RequestRefused
from service.web.dashboard_files import Dashboard, DashboardFile
from service.web.deps import only_query
from service.web.security_headers import DASHBOARD_HEADERS

router = APIRouter(tags=["dashboard"])


async def dashboard(request: Request) -> Dashboard:
    """Give the files that were read at the start."""
    return cast(Dashboard, request.state.dashboard)


DashboardDep = Annotated[Dashboard, Depends(dashboard)]


@router.get("/dashboard/{path:path}", dependencies=[only_query()], include_in_schema=False)
async def get_dashboard_file(path: str, dashboard: DashboardDep, request: Request) -> Response:
    """Give a file of the dashboard."""
    file = dashboard.files.get(path)
    if file is None:
        raise RequestRefused(ProblemCode.NOT_FOUND, "the dashboard has no such file")
    return answer_with(file, request)


def answer_with(file: DashboardFile, request: Request, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a file, or with 304 where the caller has it as it is (RFC 9110, 13.1.2)."""
    told = {**DASHBOARD_HEADERS, "ETag": file.etag, **(headers or {})}
    if _names(",".join(request.headers.getlist("if-none-match")), file.etag):
        return Response(status_code=304, headers=told)
    # Set as a header, since a charset is added to a media type of text otherwise.
    return Response(file.body, headers={**told, "Content-Type": file.media_type})


def _names(if_none_match: str, etag: str) -> bool:
    """Tell whether a list of tags names this one; whether a tag is weak makes no difference here."""
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]
