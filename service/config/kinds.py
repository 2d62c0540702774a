"""Kinds of settings: what may stand in one, and what is said when something else does (D1).

Above: the settings. Below: what keys and secrets look like.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from service.config.approvers import check_approver_keys, parse_approver_keys
from service.config.outgoing_secrets import check_bearer_token, check_signing_secret


def _http_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be an address like http://127.0.0.1:8080")
    return value.rstrip("/")


def is_loopback(host: str) -> bool:
    """Say whether an address to listen on can be reached from this machine only."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


# Parsed here and not by the source: tables of two sources would be joined, and a key that the environment leaves out
# would still be in force if the file has it.
PublicKeys = Annotated[
    dict[str, str], NoDecode, BeforeValidator(parse_approver_keys), AfterValidator(check_approver_keys)
]
HttpAddress = Annotated[str, AfterValidator(_http_address)]
BearerToken = Annotated[SecretStr, AfterValidator(check_bearer_token)]
SigningSecret = Annotated[SecretStr, AfterValidator(check_signing_secret)]
Milliseconds = Annotated[int, Field(ge=50)]
Seconds = Annotated[int, Field(ge=1)]
SecondsOrNone = Annotated[int, Field(ge=0)]
