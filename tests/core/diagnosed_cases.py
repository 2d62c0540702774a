"""For each finding of `turnkeeper doctor` facts that show it, and facts that differ in one thing and don't."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import TemplateProfile, Thinking, ToolMode
from service.core.diagnosis.findings import Code, Finding
from service.core.diagnosis.model_server import llama_findings
from service.core.diagnosis.model_server_facts import LlamaFacts, RamCache, Reach, Sharing
from service.core.diagnosis.service import service_findings
from service.core.diagnosis.service_facts import Running, ServiceFacts
from service.core.diagnosis.store import GIB, StoreFacts, StoreState, store_findings
from service.core.diagnosis.template import TemplateFacts, template_findings
from service.core.diagnosis.tool_port import (
    ListChange,
    PortFacts,
    PortReach,
    ToolsSize,
    port_findings,
)
from service.core.tool_port import DownServer, LeftOutTool

Found = Sequence[Finding]
Case = tuple[Callable[[], Found], Callable[[], Found]]
"""What shows a finding, and what does not, though it is like it."""

URL = "http://127.0.0.1:8080"
PROFILE = TemplateProfile(hash="0", tools=True, parallel=True, thinking_off="tail")
SIZE = ToolsSize(
    mode=ToolMode.DIRECT,
    prompt_tokens=1000,
    port_tokens=900,
    context_tokens=8192,
    min_room=256,
    discover_above_tokens=4096,
)
DOWN = (DownServer(name="issues", said="can't be reached"),)
LEFT_OUT = (LeftOutTool(name="odd", reason="it has no description"),)


def store(**facts: object) -> Found:
    given = {"state": StoreState.READABLE, "path": "/data/turnkeeper.db", "said": "/data/turnkeeper.db is odd", **facts}
    return list(store_findings(StoreFacts(**given)))  # pyright: ignore[reportArgumentType]


def llama(**facts: object) -> Found:
    given = {"url": URL, "slots": 2, "context_tokens": 8192, "said": "HTTP 401", **facts}
    return list(llama_findings(LlamaFacts(**given)))  # pyright: ignore[reportArgumentType]


def template(*, has_tools: bool = True, unknown: bool = False, **traits: object) -> Found:
    profile = None if unknown else replace(PROFILE, **traits)  # pyright: ignore[reportArgumentType]
    return list(template_findings(TemplateFacts(profile=profile, has_tools=has_tools, said="no answer")))


def port(reach: PortReach = PortReach.ANSWERS, **facts: object) -> Found:
    given = {"url": URL, "tools": 3, "took_s": 0.01, "said": "the tool port can't be reached", **facts}
    return list(port_findings(PortFacts(reach=reach, **given)))  # pyright: ignore[reportArgumentType]


def sized(**size: object) -> Found:
    return port(size=replace(SIZE, **size))  # pyright: ignore[reportArgumentType]


def service(**facts: object) -> Found:
    given = {"version": "1.2.3", "now": datetime(2026, 12, 1, tzinfo=UTC), **facts}
    return list(service_findings(ServiceFacts(**given)))  # pyright: ignore[reportArgumentType]


def agent(**profile: object) -> AgentProfiles:
    return AgentProfiles(profiles={"ada": AgentProfile(name="ada", **profile)})  # pyright: ignore[reportArgumentType]


OF_THE_STORE: dict[Code, Case] = {
    Code.STORE_OK: (store, lambda: store(state=StoreState.ABSENT)),
    Code.STORE_ABSENT: (lambda: store(state=StoreState.ABSENT), store),
    Code.STORE_OLDER: (lambda: store(state=StoreState.OLDER), store),
    Code.STORE_NEWER: (lambda: store(state=StoreState.NEWER), lambda: store(state=StoreState.OLDER)),
    Code.STORE_DAMAGED: (lambda: store(state=StoreState.DAMAGED), store),
    Code.STORE_UNREADABLE: (lambda: store(state=StoreState.UNREADABLE), store),
    Code.STORE_KEEPS_NOTHING: (lambda: store(state=StoreState.MEMORY), store),
    Code.STORE_IN_USE: (lambda: store(in_use=True), lambda: store(in_use=None)),
    Code.STORE_NOT_WRITABLE: (lambda: store(read_only="the folder /data"), store),
    Code.STORE_NEVER_PRUNED: (
        lambda: store(store_bytes=5 * GIB),
        lambda: store(store_bytes=5 * GIB, retention_days=90),
    ),
    Code.DISK_NEARLY_FULL: (
        lambda: store(free_bytes=GIB - 1, disk_bytes=10 * GIB),
        lambda: store(free_bytes=GIB, disk_bytes=10 * GIB),
    ),
}

OF_THE_SERVER: dict[Code, Case] = {
    Code.LLAMA_OK: (llama, lambda: llama(reach=Reach.LOADING)),
    Code.LLAMA_AWAY: (lambda: llama(reach=Reach.AWAY), llama),
    Code.LLAMA_SILENT: (lambda: llama(reach=Reach.SILENT), llama),
    Code.LLAMA_LOADING: (lambda: llama(reach=Reach.LOADING), llama),
    Code.LLAMA_KEY_MISSING: (
        lambda: llama(reach=Reach.REFUSED),
        lambda: llama(reach=Reach.REFUSED, sends_key=True),
    ),
    Code.LLAMA_KEY_REFUSED: (
        lambda: llama(reach=Reach.REFUSED, sends_key=True),
        lambda: llama(reach=Reach.REFUSED),
    ),
    Code.LLAMA_URL_HAS_V1: (
        lambda: llama(reach=Reach.SOMETHING_ELSE, url=f"{URL}/v1"),
        lambda: llama(url=f"{URL}/v1"),
    ),
    Code.LLAMA_IS_SOMETHING_ELSE: (
        lambda: llama(reach=Reach.SOMETHING_ELSE),
        lambda: llama(reach=Reach.SOMETHING_ELSE, url=f"{URL}/v1"),
    ),
    Code.LLAMA_IS_A_ROUTER: (lambda: llama(reach=Reach.ROUTER, models=("a", "b")), lambda: llama(models=("a", "b"))),
    Code.LLAMA_STUCK: (lambda: llama(slots_status=None), lambda: llama(slots_status=None, is_asleep=True)),
    Code.LLAMA_SLOTS_HIDDEN: (lambda: llama(slots_status=501), llama),
    Code.LLAMA_TOO_OLD: (lambda: llama(build="b9477-0123abc"), lambda: llama(build="b9478-0123abc")),
    Code.LLAMA_SLOTS_SHARED: (lambda: llama(sharing=Sharing.SHARED), lambda: llama(sharing=Sharing.SHARED, slots=1)),
    Code.LLAMA_SLOTS_MAYBE_SHARED: (lambda: llama(slots=4), lambda: llama(slots=4, sharing=Sharing.OWN)),
    Code.LLAMA_METRICS_OFF: (lambda: llama(metrics_status=501), lambda: llama(metrics_status=None)),
    Code.LLAMA_RAM_CACHE_ON: (lambda: llama(ram_cache=RamCache.ON), llama),
    Code.LLAMA_RAM_CACHE_OFF: (lambda: llama(ram_cache=RamCache.OFF), llama),
    Code.LLAMA_NOT_MEASURED: (lambda: llama(ram_cache=RamCache.UNKNOWN), llama),
    Code.CONTEXT_TOO_SMALL: (lambda: llama(context_tokens=511), lambda: llama(context_tokens=512)),
    Code.CONTEXT_SMALL: (lambda: llama(context_tokens=4095), lambda: llama(context_tokens=4096)),
    Code.TEMPLATE_OK: (template, lambda: template(parallel=False)),
    Code.TEMPLATE_UNKNOWN: (lambda: template(unknown=True), template),
    Code.TEMPLATE_WITHOUT_TOOLS: (lambda: template(tools=False), lambda: template(tools=False, has_tools=False)),
    Code.TEMPLATE_ONE_CALL_AT_A_TIME: (
        lambda: template(parallel=False),
        lambda: template(parallel=False, has_tools=False),
    ),
    Code.TEMPLATE_REWRITES_STEPS: (
        lambda: template(keeps_steps=False),
        lambda: template(keeps_steps=False, has_tools=False),
    ),
    Code.TEMPLATE_REWRITES_TURNS: (lambda: template(keeps_turns=False), template),
    Code.TEMPLATE_WITHOUT_SYSTEM_ROLE: (lambda: template(system_role=False), template),
    Code.TEMPLATE_CANNOT_STOP_THINKING: (lambda: template(thinking_off="none"), template),
}

OF_THE_PORT: dict[Code, Case] = {
    Code.TOOL_PORT_OK: (port, lambda: port(tools=0)),
    Code.TOOL_PORT_NOT_SET: (lambda: port(PortReach.NOT_SET), port),
    Code.TOOL_PORT_AWAY: (lambda: port(PortReach.AWAY), port),
    Code.TOOL_PORT_SILENT: (lambda: port(PortReach.SILENT), port),
    Code.TOOL_PORT_REFUSES_US: (lambda: port(PortReach.REFUSED), port),
    Code.TOOL_PORT_IS_SOMETHING_ELSE: (lambda: port(PortReach.SOMETHING_ELSE), port),
    Code.TOOL_PORT_EMPTY: (lambda: port(tools=0), port),
    Code.TOOL_PORT_SLOW: (lambda: port(took_s=1.01), lambda: port(took_s=1.0)),
    Code.TOOL_LIST_CHANGES: (lambda: port(change=ListChange.ORDER), port),
    Code.TOOL_SERVERS_DOWN: (lambda: port(down=DOWN), port),
    Code.TOOLS_LEFT_OUT: (lambda: port(left_out=LEFT_OUT), lambda: port(refused=LEFT_OUT)),
    Code.TOOLS_REFUSED: (lambda: port(refused=LEFT_OUT), lambda: port(left_out=LEFT_OUT)),
    Code.TOOLS_ARE_SEARCHED: (lambda: sized(mode=ToolMode.DISCOVER), sized),
    Code.TOOLS_CROWD_CONTEXT: (lambda: sized(context_tokens=2999), lambda: sized(context_tokens=3000)),
    Code.TOOLS_DO_NOT_FIT: (lambda: sized(context_tokens=1256), lambda: sized(context_tokens=1257)),
}

OF_THE_SERVICE: dict[Code, Case] = {
    Code.SERVICE_RUNS: (
        lambda: service(running=Running(url=URL, version="1.2.3")),
        lambda: service(running=Running(url=URL, version="1.2.2")),
    ),
    Code.SERVICE_DOES_NOT_RUN: (
        lambda: service(running=Running(url=URL)),
        lambda: service(running=Running(url=URL, version="")),
    ),
    Code.SERVICE_OTHER_VERSION: (
        lambda: service(running=Running(url=URL, version="1.2.2")),
        lambda: service(running=Running(url=URL, version="")),
    ),
    Code.PORT_TAKEN: (lambda: service(running=Running(url=URL, is_something_else=True)), service),
    Code.HOST_OPEN: (lambda: service(host_is_open=True), service),
    Code.KEYS_UNUSABLE: (lambda: service(keys_fault="keys.json is not there"), service),
    Code.KEYS_NONE: (lambda: service(keys_none="keys.json"), service),
    Code.KEYS_READABLE_BY_OTHERS: (lambda: service(keys_warning="others can read it; chmod 600 ends that"), service),
    Code.OPEN_FILES_FEW: (lambda: service(connections=1999), lambda: service(connections=2000)),
    Code.CLOCK_DIFFERS: (
        lambda: service(clocks=(("llama-server", -61.0),)),
        lambda: service(clocks=(("llama-server", -60.0),)),
    ),
    Code.CLOCK_BREAKS_SIGNATURES: (
        lambda: service(clocks=(("the tool port", 301.0),), signs=True),
        lambda: service(clocks=(("the tool port", 301.0),)),
    ),
    Code.CLOCK_IN_THE_PAST: (lambda: service(now=datetime(1970, 1, 1, tzinfo=UTC)), service),
    Code.AGENT_UNKNOWN_TOOL: (
        lambda: service(agents=agent(tool_names=("weather", "tide")), tool_names=("weather",)),
        lambda: service(agents=agent(tool_names=("weather", "handoff_to")), tool_names=("weather",)),
    ),
    Code.AGENT_LIMIT_TOO_HIGH: (
        lambda: service(agents=agent(limits={"tool_iterations": 9})),
        lambda: service(agents=agent(limits={"tool_iterations": 8})),
    ),
    Code.AGENT_CANNOT_STOP_THINKING: (
        lambda: service(agents=agent(thinking=Thinking.OFF), template=replace(PROFILE, thinking_off="none")),
        lambda: service(agents=agent(thinking=Thinking.OFF), template=PROFILE),
    ),
    Code.MODEL_UNKNOWN: (
        lambda: service(agents=agent(model="big"), models=("small",)),
        lambda: service(agents=agent(model="small"), models=("small",)),
    ),
    Code.SLOTS_TOO_MANY: (lambda: service(slots=3, server_slots=2), lambda: service(slots=2, server_slots=2)),
    Code.LIVENESS_TOO_SHORT: (lambda: service(liveness_ms=10_000), lambda: service(liveness_ms=10_001)),
    Code.POLLS_TOO_OFTEN: (lambda: service(poll_ms=999), lambda: service(poll_ms=1000)),
    Code.WAIT_SHORTER_THAN_POLL: (
        lambda: service(waits_ms=(("idle_grace_ms", 1999),)),
        lambda: service(waits_ms=(("idle_grace_ms", 2000),)),
    ),
    Code.SECRET_WITHOUT_PORT: (
        lambda: service(port_secrets=("tool_port_token",)),
        lambda: service(port_secrets=("tool_port_token",), has_port=True),
    ),
    Code.UNKNOWN_VARIABLE: (lambda: service(unknown_variables=("TURNKEEPER_SLOT",)), service),
}

CASES: dict[Code, Case] = {**OF_THE_STORE, **OF_THE_SERVER, **OF_THE_PORT, **OF_THE_SERVICE}
