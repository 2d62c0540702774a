"""Count what all templates do and have all conversations under each; compare with what is known: `make zoo`.

Some minutes. Ends with 1 when a count is another than the known one, or `docs/templates.md` is not what was found, so
that a new release of the templates or of the engine, or a change of the probes or of the projection is looked at.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pool

from service.core.json_types import JsonObject
from service.core.template import profile_of, takes_system_role
from service.core.template_probes import (
    ANSWER,
    NEXT_QUESTION,
    QUESTION,
    RESULTS,
    SYSTEM_TEXT,
    TOOL_NAME,
    Probe,
    first_probes,
    further_probes,
)
from tests.zoo.rendering import Renderer, names, source
from tests.zoo.report import PAGE, page
from tests.zoo.survey import survey_all
from tests.zoo.traits import traits

SYSTEM: JsonObject = {"role": "system", "content": SYSTEM_TEXT}
USER: JsonObject = {"role": "user", "content": QUESTION}
NEXT_USER: JsonObject = {"role": "user", "content": NEXT_QUESTION}

KNOWN = {
    "templates": 786,
    "render a question": 778,
    "raise on a system message": 29,
    "drop a system message": 38,
    "raise on two questions": 55,
    "raise on a system message and two questions": 74,
    "raise on a system message that is not first": 114,
    "show the tools": 389,
    "and render a call and its result": 384,
    "and lose the result": 8,
    "and render one call but raise on two": 15,
    "prompts grow always": 222,
    "prompts grow within a turn only": 105,
    "prompts do not grow within a turn": 57,
    "prompts are not rendered": 5,
    "trait tools": 378,
    "trait parallel": 326,
    "trait nine-ids, with tools": 10,
    "trait keeps-steps and keeps-turns, with tools": 202,
    "trait keeps-steps only, with tools": 106,
    "trait neither, with tools": 70,
    "trait off-in-tail": 126,
    "trait off-in-head": 30,
}
"""What the pinned releases give.

An earlier measurement with one system message before every conversation, where a template that refuses one shows no
tools, and with one call a turn had: 387 that show the tools; 29 that raise on a system message and 37 that drop it;
75 that raise on two questions (behind a system message) and 115 on a later system message, one each more than here
for a reason that is not known; 15 of one call; 8 that lose the result; prompts that grow
always 230, within a turn only 103, not even so 48, not rendered 6. The probes have a second call in the same turn:
seven templates change the prompt there, which a turn with one call does not show. That call has a text beside it:
nine templates (gpt-oss and kin) drop such a text from finished turns. And they have no system message
where it is refused or dropped: two templates more show their tools.
"""


def facts_of(name: str) -> list[str]:
    """Name the counts that a template belongs to."""
    return list(_facts(Renderer(source(name))))


def _facts(renderer: Renderer) -> Iterator[str]:
    yield "templates"
    seen = renderer.render_all(first_probes())
    system_role = takes_system_role(seen, renderer.caps)
    seen |= renderer.render_all(further_probes(system_role=system_role))
    if seen[Probe.USER] is not None:
        yield "render a question"
        yield from _roles(seen)
    yield from _later_roles(renderer)
    if TOOL_NAME in (seen[Probe.TOOLS] or ""):
        yield "show the tools"
        yield from _tools(seen)
        yield f"prompts {_growth(seen)}"
    words = traits(profile_of("", renderer.caps, seen)).split()
    yield from (f"trait {word}" for word in words if word in ("tools", "parallel", "off-in-tail", "off-in-head"))
    if "tools" in words:
        kept = [word for word in words if word.startswith("keeps")]
        yield f"trait {('neither', f'{kept[0]} only' if kept else '', ' and '.join(kept))[len(kept)]}, with tools"
        if "nine-ids" in words:
            yield "trait nine-ids, with tools"


def _roles(seen: dict[Probe, str | None]) -> Iterator[str]:
    with_system = seen[Probe.SYSTEM_USER]
    if with_system is None:
        yield "raise on a system message"
    elif SYSTEM_TEXT not in with_system:
        yield "drop a system message"
    if seen[Probe.TWO_USERS] is None:
        yield "raise on two questions"


def _later_roles(renderer: Renderer) -> Iterator[str]:
    if renderer.render({"messages": [SYSTEM, USER, NEXT_USER]}) is None:
        yield "raise on a system message and two questions"
    answered = {"role": "assistant", "content": ANSWER}
    if renderer.render({"messages": [SYSTEM, USER, answered, SYSTEM, NEXT_USER]}) is None:
        yield "raise on a system message that is not first"


def _tools(seen: dict[Probe, str | None]) -> Iterator[str]:
    one_call = seen[Probe.ONE_CALL]
    if one_call is None:
        return
    yield "and render a call and its result"
    if RESULTS[0] not in one_call:
        yield "and lose the result"
    if seen[Probe.TWO_CALLS] is None:
        yield "and render one call but raise on two"


def _growth(seen: dict[Probe, str | None]) -> str:
    prompts = [seen[probe] for probe in (Probe.TOOLS, Probe.ONE_CALL, Probe.SECOND_STEP, Probe.NEXT_TURN)]
    first, second, third, last = (prompt or "" for prompt in prompts)
    if None in prompts:
        return "are not rendered"
    if not second.startswith(first) or not third.startswith(second):
        return "do not grow within a turn"
    return "grow always" if last.startswith(third) else "grow within a turn only"


def main() -> int:
    """Print each count beside the known one, then compare the page."""
    with Pool() as pool:
        found = Counter(fact for facts in pool.imap_unordered(facts_of, names(), chunksize=8) for fact in facts)
    for name in dict.fromkeys([*KNOWN, *sorted(found)]):
        known = KNOWN.get(name)
        remark = "" if known == found[name] else f"   known: {known}"
        sys.stdout.write(f"{found[name]:5} {name}{remark}\n")
    new_page = page(survey_all(names()))
    same_page = PAGE.exists() and PAGE.read_text(encoding="utf-8") == new_page
    if not same_page:
        sys.stdout.write(
            f"docs/{PAGE.name} is not what was found: run python -m tests.zoo.report and read the difference\n"
        )
    return 0 if dict(found) == KNOWN and same_page else 1


if __name__ == "__main__":
    sys.exit(main())
