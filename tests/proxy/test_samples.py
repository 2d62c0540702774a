"""What the samples say fits what the service does by itself."""

from __future__ import annotations

import inspect
import re

import uvicorn

from service.config.settings import Settings
from tests.proxy.proxies import SAMPLES

NGINX = (SAMPLES / "nginx.conf").read_text(encoding="utf-8")
CADDY = (SAMPLES / "Caddyfile").read_text(encoding="utf-8")
# `serve` leaves it as it is.
IDLE_CLOSE_S: int = inspect.signature(uvicorn.Config).parameters["timeout_keep_alive"].default


def seconds(pattern: str, sample: str) -> int:
    found = re.search(pattern, sample, re.MULTILINE)
    assert found is not None, f"the sample has nothing like {pattern}"
    return int(found[1])


def test_an_idle_connection_is_given_up_by_the_proxy_before_the_service_closes_it() -> None:
    kept = seconds(r"^\s+keepalive_timeout (\d+)s;", NGINX), seconds(r"^\s+keepalive (\d+)s$", CADDY)

    assert max(kept) < IDLE_CLOSE_S


def test_a_quiet_stream_says_something_long_before_the_proxy_gives_it_up() -> None:
    hours = seconds(r"^\s+proxy_read_timeout (\d+)h;", NGINX)

    assert hours * 3600 > 10 * Settings.model_fields["sse_ping_s"].default


def test_the_samples_lead_to_the_port_on_which_the_service_listens() -> None:
    address = f"{Settings.model_fields['host'].default}:{Settings.model_fields['port'].default}"

    assert f"server {address};" in NGINX
    assert f"reverse_proxy {address} {{" in CADDY
