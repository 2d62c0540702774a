"""How to ask a service for one streamed answer: the requests, with places for what differs from turn to turn.

Above: the subjects, which name their adapter, and the peers, which bring their own. Below: nothing.

The places are `{prompt}` (what the user says), `{uuid}` (a new one at each place of each request) and `{id}` (what the
setup request before gave). Any other brace stays as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode
from uuid import uuid4

from service.core.json_types import JsonObject, JsonValue

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A request that comes before the measured one; `save` names the member of its JSON answer that is `{id}`."""

    path: str
    body: JsonObject
    save: str

    def saved(self, answer: bytes) -> str:
        """Find what is to be saved in the whole of an HTTP answer.

        Raises:
            ValueError: it isn't there.
        """
        found = re.search(rb'"%s"\s*:\s*"?([\w.-]+)' % re.escape(self.save.encode()), answer)
        if found is None:
            raise ValueError(f"{self.path} answered without {self.save!r}: {answer[:300]!r}")
        return found[1].decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One way to ask: requests that prepare, then a POST of a JSON `body`, or of a `form` where that is given."""

    setup: tuple[Setup, ...] = ()
    path: str
    body: JsonObject | None = None
    form: dict[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a service listens; `base` is the part of the path before all of its paths."""

    host: str
    port: int
    base: str = ""


def setup_request(setup: Setup, address: Address, *, prompt: str, saved: str) -> bytes:
    """Write a request that prepares, as it goes over the wire; its connection ends with the answer."""
    body = json.dumps(_filled(setup.body, prompt, saved)).encode()
    return _post(address, _filled_text(setup.path, prompt, saved), JSON, body)


def measured_request(adapter: Adapter, address: Address, *, prompt: str, saved: str = "") -> bytes:
    """Write the request whose answer is measured, as it goes over the wire; its connection ends with the answer."""
    path = _filled_text(adapter.path, prompt, saved)
    if adapter.form is not None:
        form = {name: _filled_text(value, prompt, saved) for name, value in adapter.form.items()}
        return _post(address, path, FORM, urlencode(form).encode())
    return _post(address, path, JSON, json.dumps(_filled(adapter.body or {}, prompt, saved)).encode())


def _filled(value: JsonValue, prompt: str, saved: str) -> JsonValue:
    match value:
        case str():
            return _filled_text(value, prompt, saved)
        case dict():
            members = cast(JsonObject, value)
            return {name: _filled(member, prompt, saved) for name, member in members.items()}
        case list():
            return [_filled(item, prompt, saved) for item in cast(list[JsonValue], value)]
        case _:
            return value


def _filled_text(text: str, prompt: str, saved: str) -> str:
    def fill(place: re.Match[str]) -> str:
        match place[1]:
            case "prompt":
                return prompt
            case "id":
                return saved
            case _:
                return str(uuid4())

    return re.sub(r"\{(prompt|id|uuid)\}", fill, text)


def _post(address: Address, path: str, content_type: str, body: bytes) -> bytes:
    lines = [
        f"POST {address.base}{path} HTTP/1.1",
        f"Host: {address.host}:{address.port}",
        f"Content-Type: {content_type}",
        f"Accept: text/event-stream, {JSON}",
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


OPENAI = Adapter(
    path="/v1/chat/completions",
    body={"model": "fake", "stream": True, "messages": [{"role": "user", "content": "{prompt}"}]},
)
TURNS = Adapter(
    setup=(Setup(path="/sessions", body={}, save="id"),),
    path="/sessions/{id}/turns",
    body={"content": "{prompt}"},
)
# By name: "openai" is llama-server's own interface, "turns" is Turnkeeper's.
ADAPTERS = {"openai": OPENAI, "turns": TURNS}
