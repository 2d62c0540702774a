"""What `turnkeeper doctor` found, as people read it, and as programs do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from service.core.diagnosis.findings import Finding, Part, Severity
from service.core.visible import visible

_HEADINGS = {
    Part.STORE: "store",
    Part.LLAMA_SERVER: "llama-server",
    Part.TOOL_PORT: "tool port",
    Part.SERVICE: "service and settings",
}
_SHOWN = 2000
_WIDTH = max(len(severity) for severity in Severity) + 4


def is_well(findings: Sequence[Finding]) -> bool:
    """Say whether nothing is wrong; warnings may be there."""
    return all(finding.code.severity is not Severity.WRONG for finding in findings)


def lines_of_findings(findings: Sequence[Finding]) -> Iterator[str]:
    """Give the findings by part: a line each, what to do below it, and a line that counts them at the end."""
    for part in Part:
        of_part = [finding for finding in findings if finding.code.part is part]
        if of_part:
            yield _HEADINGS[part]
        for finding in of_part:
            severity, word = finding.code.severity, finding.code.word
            named = "" if severity is Severity.OK else f" [{word}]"
            # Names of models, tools and the like are others' words, and a terminal obeys some characters.
            yield f"  {severity:<{_WIDTH - 2}}{visible(finding.says, _SHOWN)}{named}"
            if finding.do:
                yield f"{'':<{_WIDTH}}-> {visible(finding.do, _SHOWN)}"
    yield _counted(findings)


def _counted(findings: Sequence[Finding]) -> str:
    wrong = sum(finding.code.severity is Severity.WRONG for finding in findings)
    warnings = sum(finding.code.severity is Severity.WARNING for finding in findings)
    if not wrong and not warnings:
        return "all is well"
    return f"{wrong or 'nothing'} wrong, {_warnings(warnings)}"


def _warnings(number: int) -> str:
    return "1 warning" if number == 1 else f"{number or 'no'} warnings"


def json_of_findings(findings: Sequence[Finding]) -> str:
    """Give all of them as one JSON object; `do` is empty where nothing has to be done."""
    items = [
        {
            "code": finding.code.word,
            "part": finding.code.part,
            "severity": finding.code.severity,
            "says": finding.says,
            "do": finding.do,
        }
        for finding in findings
    ]
    return json.dumps({"ok": is_well(findings), "findings": items}, indent=2, ensure_ascii=False)
