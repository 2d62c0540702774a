"""Write the pages that are made from the code: `python -m docs.generate`, with `--check` to see that they are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from docs.errors_page import errors_page
from docs.event_rows import events_page
from docs.limit_rows import COMPACTING, CUTTING, ENDING, REFUSING, WAITING, LimitRow
from docs.metric_rows import metrics_page
from docs.setting_rows import settings_page
from docs.turn_picture import turn_picture
from service.config.example_file import example_file
from service.config.setting_words import settings_schema
from service.core.turn_state import Phase
from service.core.turn_table import TRANSITIONS, Input

ROOT = Path(__file__).parent.parent


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


LIMITS = """\
# Limits

Made from `docs/limit_rows.py` and the settings by `make docs`; don't edit it here.

Whatever a model does, a turn ends. The limits below see to that. They are counted from the log, so that a restart
forgets nothing, and the session can be used on after each of them.

A setting holds for the whole service ([README](../README.md) tells how to set one). A session, an agent profile and
a single turn may lower a limit under the name of its setting (`"limits": {{"tool_iterations": 3}}`).
`repeat_detection` may be switched on, not off.

## What ends a turn

The last event of each turn is `turn_finished`. Its `outcome` tells how the turn ended, and its `limit` which limit
ended it; the turn resource has the same two fields. Calls that are `not_run` have a result for the model that names
the limit and the setting.

{ending}

With `on_tool_limit: conclude` in the request of a turn, `repeated_call` and `denied_repeatedly` too are followed by
one more step without calls, and the turn ends `answered` with its `limit`.

A call counts as the same when the tool and the arguments are the same: neither white space nor the order of keys
matters, numbers count as they are written (`1` is not `1.0`), and a call through `call_tool` is a call of the tool
inside. A call whose last result was `failed`, `interrupted` or `cancelled` may run once more. Tools that are
`repeatable` in the tool port's list, such as a clock, may be called again and again.

The time of a turn counts from its message, over waiting, retries and restarts, without the time in which people are
waited for.

A server that doesn't answer is bounded by settings of its own (`busy_wait_ms`, `load_wait_ms`, `idle_grace_ms`,
`liveness_ms`, `progress_ms`, `retry_attempts`); such a turn ends as `failed`, with the reason in its `error`.

## What is cut, and the turn goes on

{cutting}

The cap of a result is `tool_result_cap`, or a quarter of the context at three bytes a token where that is less; it is
never less than 128 bytes. The whole text stays in the log: read it with `GET /sessions/{{id}}/records/{{seq}}/full`.
The model reads on with the tool `read_result`, which the text in the gap names with its arguments. A cut never falls
within a character, an emoji of several code points included.

## What is summarised, and the turn goes on

{compacting}

The last whole turns stay word by word, and of a running turn its message and its last whole batches: as many as fit in
half of the context. The summary keeps the beginning of the session's first message as it was. It is written by a
request of its own, never while a call is open; `POST /sessions/{{id}}/compact` asks for one by hand. A session with
`"compaction": "off"` is never summarised and ends `session_full` where it is full.

## What is waited for

{waiting}

[howto/approve-tools.md](howto/approve-tools.md) and [howto/hand-over.md](howto/hand-over.md) tell more.

## What is refused

{refusing}

The last six are there so that no caller keeps the service from the others. Without API keys there is one caller, the
owner of this machine. 0 switches each of them off. What a start goes on with is never refused.
"""


def limits() -> str:
    """Tabulate the limits with their defaults, what a client sees of each, and the test that shows it."""
    return LIMITS.format(
        ending=_table(ENDING),
        cutting=_table(CUTTING),
        compacting=_table(COMPACTING),
        waiting=_table(WAITING),
        refusing=_table(REFUSING),
    )


def _table(rows: Iterable[LimitRow]) -> str:
    head = ["| limit | default | setting | what the client sees | test |", "|---|---|---|---|---|"]
    return "\n".join([*head, *map(_limit_row, rows)])


def _limit_row(row: LimitRow) -> str:
    setting = "none of ours" if row.setting is None else f"`{row.setting}`"
    path, name = row.test.split("::")
    return f"| {row.limit} | {row.default_words} | {setting} | {row.seen} | [`{name}`](../tests/{path}) |"


def schema_of_settings() -> str:
    """Write the JSON schema of the file of settings."""
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "docs/turn-states.md": turn_states,
    "docs/limits.md": limits,
    "docs/events.md": events_page,
    "docs/errors.md": errors_page,
    "docs/metrics.md": metrics_page,
    "docs/settings.md": settings_page,
    "docs/turnkeeper.schema.json": schema_of_settings,
    "docs/images/turn.svg": turn_picture,
    "turnkeeper.example.toml": example_file,
}
"""Each file with what writes it."""


def main() -> None:
    """Write the files, or compare them."""
    for name, written in PAGES.items():
        page = ROOT / name
        if sys.argv[1:] != ["--check"]:
            page.write_text(written(), encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != written():
            sys.exit(f"{name} is not what the code says: run make docs and commit it")


if __name__ == "__main__":
    main()
