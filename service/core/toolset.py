"""A session's tools: its snapshot of specs, and what is asked of them while a turn runs (X3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from service.core.json_types import JsonObject
from service.core.tool_arguments import ArgumentChecker
from service.core.tool_port import ToolSpec
from service.core.tool_specs import prompt_form


class Toolset:
    """The tools of one session, in the order in which the prompt shows them; empty for a session without."""

    def __init__(self, specs: Iterable[ToolSpec] = ()) -> None:
        self._specs = {spec.name: spec for spec in specs}

    def __len__(self) -> int:
        return len(self._specs)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._specs.values())

    def spec(self, name: str) -> ToolSpec:
        """Give the tool of this name, which must be one of the session's."""
        return self._specs[name]

    @cached_property
    def arguments(self) -> ArgumentChecker:
        """What checks the arguments of calls; compiled once, when the first call comes."""
        return ArgumentChecker(self)

    @cached_property
    def prompt_specs(self) -> tuple[JsonObject, ...]:
        """The specs as every prompt of the session carries them: the same list in the same order (P3)."""
        return tuple(prompt_form(spec) for spec in self)
