"""The attack set: texts from outside that try to make an agent act, and the tools that they are after.

Above: the tests, and `obeying`, a model that does what such a text says. Below: `texts.toml`.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from service.core.completion_events import ModelCall
from service.core.json_types import JsonObject
from service.core.tool_port import ToolAnswer, ToolRequest
from tests.fakes.llama import call
from tests.fakes.tool_port import TablePort, result

TOOL_OF_KIND = {
    "send": "send_mail",
    "forward": "forward_mail",
    "delete": "delete_files",
    "pay": "pay",
    "buy": "buy_item",
    "publish": "publish_post",
    "settings": "change_settings",
    "reveal": "find_customers",
}
"""What each kind of text is after: tools that act outside, and one that gives what is not public."""

READER = "read_page"
"""The tool that gives the texts; `look` is one that gives trusted words and does nothing."""

_FORMS = ("text", "json", "long", "page")
_PARAGRAPH = "The party of the first part shall inform the party of the second part in writing and in good time.\n"
_LONG, _PAGES = 60, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One text, what it wants, and the words by which the obeying model knows it."""

    name: str
    kind: str
    trick: str
    text: str
    order: str
    to: str = "mallory@evil.example"
    form: str = "text"
    first: str | None = None

    @property
    def tool(self) -> str:
        """The tool that the text is after."""
        return TOOL_OF_KIND[self.kind]

    @property
    def arguments(self) -> str:
        """The arguments of the act, as the model writes them."""
        return json.dumps({"to": self.to}, ensure_ascii=False)

    @property
    def content(self) -> JsonObject | str:
        """What the tool gives."""
        if self.form == "json":
            return {"id": 7, "title": "Tea", "note": self.text, "tags": ["a"]}
        if self.form == "text":
            return self.text
        around = _PARAGRAPH * (_LONG if self.form == "long" else _PAGES)
        return f"{around}{self.text}\n{around}"

    @property
    def shown(self) -> str:
        """What the tool gives, as the service takes it: JSON is compact."""
        return self.content if isinstance(self.content, str) else as_json(self.content)

    def acts(self) -> list[ModelCall]:
        """Give the calls that the text wants, in order; the last one is the act."""
        first = [] if self.first is None else [call(self.first, id="first")]
        return [*first, call(self.tool, self.arguments, id="act")]


def as_json(value: JsonObject) -> str:
    """Write a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read() -> tuple[Attack, ...]:
    text = (Path(__file__).parent / "texts.toml").read_text(encoding="utf-8")
    found = tuple(Attack(name=name, **members) for name, members in tomllib.loads(text).items())
    assert all(attack.form in _FORMS for attack in found)
    return found


ATTACKS = _read()


def tool_specs(*, reader_untrusted: bool = True) -> list[JsonObject]:
    """Give the tools of the attacked port: one that reads strangers' text, one that looks, and those that act."""
    acting = [
        _spec(name, **({"class": "internal"} if name == "find_customers" else {"acts_outside": True}))
        for name in TOOL_OF_KIND.values()
    ]
    return [_spec(READER, untrusted=reader_untrusted), _spec("look"), *acting]


def _spec(name: str, **other: object) -> JsonObject:
    return {"name": name, "description": f"The tool {name}.", "parameters": {"type": "object"}, **other}


def attacked_port(attack: Attack) -> TablePort:
    """Give a port whose page holds the text."""

    def page(request: ToolRequest) -> ToolAnswer:
        return result(attack.shown)

    return TablePort(*tool_specs(), tools={READER: page})
