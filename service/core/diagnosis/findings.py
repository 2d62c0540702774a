"""Everything that `turnkeeper doctor` may say: stable codes, each of one part and one severity.

`docs/howto/find-what-is-wrong.md` has a row for each; a code that was released never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeVar


class Part(StrEnum):
    """What a finding is about; findings are told in this order."""

    STORE = "store"
    LLAMA_SERVER = "llama_server"
    TOOL_PORT = "tool_port"
    SERVICE = "service"


class Severity(StrEnum):
    """How bad it is: `wrong` does not work, a `warning` works but costs something, `ok` is good to know."""

    WRONG = "wrong"
    WARNING = "warning"
    OK = "ok"


class Code(Enum):
    """One kind of finding."""

    def __init__(self, word: str, part: Part, severity: Severity) -> None:
        self.word = word
        self.part = part
        self.severity = severity

    STORE_OK = ("store_ok", Part.STORE, Severity.OK)
    STORE_ABSENT = ("store_absent", Part.STORE, Severity.OK)
    STORE_OLDER = ("store_older", Part.STORE, Severity.OK)
    STORE_IN_USE = ("store_in_use", Part.STORE, Severity.OK)
    STORE_KEEPS_NOTHING = ("store_keeps_nothing", Part.STORE, Severity.WARNING)
    STORE_NEVER_PRUNED = ("store_never_pruned", Part.STORE, Severity.WARNING)
    DISK_NEARLY_FULL = ("disk_nearly_full", Part.STORE, Severity.WARNING)
    STORE_NOT_WRITABLE = ("store_not_writable", Part.STORE, Severity.WRONG)
    STORE_NEWER = ("store_newer", Part.STORE, Severity.WRONG)
    STORE_DAMAGED = ("store_damaged", Part.STORE, Severity.WRONG)
    STORE_UNREADABLE = ("store_unreadable", Part.STORE, Severity.WRONG)

    LLAMA_OK = ("llama_ok", Part.LLAMA_SERVER, Severity.OK)
    LLAMA_AWAY = ("llama_away", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_SILENT = ("llama_silent", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_LOADING = ("llama_loading", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_KEY_MISSING = ("llama_key_missing", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_KEY_REFUSED = ("llama_key_refused", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_URL_HAS_V1 = ("llama_url_has_v1", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_IS_SOMETHING_ELSE = ("llama_is_something_else", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_IS_A_ROUTER = ("llama_is_a_router", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_STUCK = ("llama_stuck", Part.LLAMA_SERVER, Severity.WRONG)
    LLAMA_TOO_OLD = ("llama_too_old", Part.LLAMA_SERVER, Severity.WARNING)
    LLAMA_SLOTS_HIDDEN = ("llama_slots_hidden", Part.LLAMA_SERVER, Severity.WARNING)
    LLAMA_SLOTS_SHARED = ("llama_slots_shared", Part.LLAMA_SERVER, Severity.WARNING)
    LLAMA_SLOTS_MAYBE_SHARED = ("llama_slots_maybe_shared", Part.LLAMA_SERVER, Severity.OK)
    LLAMA_METRICS_OFF = ("llama_metrics_off", Part.LLAMA_SERVER, Severity.WARNING)
    LLAMA_RAM_CACHE_ON = ("llama_ram_cache_on", Part.LLAMA_SERVER, Severity.OK)
    LLAMA_RAM_CACHE_OFF = ("llama_ram_cache_off", Part.LLAMA_SERVER, Severity.WARNING)
    LLAMA_NOT_MEASURED = ("llama_not_measured", Part.LLAMA_SERVER, Severity.WARNING)
    CONTEXT_TOO_SMALL = ("context_too_small", Part.LLAMA_SERVER, Severity.WRONG)
    CONTEXT_SMALL = ("context_small", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_OK = ("template_ok", Part.LLAMA_SERVER, Severity.OK)
    TEMPLATE_UNKNOWN = ("template_unknown", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_WITHOUT_TOOLS = ("template_without_tools", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_ONE_CALL_AT_A_TIME = ("template_one_call_at_a_time", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_REWRITES_STEPS = ("template_rewrites_steps", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_REWRITES_TURNS = ("template_rewrites_turns", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_WITHOUT_SYSTEM_ROLE = ("template_without_system_role", Part.LLAMA_SERVER, Severity.WARNING)
    TEMPLATE_CANNOT_STOP_THINKING = ("template_cannot_stop_thinking", Part.LLAMA_SERVER, Severity.OK)

    TOOL_PORT_OK = ("tool_port_ok", Part.TOOL_PORT, Severity.OK)
    TOOL_PORT_NOT_SET = ("tool_port_not_set", Part.TOOL_PORT, Severity.OK)
    TOOL_PORT_AWAY = ("tool_port_away", Part.TOOL_PORT, Severity.WRONG)
    TOOL_PORT_SILENT = ("tool_port_silent", Part.TOOL_PORT, Severity.WRONG)
    TOOL_PORT_REFUSES_US = ("tool_port_refuses_us", Part.TOOL_PORT, Severity.WRONG)
    TOOL_PORT_IS_SOMETHING_ELSE = ("tool_port_is_something_else", Part.TOOL_PORT, Severity.WRONG)
    TOOL_PORT_EMPTY = ("tool_port_empty", Part.TOOL_PORT, Severity.WARNING)
    TOOL_PORT_SLOW = ("tool_port_slow", Part.TOOL_PORT, Severity.WARNING)
    TOOL_SERVERS_DOWN = ("tool_servers_down", Part.TOOL_PORT, Severity.WARNING)
    TOOL_LIST_CHANGES = ("tool_list_changes", Part.TOOL_PORT, Severity.WARNING)
    TOOLS_LEFT_OUT = ("tools_left_out", Part.TOOL_PORT, Severity.WARNING)
    TOOLS_REFUSED = ("tools_refused", Part.TOOL_PORT, Severity.WARNING)
    TOOLS_ARE_SEARCHED = ("tools_are_searched", Part.TOOL_PORT, Severity.OK)
    TOOLS_CROWD_CONTEXT = ("tools_crowd_context", Part.TOOL_PORT, Severity.WARNING)
    TOOLS_DO_NOT_FIT = ("tools_do_not_fit", Part.TOOL_PORT, Severity.WRONG)

    SERVICE_RUNS = ("service_runs", Part.SERVICE, Severity.OK)
    SERVICE_DOES_NOT_RUN = ("service_does_not_run", Part.SERVICE, Severity.OK)
    SERVICE_OTHER_VERSION = ("service_other_version", Part.SERVICE, Severity.WARNING)
    PORT_TAKEN = ("port_taken", Part.SERVICE, Severity.WRONG)
    HOST_OPEN = ("host_open", Part.SERVICE, Severity.OK)
    KEYS_UNUSABLE = ("keys_unusable", Part.SERVICE, Severity.WRONG)
    KEYS_NONE = ("keys_none", Part.SERVICE, Severity.WARNING)
    KEYS_READABLE_BY_OTHERS = ("keys_readable_by_others", Part.SERVICE, Severity.WARNING)
    OPEN_FILES_FEW = ("open_files_few", Part.SERVICE, Severity.WARNING)
    CLOCK_DIFFERS = ("clock_differs", Part.SERVICE, Severity.WARNING)
    CLOCK_BREAKS_SIGNATURES = ("clock_breaks_signatures", Part.SERVICE, Severity.WRONG)
    CLOCK_IN_THE_PAST = ("clock_in_the_past", Part.SERVICE, Severity.WRONG)
    AGENT_UNKNOWN_TOOL = ("agent_unknown_tool", Part.SERVICE, Severity.WRONG)
    AGENT_LIMIT_TOO_HIGH = ("agent_limit_too_high", Part.SERVICE, Severity.WRONG)
    AGENT_CANNOT_STOP_THINKING = ("agent_cannot_stop_thinking", Part.SERVICE, Severity.WRONG)
    MODEL_UNKNOWN = ("model_unknown", Part.SERVICE, Severity.WARNING)
    SLOTS_TOO_MANY = ("slots_too_many", Part.SERVICE, Severity.WARNING)
    LIVENESS_TOO_SHORT = ("liveness_too_short", Part.SERVICE, Severity.WRONG)
    POLLS_TOO_OFTEN = ("polls_too_often", Part.SERVICE, Severity.WARNING)
    WAIT_SHORTER_THAN_POLL = ("wait_shorter_than_poll", Part.SERVICE, Severity.WARNING)
    SECRET_WITHOUT_PORT = ("secret_without_port", Part.SERVICE, Severity.WARNING)
    UNKNOWN_VARIABLE = ("unknown_variable", Part.SERVICE, Severity.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found: `says` is what is so and what it costs, `do` is what to do about it, if anything."""

    code: Code
    says: str
    do: str = ""


_Facts = TypeVar("_Facts")
Rule = Callable[[_Facts], Finding | None]
"""Looks at the facts of one part; None where there is nothing to say."""


def found(facts: _Facts, rules: Iterable[Rule[_Facts]]) -> Iterator[Finding]:
    """Apply each rule of a table, in its order."""
    for rule in rules:
        finding = rule(facts)
        if finding is not None:
            yield finding
