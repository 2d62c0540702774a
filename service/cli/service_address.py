"""Where the service is that a command talks to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from service.cli.failure import WRONG_USE, fail
from service.cli.sent_key import sent_key
from service.cli.settings import settings_or_fail


@dataclass(frozen=True, slots=True)
class ServicePlace:
    """Where a service is, and the key that it is asked with."""

    address: str
    api_key: str | None = field(repr=False)


def service_place(url: str | None, api_key_file: Path | None) -> ServicePlace:
    """Give the service that was said with `--url`, or else with settings, and the key for it.

    Raises:
        typer.Exit: there is no such address, or what should be a key is none; one line says so.
    """
    return ServicePlace(service_address(url), sent_key(api_key_file))


def service_address(url: str | None) -> str:
    """Give the address that was said with `--url`, or else that of the settings `host` and `port`.

    Raises:
        typer.Exit: it is no address; one line says so.
    """
    if url is None:
        settings = settings_or_fail()
        if settings.port == 0:
            fail("the setting port is 0, which is any free one; say --url", exit_code=WRONG_USE)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return f"http://{host}:{settings.port}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        fail("--url must be an address like http://127.0.0.1:8000", exit_code=WRONG_USE)
    return url.rstrip("/")
