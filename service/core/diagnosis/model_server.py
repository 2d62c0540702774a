"""What is said of llama-server itself: whether it answers, and how it was started (section 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.core.diagnosis.findings import Code, Finding, found
from service.core.diagnosis.model_server_facts import LlamaFacts, RamCache, Reach, Sharing
from service.core.visible import visible

FIRST_BUILD_WITH_PINGS = 9478
"""Before it a long evaluation of a prompt is silent, and silence is what a dead server looks like (L4)."""

AUTOMATIC_SLOTS = 4
"""What llama-server takes when --parallel isn't given; then all slots share one cache."""

SMALL_CONTEXT_TOKENS = 4096
LEAST_TALK_TOKENS = 256
"""A question and the little that a system prompt has, beside the room that an answer needs."""

_NOT_THERE = (404, 405, 501)
_BUILD = re.compile(r"b(\d+)(?:-|$)")
_SHOWN = 200


def llama_findings(facts: LlamaFacts) -> Iterator[Finding]:
    """Say what a look at llama-server showed; of one that can't be worked with only why."""
    if facts.reach is not Reach.ANSWERS:
        yield _unreached(facts)
        return
    yield Finding(code=Code.LLAMA_OK, says=_introduced(facts))
    yield from found(facts, (_stuck, _slots_hidden, _too_old, _slots_shared, _metrics_off, _ram_cache, _context))


def _unreached(facts: LlamaFacts) -> Finding:
    if facts.reach is Reach.SOMETHING_ELSE and facts.url.rstrip("/").endswith("/v1"):
        return Finding(
            code=Code.LLAMA_URL_HAS_V1,
            says=f"The address {facts.url} ends with /v1, and /props, /slots and /health are not below that.",
            do=f"Set TURNKEEPER_LLAMA_URL to {facts.url.rstrip('/').removesuffix('/v1')}.",
        )
    if facts.reach is Reach.REFUSED and not facts.sends_key:
        return Finding(
            code=Code.LLAMA_KEY_MISSING,
            says=f"llama-server at {facts.url} wants a key, and none is set.",
            do="Set TURNKEEPER_LLAMA_API_KEY to the key that it was started with (--api-key).",
        )
    code, says, do = _UNREACHED[facts.reach]
    return Finding(code=code, says=says.format(url=facts.url, said=facts.said, models=_named(facts.models)), do=do)


_UNREACHED = {
    Reach.AWAY: (
        Code.LLAMA_AWAY,
        "Nothing answers at {url} ({said}). Turns are taken, and wait for it.",
        "Start llama-server there, or set TURNKEEPER_LLAMA_URL to where it is.",
    ),
    Reach.SILENT: (
        Code.LLAMA_SILENT,
        "Something takes connections at {url}, but does not answer: {said}.",
        "Look at llama-server's log; where it hangs or has no thread left (--threads-http), start it anew.",
    ),
    Reach.LOADING: (
        Code.LLAMA_LOADING,
        "llama-server at {url} still loads its model. Turns are taken, and wait for it.",
        "Wait, and run doctor again; its log says how far it is.",
    ),
    Reach.REFUSED: (
        Code.LLAMA_KEY_REFUSED,
        "llama-server at {url} refuses the key that is set ({said}).",
        "Set TURNKEEPER_LLAMA_API_KEY to the key that it was started with (--api-key).",
    ),
    Reach.ROUTER: (
        Code.LLAMA_IS_A_ROUTER,
        "{url} is a router of several models ({models}), and TURNKEEPER_MODEL names none of them.",
        "Set TURNKEEPER_MODEL to one of them, or start a llama-server with one model (--model).",
    ),
    Reach.SOMETHING_ELSE: (
        Code.LLAMA_IS_SOMETHING_ELSE,
        "What answers at {url} is no llama-server with one model: {said}.",
        "Set TURNKEEPER_LLAMA_URL to the address of llama-server itself, without a path.",
    ),
}


def _introduced(facts: LlamaFacts) -> str:
    slots = f"{facts.slots} {'slot' if facts.slots == 1 else 'slots'} of {facts.context_tokens} tokens"
    model = f", model {visible(facts.model, _SHOWN)}" if facts.model else ""
    build = f", build {visible(facts.build, _SHOWN)}" if facts.build else ""
    asleep = "; it sleeps, and the next request wakes it" if facts.is_asleep else ""
    return f"{facts.url} answers: {slots}{model}{build}{asleep}."


def _stuck(facts: LlamaFacts) -> Finding | None:
    if facts.slots_status is not None or facts.is_asleep:
        return None
    return Finding(
        code=Code.LLAMA_STUCK,
        says="It says that it is well, but does not tell its slots in time: the loop that computes may hang.",
        do="If that stays so, start llama-server anew.",
    )


def _slots_hidden(facts: LlamaFacts) -> Finding | None:
    status = facts.slots_status
    if status is None or status == 200:
        return None
    return Finding(
        code=Code.LLAMA_SLOTS_HIDDEN,
        says=f"It does not tell its slots (/slots: HTTP {status}), so one that hangs looks like one that works.",
        do="Start it without --no-slots, and let a proxy before it pass /slots.",
    )


