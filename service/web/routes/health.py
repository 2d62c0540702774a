"""Whether the process answers, and whether all that it needs does."""

from __future__ import annotations

from fastapi import APIRouter, Response

from service import __version__
from service.web.contract import refusals
from service.web.deps import ApplicationDep, CallerDep, only_query
from service.web.schemas.listings import CheckAnswer, LiveAnswer, ReadyAnswer
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["health"], route_class=StrictJsonRoute)


@router.get("/healthz", dependencies=[only_query()], include_in_schema=False)
@router.get("/livez", dependencies=[only_query()], responses=refusals())
async def get_liveness() -> LiveAnswer:
    """Say that the process answers, and its version."""
    return LiveAnswer(status="ok", version=__version__)


@router.get(
    "/readyz",
    dependencies=[only_query()],
    responses={503: {"description": "Something that is needed does not answer.", "model": ReadyAnswer}, **refusals()},
)
async def get_readiness(app: ApplicationDep, caller: CallerDep, response: Response) -> ReadyAnswer:
    """Check the store, llama-server and the tool port, each by name; why one fails is told to the scope admin."""
    checks = await app.readiness.check()
    ready = all(check.ok for check in checks)
    response.status_code = 200 if ready else 503
    return ReadyAnswer(ready=ready, checks=[CheckAnswer.of(check, caller) for check in checks])


@router.get(
    "/metrics",
    dependencies=[only_query()],
    response_class=Response,
    responses={200: {"description": "Prometheus' text format.", "content": {"text/plain": {}}}, **refusals()},
)
async def get_metrics(app: ApplicationDep) -> Response:
    """Tell what was counted since the start, for Prometheus."""
    return Response(await app.metrics.text(), media_type=app.metrics.content_type)
