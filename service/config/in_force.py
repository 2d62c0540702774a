"""The settings in force and where each came from, for people and for programs; secrets are not among them (D1, K5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from service.config.catalogue import CATALOGUE
from service.config.origins import Origin, variable_of
from service.config.settings import CONFIG_FILE, Settings
from service.config.toml_form import literal


def toml_in_force(settings: Settings, origins: Mapping[str, Origin], *, only_changed: bool = False) -> str:
    """Give a line for each setting, grouped, with its source behind it.

    It is valid TOML and, put in the place of the file of settings, gives the same ones but for secrets.
    """
    groups = [
        [f"# {group.title}", *(_line(settings, name, origins[name]) for name in names)]
        for group in CATALOGUE
        if (names := [name for name in group.reasons if _is_told(origins[name], only_changed=only_changed)])
    ]
    return "".join(f"{line}\n" for line in _with_gaps(groups))


def json_in_force(settings: Settings, origins: Mapping[str, Origin], *, only_changed: bool = False) -> str:
    """Give one JSON object: for each setting its value and source; of a secret only whether it is set."""
    told = {
        name: {**_json_value(_shown(getattr(settings, name))), "source": origins[name].value}
        for group in CATALOGUE
        for name in group.reasons
        if _is_told(origins[name], only_changed=only_changed)
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _is_told(origin: Origin, *, only_changed: bool) -> bool:
    return not only_changed or origin is not Origin.DEFAULT


def _with_gaps(groups: list[list[str]]) -> Iterator[str]:
    for number, group in enumerate(groups):
        yield from ("", *group) if number else group


def _line(settings: Settings, name: str, origin: Origin) -> str:
    value = _shown(getattr(settings, name))
    if isinstance(value, SecretStr):
        told = f"# {name} is set, and not shown"
    else:
        told = f"# {name} is not set" if value is None else f"{name} = {literal(value)}"
    source = {Origin.ENVIRONMENT: variable_of(name), Origin.FILE: CONFIG_FILE, Origin.DEFAULT: "default"}[origin]
    return f"{told}  # {source}"


def _shown(value: object) -> object:
    """Take the password out of an address."""
    if not isinstance(value, str) or "://" not in value:
        return value
    address = urlsplit(value)
    if address.password is None:
        return value
    host = address.netloc.rpartition("@")[2]
    return urlunsplit(address._replace(netloc=f"{address.username}:***@{host}"))


def _json_value(value: object) -> dict[str, object]:
    if isinstance(value, SecretStr):
        return {"is_set": True}
    return {"value": value if isinstance(value, bool | int | float | list | dict | None) else str(value)}
