"""The one place that knows concrete classes: it builds what the edges of the service call."""

from service.adapters.log_sql.backup import Backup
from service.adapters.log_sql.copy_check import StoreContents
from service.adapters.log_sql.restore import Restored
from service.bootstrap.application import Application, Metrics, build
from service.bootstrap.clients import running_service
from service.bootstrap.examination import examine
from service.bootstrap.key_files import change_keys, open_keys, warning_about_keys
from service.bootstrap.store_access import (
    StoreAudit,
    back_up_store,
    exported,
    look_at_store,
    prune_store,
    restore_store,
    store_to_be_made,
)

__all__ = [
    "Application",
    "Backup",
    "Metrics",
    "Restored",
    "StoreAudit",
    "StoreContents",
    "back_up_store",
    "build",
    "change_keys",
    "examine",
    "exported",
    "look_at_store",
    "open_keys",
    "prune_store",
    "restore_store",
    "running_service",
    "store_to_be_made",
    "warning_about_keys",
]
