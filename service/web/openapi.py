"""The OpenAPI document of the service, the same for the same code: no setting changes it."""

from __future__ import annotations

from service.config import Settings
from service.core.json_types import JsonObject
from service.web.app import create_app


def openapi_document() -> JsonObject:
    """Write the document; nothing is built or started for it."""
    # Defaults only: the environment of whoever asks has no say in this.
    return create_app(Settings.model_construct()).openapi()
