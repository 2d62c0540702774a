"""A client of a service that runs: requests, uploads and streams that are resumed when the connection breaks."""

from service.adapters.service_client.client import open_service

__all__ = ["open_service"]
