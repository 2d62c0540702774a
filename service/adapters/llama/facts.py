"""What `/props` and `/apply-template` tell of a server, read with tolerance for older builds (L10)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from service.core.baseline import TemplateProfile
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import token_count
from service.core.template import TemplateCaps, profile_of, takes_system_role
from service.core.template_probes import Probe, first_probes, further_probes
from service.ports import ServerFacts

Ask = Callable[[str, str, JsonObject | None], Awaitable[JsonObject]]
"""Sends a short question (method, path, body) and gives the answer's object; raises ModelFailure."""

_LOADING = 503
# The answers of a build without this endpoint, or of a proxy that does not let it through.
_NOT_FOR_US = (401, 403, 404, 405, 501)
# Rendering takes the server a millisecond, but each request one of its few threads.
_PROBES_AT_A_TIME = 4

_Known = tuple[str, TemplateCaps, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Props:
    """What is read from `/props`; `build` is a name that can be compared, and not more."""

    context_tokens: int
    slots: int
    model: str | None
    template_hash: str
    caps: TemplateCaps
    build: str


def read_props(props: JsonValue) -> Props:
    """Read `/props`.

    Raises:
        ModelFailure: it tells no context size, so it is no llama-server with a model.
    """
    members = _object(props)
    context_tokens = token_count(_object(members.get("default_generation_settings")).get("n_ctx"))
    if not context_tokens:
        raise ModelFailure(
            ErrorKind.PROTOCOL, "/props tells no n_ctx: what answers there is no llama-server with one model loaded"
        )
    template = _text(members.get("chat_template"))
    caps = _object(members.get("chat_template_caps"))
    return Props(
        context_tokens=context_tokens,
        slots=token_count(members.get("total_slots")) or 1,
        model=_text(members.get("model_alias")) or None,
        template_hash=hashlib.sha256(template.encode("utf-8", "replace")).hexdigest(),
        caps=TemplateCaps(
            tools=_both(_flag(caps, "supports_tools"), _flag(caps, "supports_tool_calls")),
            parallel=_flag(caps, "supports_parallel_tool_calls"),
            system_role=_flag(caps, "supports_system_role"),
            object_arguments=_flag(caps, "supports_object_arguments"),
        ),
        build=_text(members.get("build_info")),
    )


class Templates:
    """Probes a server's template once, and again when it may be another server's."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[_Known, TemplateProfile] = {}
        self._absences = 0

    def server_was_away(self) -> None:
        """Take note that what answers next may have been started with other flags."""
        self._known.clear()
        self._absences += 1

    async def facts(self, answer: JsonObject) -> ServerFacts:
        """Complete an answer of `/props` by the profile of its template.

        Raises:
            ModelFailure: it is none of llama-server's, or the server went away while it was asked.
        """
        props = read_props(answer)
        profile = await self._profile(props)
        return ServerFacts(context_tokens=props.context_tokens, slots=props.slots, model=props.model, template=profile)

    async def _profile(self, props: Props) -> TemplateProfile:
        # Other flags can show in what the server says of its template, where the template itself is the same.
        key = (props.template_hash, props.caps, props.build)
        if key in self._known:
            return self._known[key]
        absences = self._absences
        renderings = await self._rendered(first_probes())
        if renderings.get(Probe.USER) is not None:
            system_role = takes_system_role(renderings, props.caps)
            renderings |= await self._rendered(further_probes(system_role=system_role))
        profile = profile_of(props.template_hash, props.caps, renderings)
        if absences == self._absences:
            self._known[key] = profile
        return profile

    async def _rendered(self, bodies: Mapping[Probe, JsonObject]) -> dict[Probe, str | None]:
        found: dict[Probe, str | None] = {}
        failures: list[ModelFailure] = []
        left = iter(bodies.items())
        async with asyncio.TaskGroup() as group:
            for number in range(_PROBES_AT_A_TIME):
                group.create_task(self._take(left, found, failures), name=f"probe the template {number}")
        if failures:
            raise failures[0]
        return found

    async def _take(
        self,
        left: Iterator[tuple[Probe, JsonObject]],
        found: dict[Probe, str | None],
        failures: list[ModelFailure],
    ) -> None:
        for probe, body in left:
            try:
                answer = await self._ask("POST", "apply-template", body)
            except ModelFailure as failure:
                if _is_away(failure):
                    failures.append(failure)
                    return
                if isinstance(failure, UpstreamHttp) and failure.status not in _NOT_FOR_US:
                    # Whatever the status, this is how a template that raises looks.
                    found[probe] = None
                continue
            prompt = answer.get("prompt")
            if isinstance(prompt, str):
                found[probe] = prompt


def _is_away(failure: ModelFailure) -> bool:
    return failure.status == _LOADING or failure.kind in (ErrorKind.CONNECT, ErrorKind.STREAM_CLOSED)


def _flag(caps: JsonObject, name: str) -> bool | None:
    value = caps.get(name)
    return value if isinstance(value, bool) else None


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return first if second is None else second


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _object(value: JsonValue) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}