def _too_old(facts: LlamaFacts) -> Finding | None:
    lacks: list[str] = []
    number = build_number(facts.build)
    if number is not None and number < FIRST_BUILD_WITH_PINGS:
        lacks.append("no sign of life while it evaluates a long prompt, which then counts as stalled")
    if facts.count_status in _NOT_THERE:
        lacks.append("no /v1/chat/completions/input_tokens, so sizes of prompts are estimated")
    if facts.control_status in _NOT_THERE:
        lacks.append("no /v1/chat/completions/control, so a thought over its limit is ended by asking again")
    if not lacks:
        return None
    return Finding(
        code=Code.LLAMA_TOO_OLD,
        says=f"This llama-server{f' ({visible(facts.build, _SHOWN)})' if number else ''} is old: {'; '.join(lacks)}.",
        do=f"Update it; the tests run with b10434 and later, and b{FIRST_BUILD_WITH_PINGS} is the least.",
    )


def build_number(build: str) -> int | None:
    """Read the number of a build from its name; None where the build doesn't know it itself, which wheels say as 0."""
    match = _BUILD.match(build)
    return int(match[1]) or None if match is not None else None


def _slots_shared(facts: LlamaFacts) -> Finding | None:
    if facts.slots == 1 or facts.sharing is Sharing.OWN:
        return None
    whole = facts.trained_tokens is not None and facts.context_tokens >= facts.trained_tokens
    cost = f"they share {facts.context_tokens} tokens, and when these are used up every running answer breaks off"
    do = (
        f"Start it with --parallel {facts.slots}, without --kv-unified, and with --ctx-size as the sum of all slots: "
        f"{facts.slots * facts.context_tokens}, or less."
    )
    if facts.sharing is Sharing.SHARED:
        says = f"Its slots have no context of their own: {cost}."
        return Finding(code=Code.LLAMA_SLOTS_SHARED, says=says, do=do)
    if facts.slots != AUTOMATIC_SLOTS:
        return None
    unset = f"{facts.slots} slots is what it takes when --parallel isn't set"
    if whole and facts.sharing is not Sharing.SEEMS_OWN:
        says = f"{unset}, and each has the model's whole context. Most likely {cost}."
        return Finding(code=Code.LLAMA_SLOTS_SHARED, says=says, do=f"{do} doctor --probe makes sure of it.")
    return Finding(
        code=Code.LLAMA_SLOTS_MAYBE_SHARED,
        says=f"{unset}. If so, {cost}.",
        do="If it isn't set, set it; doctor --probe finds out.",
    )


def _metrics_off(facts: LlamaFacts) -> Finding | None:
    if facts.metrics_status in (None, 200):
        return None
    return Finding(
        code=Code.LLAMA_METRICS_OFF,
        says=f"It tells no metrics (/metrics: HTTP {facts.metrics_status}): its queue and its speed can't be watched.",
        do="Start it with --metrics.",
    )


def _ram_cache(facts: LlamaFacts) -> Finding | None:
    if facts.ram_cache is None:
        return None
    code, says, do = _RAM_CACHE[facts.ram_cache]
    return Finding(code=code, says=says.format(why=facts.unmeasured), do=do)


_RAM_CACHE = {
    RamCache.ON: (
        Code.LLAMA_RAM_CACHE_ON,
        "A prompt that lost its slot came back from memory: more sessions than slots keep their cache.",
        "",
    ),
    RamCache.OFF: (
        Code.LLAMA_RAM_CACHE_OFF,
        "A prompt that lost its slot was evaluated again: with more sessions than slots each message evaluates all.",
        "Start it with --cache-ram and the MiB of memory that may be used (8192 is its default).",
    ),
    RamCache.UNKNOWN: (
        Code.LLAMA_NOT_MEASURED,
        "The cache in memory was not measured: {why}.",
        "Run doctor --probe again when a slot is free.",
    ),
}


def _context(facts: LlamaFacts) -> Finding | None:
    tokens, least = facts.context_tokens, facts.min_room + LEAST_TALK_TOKENS
    more = f"Start it with a larger --ctx-size: it is shared by the {facts.slots} slots."
    if tokens < least:
        return Finding(
            code=Code.CONTEXT_TOO_SMALL,
            says=f"A slot has {tokens} tokens: with the {facts.min_room} that an answer needs (min_room) little fits.",
            do=more,
        )
    if tokens < SMALL_CONTEXT_TOKENS:
        return Finding(
            code=Code.CONTEXT_SMALL,
            says=f"A slot has {tokens} tokens for instructions, tools, talk and answer: it is compacted often.",
            do=more,
        )
    return None


def _named(names: tuple[str, ...]) -> str:
    shown = ", ".join(visible(name, 60) for name in names[:5])
    return f"{shown}, …" if len(names) > 5 else shown or "none is listed"
