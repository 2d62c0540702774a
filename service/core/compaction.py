"""When a session's prompt is compacted, what of it is kept, and what makes room when nothing can be summarised (C1).

Sizes are tokens; those of parts are estimated from their bytes by what the server counted of the whole. Above: the
turns, which have the summary written. Below: `projection`, whose blocks are what is kept or covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.core.json_types import JsonObject
from service.core.projection import SHORTENED_BYTES, Block
from service.core.result_cap import BYTES_PER_TOKEN

LEAST_GAIN = 0.1
"""A summary that frees less than this share of the prompt isn't worth what it forgets."""

MOST_FRUITLESS = 2
"""So many summaries without gain are tried in a turn."""

MOST_SUMMARY_TOKENS = 1024
LEAST_SUMMARY_TOKENS = 64
"""A few sentences: with less than that nothing can be told."""

_SHARE_OF_SUMMARY = 8
_HALF = 2

# What a chat template writes around each message, in bytes of text that would cost as much.
_MESSAGE_BYTES = 16


class Need(StrEnum):
    """How much a prompt needs to become smaller."""

    NONE = "none"
    WANTED = "wanted"
    """It is due, but the next step fits."""
    MUST = "must"
    """The next step does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What bounds a session's prompt: the slot's context, and the settings of the same names.

    `compact_at` is a share of the context; `compact_messages` 0 means that messages are not counted. `covered_tokens`
    are those of what the next summary is to stand for, None while that isn't known.
    """

    context_tokens: int
    compact_at: float
    compact_messages: int
    min_room: int
    covered_tokens: int | None = None

    @property
    def threshold(self) -> int:
        """Tokens above which a prompt is due: it leaves less than `min_room`, or passes `compact_at`."""
        return min(int(self.compact_at * self.context_tokens), self.context_tokens - self.min_room)

    @property
    def summary_tokens(self) -> int:
        """Tokens that a summary may have: never more than half of what it stands for, or it would be in vain."""
        most = max(1, min(MOST_SUMMARY_TOKENS, self.context_tokens // _SHARE_OF_SUMMARY))
        if self.covered_tokens is None:
            return most
        return min(most, max(LEAST_SUMMARY_TOKENS, self.covered_tokens // _HALF))

    def need(self, prompt_tokens: int, messages: int) -> Need:
        """Say whether a prompt of so many tokens and messages is due."""
        if prompt_tokens + self.min_room > self.context_tokens:
            return Need.MUST
        too_many = 0 < self.compact_messages < messages
        return Need.WANTED if too_many or prompt_tokens > self.threshold else Need.NONE

    def kept_tokens(self, head_tokens: int) -> int:
        """Give how many tokens may be kept behind a summary: half of the context.

        It is less where the head is so large that the prompt would be due again at once.
        """
        gain = int(LEAST_GAIN * self.context_tokens)
        below = self.threshold - head_tokens - self.summary_tokens - gain
        return max(0, min(self.context_tokens // _HALF, below))

    @property
    def kept_messages(self) -> int | None:
        """Give how many messages may be kept; None for any number."""
        return self.compact_messages // _HALF if self.compact_messages else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How many tokens a byte of this session's messages has."""

    tokens_per_byte: float = 1 / BYTES_PER_TOKEN

    def tokens(self, messages: Sequence[JsonObject]) -> int:
        """Estimate what messages cost."""
        return round(message_bytes(messages) * self.tokens_per_byte)


def scale_of(prompt_tokens: int, messages: Sequence[JsonObject], *, tool_tokens: int) -> Scale:
    """Learn the scale from a prompt whose tokens are known, the specs of the tools among them."""
    size, tokens = message_bytes(messages), prompt_tokens - tool_tokens
    return Scale(tokens_per_byte=tokens / size) if tokens > 0 and size > 0 else Scale()


def message_bytes(messages: Sequence[JsonObject]) -> int:
    """Count the bytes of all texts in messages, and something for what a template writes around each."""
    return sum(_MESSAGE_BYTES + sum(len(text.encode()) for text in _texts(message)) for message in messages)


def _texts(message: JsonObject) -> list[str]:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    parts = [part for call in calls for part in (call["name"], call["arguments"])]
    return [message["content"], message.get("reasoning_content", ""), *parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What a summary is to stand for: the blocks up to the record `covers`; and what is kept behind it."""

    covers: int
    covered: tuple[Block, ...]
    kept: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuttable:
    """A prompt's blocks, and where they may be cut.

    `covered_seq` is what the last summary covers; `last_seq` the log's last record, `in_turn` whether a turn is open.
    """

    blocks: tuple[Block, ...]
    covered_seq: int
    last_seq: int
    in_turn: bool
    scale: Scale

    def cut(self, keep_tokens: int, keep_messages: int | None = None) -> Cut | None:
        """Find the cut that keeps as many whole turns, or batches of the open one, as fit; None when it covers nothing.

        Where not even the least fits, the least is kept.
        """
        places = [place for place in range(1, len(self.blocks) + 1) if self._may_cut(place)]
        if not places or self._fits(0, keep_tokens, keep_messages):
            return None
        place = next((place for place in places if self._fits(place, keep_tokens, keep_messages)), places[-1])
        is_end = place == len(self.blocks) and not self.in_turn
        covers = self.last_seq if is_end else self._covers(place)
        return Cut(covers=covers, covered=self.blocks[:place], kept=self.blocks[place:])

    def most_gain(self, cut: Cut) -> int:
        """Give the tokens that a cut can free at most: those of all that it covers but what stays word by word."""
        opens = not cut.kept or cut.kept[0].question is None
        stays = [self._question()] if opens and self.in_turn else []
        return self.scale.tokens(_messages(cut.covered)) - self.scale.tokens(stays)

    def _may_cut(self, place: int) -> bool:
        before = self.blocks[place - 1]
        if before.last_seq <= self.covered_seq:
            # All that stands before it is in the summary already.
            return False
        if place == len(self.blocks):
            return not self.in_turn or before.batch is not None
        behind = self.blocks[place]
        within = self.in_turn and before.batch is not None and behind.turn == self.blocks[-1].turn
        return within or behind.question is not None

    def _covers(self, place: int) -> int:
        within = place == len(self.blocks) or self.blocks[place].question is None
        return self.blocks[place - 1].last_seq if within else self.blocks[place].first_seq - 1

    def _fits(self, place: int, keep_tokens: int, keep_messages: int | None) -> bool:
        kept = _messages(self.blocks[place:])
        if self.in_turn and (place == len(self.blocks) or self.blocks[place].question is None):
            kept = [self._question(), *kept]
        few = keep_messages is None or len(kept) <= keep_messages
        return few and self.scale.tokens(kept) <= keep_tokens

    def _question(self) -> JsonObject:
        """Give the open turn's message, which is kept in any case."""
        return {"content": [block.question for block in self.blocks if block.question is not None][-1]}


def _messages(blocks: Sequence[Block]) -> list[JsonObject]:
    return [message for block in blocks for message in block.messages]


def is_fruitful(tokens_before: int, tokens_after: int) -> bool:
    """Say whether so much was freed that the summary is kept."""
    return tokens_before - tokens_after >= LEAST_GAIN * tokens_before


def to_shorten(blocks: Sequence[Block], tokens_over: int, scale: Scale) -> tuple[int, ...]:
    """Name the calls whose results are to be shortened, oldest first, until so many tokens are freed."""
    calls: list[int] = []
    freed = 0.0
    for result in (result for block in blocks for result in block.results):
        excess = len(result.content.encode()) - SHORTENED_BYTES
        # What is little longer says more as it is.
        if excess > SHORTENED_BYTES and freed < tokens_over:
            calls.append(result.call)
            freed += excess * scale.tokens_per_byte
    return tuple(calls)
