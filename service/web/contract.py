"""What the OpenAPI document says of refusals: each route lists its own, all in one shape (H2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict
from starlette.routing import BaseRoute

from service import __version__
from service.core.errors import ProblemCode
from service.core.json_types import JsonObject
from service.web.access import ACCESS
from service.web.problems import MEDIA_TYPE, STATUS
from service.web.schemas.events import event_schemas
from service.web.schemas.reference import REF

TITLE = "Turnkeeper"
DESCRIPTION = (
    "Sessions, a bounded agent loop and an event log in front of llama.cpp's llama-server. "
    "Whatever is refused is refused with a problem document (RFC 9457) whose `code` tells programs which."
)
_SECURITY_SCHEMES: JsonObject = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, made by `turnkeeper keys add`."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same, in another header."},
}

# What any request may meet.
_ANYWHERE = (
    ProblemCode.VALIDATION,
    ProblemCode.UNAUTHORIZED,
    ProblemCode.FORBIDDEN,
    ProblemCode.WRONG_HOST,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    ProblemCode.TOO_LARGE,
    ProblemCode.RATE_LIMITED,
    ProblemCode.INTERNAL,
)


class Problem(BaseModel):
    """A refusal (RFC 9457); some codes add members of their own."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: ProblemCode


def refusals(*codes: ProblemCode) -> dict[int | str, dict[str, Any]]:
    """List the refusals of a route, beside those that any request may meet, by their status."""
    by_status: dict[int, list[ProblemCode]] = defaultdict(list)
    for code in (*_ANYWHERE, *codes):
        by_status[STATUS[code].code].append(code)
    return {status: _described(codes) for status, codes in sorted(by_status.items())}


def _described(codes: list[ProblemCode]) -> JsonObject:
    told = " or ".join(f"`{code}`" for code in codes)
    content = {MEDIA_TYPE: {"schema": {"$ref": REF.format("Problem")}}}
    return {"description": f"{STATUS[codes[0]].phrase}: {told}.", "content": content}


def describe(routes: list[BaseRoute], more: Sequence[type[BaseModel]]) -> JsonObject:
    """Write the OpenAPI document of the routes; `more` are models that a route names without declaring them."""
    document = get_openapi(title=TITLE, version=__version__, description=DESCRIPTION, routes=routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in (Problem, *more):
        schema = model.model_json_schema(ref_template=REF.replace("{}", "{model}"))
        schemas.update(schema.pop("$defs", {}), **{model.__name__: schema})
    # Of a session's record the models know only what all have in common.
    schemas.update(event_schemas())
    document["components"]["securitySchemes"] = _SECURITY_SCHEMES
    for operations in document["paths"].values():
        for operation in operations.values():
            _describe_access(operation)
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
    return document


def _describe_access(operation: JsonObject) -> None:
    """Say which keys an operation takes, by its row in the access table (K3)."""
    needed = ACCESS[operation["operationId"]]
    if not needed:
        operation["security"] = []
        return
    # Nothing of it is asked for where the service has no keys, and serves its own machine only.
    operation["security"] = [{}, {"bearer": []}, {"apiKey": []}]
    operation["x-scopes"] = sorted(needed)


def _without_null(schema: JsonObject) -> JsonObject:
    """Leave null out of a parameter's schema: a parameter is left out, it is never null."""
    kinds = schema.pop("anyOf", None)
    if kinds is None:
        return schema
    (kind,) = (kind for kind in kinds if kind != {"type": "null"})
    return {**schema, **kind}
