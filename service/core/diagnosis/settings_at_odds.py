"""What is said of settings that don't fit one another, or the server (D1)."""

from __future__ import annotations

from collections.abc import Iterator

from service.core.diagnosis.findings import Code, Finding, found
from service.core.diagnosis.service_facts import ServiceFacts
from service.core.visible import visible

PING_ASKED_MS = 10_000
"""How often llama-server is asked to give a sign of life (L1)."""

LEAST_POLL_MS = 1_000
"""llama-server looks for clients that left only after a second in which nobody got a result."""


def setting_findings(facts: ServiceFacts) -> Iterator[Finding]:
    """Say which settings are at odds."""
    return found(facts, (_model, _slots, _liveness, _poll, _waits, _secrets, _unknown))


def _model(facts: ServiceFacts) -> Finding | None:
    named = [("the setting model", facts.model)]
    named += [(f"agent {name}", profile.model) for name, profile in facts.agents.profiles.items()]
    wrong = [(who, model) for who, model in named if model is not None and model not in facts.models]
    if not wrong or not facts.models:
        return None
    said = "; ".join(f"{who} names {model!r}" for who, model in wrong)
    return Finding(
        code=Code.MODEL_UNKNOWN,
        says=f"llama-server has the model {_named(facts.models)}, and {said}: it answers with the one that it has.",
        do="Name the model that it has (its --alias), or none.",
    )


def _named(models: tuple[str, ...]) -> str:
    shown = ", ".join(visible(name, 100) for name in models[:3])
    return f"{shown}, …" if len(models) > 3 else shown


def _slots(facts: ServiceFacts) -> Finding | None:
    if facts.slots is None or facts.server_slots is None or facts.slots <= facts.server_slots:
        return None
    return Finding(
        code=Code.SLOTS_TOO_MANY,
        says=(
            f"slots is {facts.slots} and llama-server has {facts.server_slots}: what is too much waits inside of it, "
            "unseen, in no fair order."
        ),
        do="Leave TURNKEEPER_SLOTS out, or start llama-server with more (--parallel).",
    )


def _liveness(facts: ServiceFacts) -> Finding | None:
    if facts.liveness_ms > PING_ASKED_MS:
        return None
    return Finding(
        code=Code.LIVENESS_TOO_SHORT,
        says=(
            f"liveness_ms is {facts.liveness_ms}, and llama-server gives a sign of life each {PING_ASKED_MS} ms: each "
            "long prompt counts as stalled."
        ),
        do=f"Set TURNKEEPER_LIVENESS_MS to {3 * PING_ASKED_MS} or more.",
    )


def _poll(facts: ServiceFacts) -> Finding | None:
    if facts.poll_ms >= LEAST_POLL_MS:
        return None
    return Finding(
        code=Code.POLLS_TOO_OFTEN,
        says=(
            f"poll_ms is {facts.poll_ms}: asked so often, llama-server notices no client that has left, and goes "
            "on computing for it."
        ),
        do="Set TURNKEEPER_POLL_MS to 2000.",
    )


def _waits(facts: ServiceFacts) -> Finding | None:
    short = [f"{name} ({value})" for name, value in facts.waits_ms if value < facts.poll_ms]
    if not short:
        return None
    return Finding(
        code=Code.WAIT_SHORTER_THAN_POLL,
        says=f"Shorter than poll_ms ({facts.poll_ms}), so that one look decides: {', '.join(short)}.",
        do="Make these times some polls long, or lower TURNKEEPER_POLL_MS.",
    )


def _secrets(facts: ServiceFacts) -> Finding | None:
    if facts.has_port or not facts.port_secrets:
        return None
    return Finding(
        code=Code.SECRET_WITHOUT_PORT,
        says=f"{' and '.join(facts.port_secrets)} is set, but no tool port: sessions have no tools.",
        do="Set TURNKEEPER_TOOL_PORT_URL.",
    )


def _unknown(facts: ServiceFacts) -> Finding | None:
    if not facts.unknown_variables:
        return None
    return Finding(
        code=Code.UNKNOWN_VARIABLE,
        says=f"No setting, and ignored: {', '.join(facts.unknown_variables)}.",
        do="`turnkeeper config` prints all names; mend or remove these.",
    )
