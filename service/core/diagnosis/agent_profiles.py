"""What of the agent profiles makes each session with them be refused (G1)."""

from __future__ import annotations

from collections.abc import Iterator

from service.core.baseline import Thinking
from service.core.diagnosis.findings import Code, Finding
from service.core.diagnosis.service_facts import ServiceFacts
from service.core.limits import LimitTooHigh, lowered
from service.core.local_tools import HANDOFF_TO


def agent_findings(facts: ServiceFacts) -> Iterator[Finding]:
    """Say what of the profiles makes each session with them be refused."""
    for name, profile in facts.agents.profiles.items():
        unknown = _unknown_tools(profile.tool_names, facts.tool_names)
        if unknown:
            yield Finding(
                code=Code.AGENT_UNKNOWN_TOOL,
                says=f"Agent {name} names tools that the port lacks: {', '.join(unknown)}. Its sessions are refused.",
                do="Mend the names in the agents' file, or have the port offer them.",
            )
        try:
            lowered(facts.limits, profile.limits)
        except LimitTooHigh as fault:
            what, _, _ = str(fault).partition(" (")
            yield Finding(
                code=Code.AGENT_LIMIT_TOO_HIGH,
                says=f"Agent {name} has a limit above the settings', so its sessions are refused: {what}.",
                do="Lower it in the agents' file, or raise the setting.",
            )
        if profile.thinking is Thinking.OFF and facts.template is not None and facts.template.thinking_off == "none":
            yield Finding(
                code=Code.AGENT_CANNOT_STOP_THINKING,
                says=f"Agent {name} has thinking off, which the model's template can't: its sessions are refused.",
                do="Leave `thinking` out of its profile.",
            )


def _unknown_tools(wanted: tuple[str, ...] | None, offered: tuple[str, ...] | None) -> tuple[str, ...]:
    if wanted is None or offered is None:
        return ()
    return tuple(name for name in wanted if name not in offered and name != HANDOFF_TO)
