"""What templates can't do, told in sentences and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.zoo.judgement import Finding, Kind
from tests.zoo.survey import Report

_LOST = {Kind.RAISES, Kind.LOSES, Kind.LOSES_SYSTEM}
_REWRITES = {Kind.REWRITES_STEP, Kind.REWRITES_TURN}


def promises(usable: Sequence[Report]) -> Iterator[str]:
    """Name what is rewritten beyond what the profile says."""
    reopened = [finding for report in usable for finding in report.findings if finding.kind is Kind.REOPENS]
    opening = {report.name for report in usable for finding in report.findings if finding.kind is Kind.REOPENS}
    promised = [report for report in usable if _of(report, _REWRITES)]
    yield from (
        f"{len(opening)} templates open a thought for the model and drop the opening where the model did not think, as",
        f"behind a turn that failed: at most {max(finding.again for finding in reopened)} characters.",
        "",
        f"{len(promised)} rewrite more than is known of them beforehand, in turns in which the model did not think;",
        "each time the session's log says so (`cache_loss`, `template_rewrites_history`):",
        "",
        "| template | rewrites | characters | in how many of the conversations |",
        "|---|---|---|---|",
    )
    for report in promised:
        found = _of(report, _REWRITES)
        what = " and ".join(sorted({finding.kind.removeprefix("rewrites ") for finding in found}))
        again = sorted(finding.again for finding in found)
        yield f"| {report.name} | {what} | {again[0]} to {again[-1]} | {len({f.conversation for f in found})} |"
    yield ""


def tools_fail(shown: Sequence[Report]) -> Iterator[str]:
    """Name the templates that show tools and lose or refuse something all the same."""
    failing = [report for report in shown if lost(report)]
    yield from (
        "## Templates that show tools and can't be used with them",
        "",
        "Nothing in the messages helps here: these have no place for a result, or refuse every one. llama-server,",
        "which learns from the template how a model writes a call, would find none either.",
        "",
        "| template | why |",
        "|---|---|",
    )
    yield from (f"| {report.name} | {_why(report)} |" for report in failing)
    yield ""


def text_fails(reports: Sequence[Report]) -> Iterator[str]:
    """Name the templates without tools that lose or refuse something."""
    failing = [report for report in reports if not report.shows_tools and lost(report)]
    yield from (
        "## Templates that can't be used at all",
        "",
        "They can't be read by the engine, or are made for one task (a guard, a translation, speech) and have no place",
        "for a conversation.",
        "",
        "| template | why |",
        "|---|---|",
    )
    yield from (f"| {report.name} | {_why(report)} |" for report in failing)
    yield ""


def lost(report: Report) -> list[Finding]:
    """Give what was refused or lost."""
    return _of(report, _LOST)


def _of(report: Report, kinds: set[Kind]) -> list[Finding]:
    return [finding for finding in report.findings if finding.kind in kinds]


def _why(report: Report) -> str:
    """Say in a few words what goes wrong first, in most conversations."""
    if not report.compiles:
        return f"the engine can't read it: {_cell(lost(report)[0].detail.split(': ', 1)[-1])}"
    counted = Counter(finding.kind for finding in lost(report))
    kind, times = counted.most_common(1)[0]
    detail = next(finding.detail for finding in lost(report) if finding.kind is kind)
    what = {
        Kind.RAISES: f"refuses: {_cell(detail.split(':', 1)[-1])}",
        Kind.LOSES: f"does not show “{_cell(detail)}”",
        Kind.LOSES_SYSTEM: "does not show the system prompt",
    }[kind]
    return f"{what} ({times} conversations)"


def _cell(text: str) -> str:
    line = " ".join(text.split())
    return (line if len(line) <= 90 else f"{line[:89]}…").replace("|", "\\|").replace("<", "&lt;")
