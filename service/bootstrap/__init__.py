"""The one place that knows concrete classes: it builds what the edges of the service call."""

from service.bootstrap.application import Application, Metrics, build
from service.bootstrap.clients import running_service
from service.bootstrap.examination import examine
from service.bootstrap.store_access import StoreAudit, look_at_store, prune_store

__all__ = [
    "Application",
    "Metrics",
    "StoreAudit",
    "build",
    "examine",
    "look_at_store",
    "prune_store",
    "running_service",
]
