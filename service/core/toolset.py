"""A session's tools: its snapshot of specs, and what is asked of them while a turn runs (X3, X4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from service.core.action import CALL_TOOL, Action, action_of
from service.core.approvals import reason_to_ask
from service.core.baseline import ToolMode
from service.core.json_types import JsonObject
from service.core.local_tools import FOUND_TOOLS
from service.core.records import ResultStatus
from service.core.result_text import CallOutcome
from service.core.tool_arguments import ArgumentChecker, malformed, named
from service.core.tool_port import ToolSpec
from service.core.tool_search import ToolIndex
from service.core.tool_specs import prompt_form


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCall:
    """A call that can be run: what it does, with which tool, and its arguments as they are sent."""

    action: Action
    spec: ToolSpec
    arguments: JsonObject


class Toolset:
    """The tools of one session, in the order in which the prompt shows them; empty for a session without.

    `guarded` says that tools which act outside, or give more than public data, need an approval once the session
    holds untrusted text (A7).
    """

    def __init__(
        self, specs: Iterable[ToolSpec] = (), *, mode: ToolMode = ToolMode.DIRECT, guarded: bool = True
    ) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._mode = mode
        self._guarded = guarded

    def __len__(self) -> int:
        return len(self._specs)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._specs.values())

    def check(self, name: str, arguments: str) -> CheckedCall | CallOutcome:
        """Say what a call does, or how it ends because it can't be run (T6, T10); `call_tool` is what is in it (X4)."""
        action = action_of(name, arguments)
        if action.name != name and (fault := malformed(name, arguments)) is not None:
            return fault
        checked = self._arguments.check(action.name, action.arguments)
        if isinstance(checked, CallOutcome):
            return checked
        if action.name == CALL_TOOL:
            # All else that its schema takes has a tool inside.
            text = "call_tool was not run: it can't call itself. Name the tool that is to be run."
            return CallOutcome(status=ResultStatus.BAD_ARGUMENTS, text=text)
        return CheckedCall(action=action, spec=self._specs[action.name], arguments=checked)

    def reason_to_ask(self, spec: ToolSpec, *, untrusted: bool) -> str | None:
        """Say why a call of this tool needs approval; None when it needs none (A1, A7)."""
        return reason_to_ask(spec, untrusted=untrusted and self._guarded)

    def found(self, query: str) -> CallOutcome:
        """Answer `find_tool`: the specs of the tools that fit best, as the model would see them (X4)."""
        found = self._index.find(query, limit=FOUND_TOOLS)
        if not found:
            text = "No tool fits these words. Say in other words what the tool should do."
        else:
            text = json.dumps([prompt_form(spec)["function"] for spec in found], ensure_ascii=False)
        return CallOutcome(status=ResultStatus.OK, text=text)

    @cached_property
    def prompt_specs(self) -> tuple[JsonObject, ...]:
        """The specs as every prompt of the session carries them: the same list in the same order (P3)."""
        return tuple(prompt_form(spec) for spec in self._shown)

    @property
    def _shown(self) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in self if spec.local or self._mode is ToolMode.DIRECT)

    @cached_property
    def _arguments(self) -> ArgumentChecker:
        if len(self._shown) == len(self):
            return ArgumentChecker(self)
        known = named(tuple(spec.name for spec in self._shown))
        return ArgumentChecker(self, f"{known} find_tool tells which others there are, and call_tool runs them.")

    @cached_property
    def _index(self) -> ToolIndex:
        return ToolIndex(spec for spec in self if not spec.local)
