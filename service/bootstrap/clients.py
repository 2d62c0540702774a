"""A running service, for the commands that talk to one."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from service.adapters.service_client import open_service
from service.ports.running_service import RunningService


def running_service(url: str, api_key: str | None = None) -> AbstractAsyncContextManager[RunningService]:
    """Give what calls the service that runs at this address, with this key on each request."""
    return open_service(url, api_key)
