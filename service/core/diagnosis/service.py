"""What is said of the service itself: its settings, keys, agents, clock, and whether it runs (D1, G1, K3)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from service.core.diagnosis.agent_profiles import agent_findings
from service.core.diagnosis.findings import Code, Finding, found
from service.core.diagnosis.service_facts import ServiceFacts
from service.core.diagnosis.settings_at_odds import setting_findings

BUILT_IN_YEAR = 2026
"""No clock of a machine that runs this can be right and before it."""

TOOL_PORT = "the tool port"
"""The name of its clock."""

CLOCK_SLACK_S = 60.0
SIGNATURE_SLACK_S = 300.0
"""By Standard Webhooks a signature whose time is further away than this is refused."""


def seconds_ahead(date: str, now: datetime) -> float | None:
    """Say how far the clock that wrote a `Date` header is ahead of ours, in seconds; None where it is no date."""
    try:
        told = parsedate_to_datetime(date)
    except ValueError:
        return None
    return (told.replace(tzinfo=told.tzinfo or UTC) - now).total_seconds()


def service_findings(facts: ServiceFacts) -> Iterator[Finding]:
    """Say what is to be said of settings, keys, agents and the machine."""
    yield from found(facts, (_running, _host, _keys_fault, _keys_none, _keys_warning, _open_files, _past, _clock))
    yield from agent_findings(facts)
    yield from setting_findings(facts)


def _running(facts: ServiceFacts) -> Finding | None:
    running = facts.running
    if running is None:
        return None
    if running.is_something_else:
        return Finding(
            code=Code.PORT_TAKEN,
            says=f"What answers at {running.url}, if at all, is no Turnkeeper: the service can't listen there.",
            do="End that program, or set another TURNKEEPER_PORT.",
        )
    if running.version is None:
        return Finding(code=Code.SERVICE_DOES_NOT_RUN, says=f"No service runs at {running.url}.")
    if not running.version:
        return Finding(
            code=Code.SERVICE_RUNS, says=f"A service runs at {running.url}; it does not tell its version here."
        )
    if running.version != facts.version:
        return Finding(
            code=Code.SERVICE_OTHER_VERSION,
            says=f"The service at {running.url} is version {running.version}, and this is {facts.version}.",
            do="Start it anew to run this version, or run doctor of that installation.",
        )
    return Finding(code=Code.SERVICE_RUNS, says=f"Version {running.version} runs at {running.url}.")


def _host(facts: ServiceFacts) -> Finding | None:
    if not facts.host_is_open:
        return None
    return Finding(
        code=Code.HOST_OPEN,
        says="The service listens for other machines, with keys and without TLS.",
        do="Over a network put a proxy with TLS before it: docs/howto/behind-a-proxy.md.",
    )


def _keys_fault(facts: ServiceFacts) -> Finding | None:
    if facts.keys_fault is None:
        return None
    return Finding(
        code=Code.KEYS_UNUSABLE,
        says=f"{facts.keys_fault.rstrip('.')}. The service does not start without its keys.",
        do="`turnkeeper keys add NAME` makes the file, or set TURNKEEPER_API_KEYS_FILE to where it is.",
    )


def _keys_none(facts: ServiceFacts) -> Finding | None:
    if facts.keys_none is None:
        return None
    return Finding(
        code=Code.KEYS_NONE,
        says=f"{facts.keys_none} has no key, so nobody is let in.",
        do="`turnkeeper keys add NAME` makes one.",
    )


def _keys_warning(facts: ServiceFacts) -> Finding | None:
    if facts.keys_warning is None:
        return None
    return Finding(
        code=Code.KEYS_READABLE_BY_OTHERS,
        says=f"{facts.keys_warning.partition(';')[0]}.",
        do="chmod 600 ends that, where the service's user owns the file.",
    )


def _open_files(facts: ServiceFacts) -> Finding | None:
    if facts.connections is None or facts.connections >= facts.max_connections:
        return None
    return Finding(
        code=Code.OPEN_FILES_FEW,
        says=(
            f"A service that is started from here has {facts.connections} connections at most, and not "
            f"{facts.max_connections} (max_connections): the system lets it open no more files."
        ),
        do="Raise it (ulimit -n, or LimitNOFILE= of the unit), or lower TURNKEEPER_MAX_CONNECTIONS.",
    )


def _past(facts: ServiceFacts) -> Finding | None:
    if facts.now.year >= BUILT_IN_YEAR:
        return None
    return Finding(
        code=Code.CLOCK_IN_THE_PAST,
        says=f"This machine's clock says {facts.now:%Y-%m-%d}: ids, logs and signatures get wrong times.",
        do="Set the clock, and have it kept right (NTP).",
    )


def _clock(facts: ServiceFacts) -> Finding | None:
    do = "Have both clocks kept right (NTP)."
    port = dict(facts.clocks).get(TOOL_PORT, 0.0)
    if facts.signs and abs(port) > SIGNATURE_SLACK_S:
        return Finding(
            code=Code.CLOCK_BREAKS_SIGNATURES,
            says=f"{_apart(TOOL_PORT, port)}: it refuses our signatures, which are good for {SIGNATURE_SLACK_S:.0f} s.",
            do=do,
        )
    name, ahead = max(facts.clocks, key=lambda clock: abs(clock[1]), default=("", 0.0))
    if abs(ahead) <= CLOCK_SLACK_S:
        return None
    return Finding(
        code=Code.CLOCK_DIFFERS,
        says=f"{_apart(name, ahead)}: times in logs don't fit. From {SIGNATURE_SLACK_S:.0f} s on signatures fail.",
        do=do,
    )


def _apart(name: str, ahead: float) -> str:
    way = "ahead of" if ahead > 0 else "behind"
    return f"The clock of {name} is {abs(ahead):.0f} s {way} this machine's"
