"""Write the pages that are made from the code: `python -m docs.generate`, with `--check` to see that they are."""

from __future__ import annotations

import sys
from pathlib import Path

from service.core.turn_fold import TRANSITIONS, Input
from service.core.turn_state import Phase

PAGE = Path(__file__).parent / "turn-states.md"


def turn_states() -> str:
    """Draw the table of states and inputs, as a diagram and cell by cell."""
    arrows = [f"    {phase} --> {after}: {given}" for (phase, given), after in TRANSITIONS.items()]
    rows = [_row(given) for given in Input]
    return "\n".join(
        [
            "# The states of a turn",
            "",
            "Made from the table in `service/core/turn_fold.py` by `make docs`; don't edit it here. A turn has no",
            "state beside its records: each record is an input, and the state is the fold of all of them. What",
            "isn't in the table is refused as a defect.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            "    [*] --> idle",
            *arrows,
            "```",
            "",
            "| input | " + " | ".join(Phase) + " |",
            "|---|" + "---|" * len(Phase),
            *rows,
            "",
        ]
    )


def _row(given: Input) -> str:
    cells = (TRANSITIONS.get((phase, given)) for phase in Phase)
    return f"| `{given}` | " + " | ".join("" if after is None else str(after) for after in cells) + " |"


def main() -> None:
    """Write the page, or compare it."""
    page = turn_states()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
            sys.exit(f"docs/{PAGE.name} is not what the code says: run make docs and commit it")
    else:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
