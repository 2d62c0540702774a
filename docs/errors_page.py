"""The page of errors, from the rows and an answer of the service."""

from __future__ import annotations

import json
from collections.abc import Iterable

from docs.error_rows import KINDS, OUTCOMES
from docs.problem_rows import PROBLEMS
from service.core.errors import ProblemCode, RequestRefused
from service.web.problems import problem_response

_PAGE = """\
# Errors

Made from `docs/problem_rows.py`, `docs/error_rows.py` and the code by `make docs`; don't edit it here.

What can be refused before work starts is refused with an HTTP status and a problem document. What goes wrong later is
an event of the stream, since its status was sent long before: a turn ends with `turn_finished`, whatever happened.

## A request that is refused

The answer is `application/problem+json` (RFC 9457). Tell problems apart by `code`; `detail` is for people and
may change.

```json
{example}
```

No work was done, unless the last column says `Idempotency-Key`: send one with each POST that you may have to repeat,
and no work is done twice. Refusals aren't kept under a key, so the same key runs the request later.

{problems}

The last three are answered before the service proper sees the request, so they have no `instance`.

## A turn that ended with an error

`turn_finished` has `outcome` and, when that is `failed` or `session_full`, `error`: `{{"kind", "message", "status"?}}`.
The turn resource has the same. Until then the stream tells what is waited for (`waiting`) and what is tried again
(`retrying`, and the record `attempt`). All before it is in the log, and the session can be used on: send the message
again, or [fork](glossary.md#fork) the session before the turn.

{kinds}

Readings end with the same kinds, in the `error` of `run_end`.

## How a turn can end

{outcomes}

A tool call that fails fails no turn: its `tool_result` has a `status` and words for the model
([write a tool port](howto/write-a-tool-port.md)).
"""


def errors_page() -> str:
    """Tabulate all codes of problem documents and all kinds of errors."""
    return _PAGE.format(
        example=_example(), problems="\n".join(_problems()), kinds="\n".join(_kinds()), outcomes="\n".join(_outcomes())
    )


def _example() -> str:
    refused = RequestRefused(
        ProblemCode.TURN_IN_PROGRESS,
        "This session is busy with another turn. …",
        extensions={"turn": "trn_…"},
        retry_after_s=1,
    )
    answer = problem_response(refused, {"type": "http", "path": "/sessions/ses_…/turns"})
    document = json.loads(bytes(answer.body))
    return json.dumps({**document, "instance": "/sessions/ses_…/turns"}, indent=2, ensure_ascii=False)


def _problems() -> Iterable[str]:
    yield "| code | status | why | what to do | the same request again |"
    yield "|---|---|---|---|---|"
    for row in PROBLEMS:
        yield f"| `{row.name}` | {row.status} | {row.cause} | {row.do} | {row.again} |"


def _outcomes() -> Iterable[str]:
    yield "| outcome | what it means |"
    yield "|---|---|"
    for outcome, meaning in OUTCOMES.items():
        yield f"| `{outcome}` | {meaning} |"


def _kinds() -> Iterable[str]:
    yield "| kind | why | tried again by itself | what to do | settings |"
    yield "|---|---|---|---|---|"
    for row in KINDS:
        settings = ", ".join(f"`{name}`" for name in row.settings)
        yield f"| `{row.kind}` | {row.cause} | {row.tried} | {row.do} | {settings} |"
