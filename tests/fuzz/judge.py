"""Whether what the service made of a stream is what the stream says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from service.core.completion_events import Completion, CompletionDelta, ContentText, ModelCall, ReasoningText
from service.core.completion_stream import CompletionStream
from service.core.errors import ModelFailure
from tests.fuzz.reference import CallPiece, Reading, pieces_before_the_answer, read, sort_by_tags

Shown = tuple[str, str]
"""Thought and answer, as the deltas show them."""

_MOST_STATES = 20_000


class Unsound(AssertionError):
    """What the service made of a stream isn't in it, or something that is in it is missing."""


def outcome(pieces: Iterable[bytes], budget: int | None) -> tuple[Shown, Completion | ModelFailure]:
    """Read a stream as the service does; any exception that isn't a `ModelFailure` comes out."""
    stream = CompletionStream(thinking_budget_tokens=budget)
    deltas: list[CompletionDelta] = []
    for piece in pieces:
        deltas += stream.feed(piece)
    deltas += stream.release()
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningText))
    answer = "".join(delta.text for delta in deltas if isinstance(delta, ContentText))
    try:
        return (thought, answer), stream.finish()
    except ModelFailure as failure:
        return (thought, answer), failure


def judge(stream: bytes, shown: Shown, end: Completion | ModelFailure, budget: int | None) -> None:
    """Compare an outcome with the reference's reading.

    Raises:
        Unsound: they differ.
    """
    reading = read(stream)
    _need(reading.is_complete == isinstance(end, Completion), f"it ends in {end}, the stream says {reading}")
    if reading.shows_all:
        _need(_is_shown(shown, reading, budget), f"the text shown is {shown}, the stream says {reading}")
    if isinstance(end, Completion):
        _need(shown == (end.reasoning, end.content), "the deltas and the completion differ")
        _need(end.finish_reason == reading.finish_reason, f"the finish reason is {end.finish_reason}")
        _judge_calls(end.calls, reading.calls)
        _judge_usage(end, reading)


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise Unsound(what)


def _is_shown(shown: Shown, reading: Reading, budget: int | None) -> bool:
    thought, answer = shown
    told = "".join(reading.reasonings)
    for held in _may_be_held(reading, budget):
        tagged, rest = sort_by_tags(reading.content, held=held)
        if answer == rest and (thought == told + tagged or _is_mixed(thought, told, tagged)):
            return True
    return False


def _may_be_held(reading: Reading, budget: int | None) -> Sequence[bool]:
    """Tell whether the answer's beginning counts as behind a reached budget; thought in tags may count or not."""
    if budget is None:
        return (False,)
    mark = max(1, budget - max(4, budget // 8))
    if sort_by_tags(reading.content, held=False)[0]:
        return (False, True)
    return (pieces_before_the_answer(reading) >= mark,)


def _is_mixed(whole: str, one: str, other: str) -> bool:
    """Tell whether a text consists of two others, each in its order."""
    if len(whole) != len(one) + len(other):
        return False
    taken = {0}
    for place, character in enumerate(whole):
        following = {n + 1 for n in taken if n < len(one) and one[n] == character}
        following |= {n for n in taken if place - n < len(other) and other[place - n] == character}
        taken = following
    return len(one) in taken


def _judge_calls(calls: Sequence[ModelCall], pieces: Sequence[CallPiece]) -> None:
    expected = _plain_calls(pieces)
    if expected is not None:
        _need(tuple(calls) == expected, f"the calls are {calls}, the stream says {expected}")
        return
    _need(_is_dealt([call.arguments for call in calls], [p.arguments for p in pieces if p.arguments]), f"{calls}")
    ids, names = {piece.id for piece in pieces}, [piece.name for piece in pieces if piece.name]
    for call in calls:
        _need(call.id is None or call.id in ids, f"the id {call.id} is invented")
        _need(_is_built(call.name, names), f"the name {call.name} is invented")


def _plain_calls(pieces: Sequence[CallPiece]) -> tuple[ModelCall, ...] | None:
    """Put calls together where nothing is odd: an index everywhere, one id, the name with the first piece."""
    by_index: dict[int, list[CallPiece]] = {}
    for piece in pieces:
        if piece.index is None:
            return None
        by_index.setdefault(piece.index, []).append(piece)
    for group in by_index.values():
        told = [piece for piece in group if not piece.is_empty]
        if len({piece.id for piece in told if piece.id}) > 1 or any(piece.name for piece in told[1:]):
            return None
    return tuple(
        ModelCall(
            id=next((piece.id for piece in group if piece.id), None),
            name="".join(piece.name for piece in group),
            arguments="".join(piece.arguments for piece in group),
        )
        for group in by_index.values()
        if not all(piece.is_empty for piece in group)
    )


def _is_dealt(texts: Sequence[str], pieces: Sequence[str]) -> bool:
    """Tell whether each piece, in order, went on with one of the texts, and nothing else did."""
    states = {tuple(0 for _ in texts)}
    for piece in pieces:
        states = {
            (*state[:n], state[n] + len(piece), *state[n + 1 :])
            for state in states
            for n, text in enumerate(texts)
            if text.startswith(piece, state[n])
        }
        if len(states) > _MOST_STATES:
            return True
    return tuple(len(text) for text in texts) in states


def _is_built(name: str, pieces: Sequence[str]) -> bool:
    """Tell whether a name consists of some of the pieces in their order."""
    built = {""}
    for piece in pieces:
        built |= {start + piece for start in built if name.startswith(start + piece)}
    return name in built


def _judge_usage(end: Completion, reading: Reading) -> None:
    told, usage = reading.usage, end.usage
    prompt, completion = told.get("prompt_tokens"), told.get("completion_tokens", told.get("predicted_n"))
    if prompt is None and "prompt_n" in told:
        prompt = told["prompt_n"] + told.get("cache_n", 0)
    _need(end.estimated == (prompt is None or completion is None), "estimated counts aren't told from the server's")
    _need(prompt is None or usage.prompt_tokens == prompt, f"{usage.prompt_tokens} tokens of prompt, told {prompt}")
    _need(completion is None or usage.completion_tokens == completion, f"{usage.completion_tokens}, told {completion}")
    cached = told.get("cached_tokens", told.get("cache_n", (reading.progress or (0, 0))[1]))
    _need(usage.cached_tokens == min(cached, usage.prompt_tokens), f"{usage.cached_tokens} cached, told {cached}")
    if "reasoning_tokens" in told:
        expected = min(told["reasoning_tokens"], usage.completion_tokens)
        _need(usage.reasoning_tokens == expected, f"{usage.reasoning_tokens} of reasoning, told {expected}")
    elif not sort_by_tags(reading.content, held=True)[0]:
        expected = min(len(reading.reasonings), usage.completion_tokens)
        _need(usage.reasoning_tokens == expected, f"{usage.reasoning_tokens} of reasoning, came {expected}")
