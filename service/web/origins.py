"""Which names of hosts and which origins of pages are ours or allowed (K1). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

# A name or an address, and a port: what is none of that would stand in origins of ours.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """Values of `Host`, with or without a port, and of `Origin`, all in lower case."""

    hosts: frozenset[str]
    origins: frozenset[str]
    any_host: bool = False

    @classmethod
    def of(
        cls, host: str, allowed_hosts: Iterable[str], allowed_origins: Iterable[str], *, any_host: bool = False
    ) -> AllowedNames:
        """Put together what the settings allow; loopback names and the address of `host` always are.

        `any_host` is for a service with keys: a page that lets its name lead here has none.
        """
        hosts = {*LOOPBACK_NAMES, _bracketed(host), *allowed_hosts}
        return cls(
            hosts=frozenset(name.lower() for name in hosts),
            origins=frozenset(origin.lower().rstrip("/") for origin in allowed_origins),
            any_host=any_host,
        )

    def is_our_host(self, host: str) -> bool:
        """Tell whether a `Host` is answered; a name that is allowed without a port is so with any port."""
        host = host.lower()
        if self.any_host:
            return _HOST.fullmatch(host) is not None
        return host in self.hosts or _without_port(host) in self.hosts

    def is_allowed_origin(self, origin: str, host: str) -> bool:
        """Tell whether a page of this origin may call; `host` is the request's own, already found to be ours."""
        origin = origin.lower()
        return origin in (f"http://{host.lower()}", f"https://{host.lower()}") or origin in self.origins


def _bracketed(host: str) -> str:
    try:
        return f"[{host}]" if isinstance(ip_address(host), IPv6Address) else host
    except ValueError:
        return host


def _without_port(host: str) -> str | None:
    """Give the name before the port, IPv6 in brackets; None when it is no host at all."""
    try:
        parts = urlsplit(f"//{host}")
        # Reading the port checks it. User, path and the like have no place in a Host.
        if parts.port is not None and parts.netloc == host:
            return host.rpartition(":")[0]
    except ValueError:
        return None
    return None
