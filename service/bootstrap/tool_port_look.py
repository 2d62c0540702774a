"""Looks at the tool port for `turnkeeper doctor`: its list, twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from service.adapters.tools import RequestSigner, ToolPortHttp, build_tool_client
from service.adapters.tools.looking import ListSight, PortLook
from service.config import Settings
from service.core.diagnosis.tool_port import ListChange, PortFacts, PortReach
from service.core.json_types import JsonObject
from service.core.secret_masking import SecretMasking
from service.core.tool_port import ToolSpec
from service.core.tool_specs import check_specs
from service.ports import Clock

LIST_S = 5.0
"""For one list: half of what sessions wait, and enough to tell a port that is slow from one that hangs."""

LONGEST_CONNECT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PortView:
    """What was seen of the port: facts, its tools, the names of those that are offered, and its `Date` header."""

    facts: PortFacts
    specs: tuple[ToolSpec, ...] = ()
    names: tuple[str, ...] = ()
    date: str = ""
    asked_at: datetime


async def look_at_port(settings: Settings, clock: Clock) -> PortView:
    """Ask the port for its list twice."""
    if settings.tool_port_url is None:
        return PortView(facts=PortFacts(), asked_at=clock.now())
    token, secret = settings.tool_port_token, settings.tool_port_secret
    client = build_tool_client(
        settings.tool_port_url,
        token.get_secret_value() if token is not None else None,
        connect_timeout_s=min(settings.connect_ms / 1000, LONGEST_CONNECT_S),
    )
    async with client:
        port = ToolPortHttp(
            client,
            signer=RequestSigner(secret.get_secret_value(), now=clock.now) if secret is not None else None,
            masking=_masking(settings.tool_port_url, token, secret),
            max_body_bytes=settings.max_tool_body_bytes,
            list_timeout_s=LIST_S,
        )
        look = PortLook(client, port, list_timeout_s=LIST_S, now=clock.monotonic)
        first = await look.look()
        asked_at = clock.now()
        second = await look.look() if first.reach is PortReach.ANSWERS else first
    return _view(str(client.base_url).rstrip("/"), first, second, asked_at)


def _view(url: str, first: ListSight, second: ListSight, asked_at: datetime) -> PortView:
    # A port that gave a list and then none is as good as away.
    worse = next((sight for sight in (first, second) if sight.reach is not PortReach.ANSWERS), None)
    if worse is not None:
        return PortView(
            facts=PortFacts(reach=worse.reach, url=url, said=worse.said), date=worse.date, asked_at=asked_at
        )
    specs, left_out = check_specs(first.tools)
    facts = PortFacts(
        reach=PortReach.ANSWERS,
        url=url,
        tools=len(specs),
        took_s=min(first.took_s, second.took_s),
        change=_change(first.tools, second.tools),
        down=second.down,
        left_out=left_out,
    )
    names = tuple(spec.name for spec in specs)
    return PortView(facts=facts, specs=specs, names=names, date=first.date, asked_at=asked_at)


def _change(first: Sequence[JsonObject], second: Sequence[JsonObject]) -> ListChange:
    # As texts: members in another order are another prompt too.
    texts, others = [repr(tool) for tool in first], [repr(tool) for tool in second]
    if texts == others:
        return ListChange.NONE
    return ListChange.ORDER if sorted(texts) == sorted(others) else ListChange.CONTENT


def _masking(address: str, *secrets: SecretStr | None) -> SecretMasking:
    login = urlsplit(address)
    password = unquote(login.password or "")
    known = [secret.get_secret_value() for secret in secrets if secret is not None]
    return SecretMasking([password, f"{unquote(login.username or '')}:{password}", *known])
