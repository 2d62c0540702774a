"""Keeps a session's prompt within its context: measures it, summarises its oldest part, shortens results (C0, C1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from service.access.model_server import ModelServer
from service.core.baseline import Compaction
from service.core.compaction import (
    MOST_FRUITLESS,
    Cut,
    Cuttable,
    Need,
    Room,
    Scale,
    is_fruitful,
    scale_of,
    to_shorten,
)
from service.core.errors import ContextFull, ModelFailure
from service.core.json_types import JsonObject
from service.core.records import Summary
from service.core.request_building import held_tokens, measured_prompt, most_tokens
from service.core.summarising import labels_of, wasted
from service.core.summary_text import stored_text
from service.core.transcript import passages
from service.ports import Ids, Llama
from service.turns.live_session import LiveSession
from service.turns.summary_writer import NoSummary, SummaryWriter

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """What came of a compaction by hand: the summary, with its place in the log, or None; and a sentence on it."""

    summary: Summary | None
    seq: int | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """A session's prompt as it was measured; `counted` says that the tokens are the server's count, no estimate."""

    room: Room
    tokens: int
    counted: bool
    messages: tuple[JsonObject, ...]
    scale: Scale

    @property
    def need(self) -> Need:
        """How much it needs to become smaller: an estimate alone keeps no turn from being asked."""
        need = self.room.need(self.tokens, len(self.messages))
        return Need.WANTED if need is Need.MUST and not self.counted else need


class Compactor:
    """Makes room in sessions; between turns and between steps, never while a call is open."""

    def __init__(
        self,
        llama: Llama,
        server: ModelServer,
        writer: SummaryWriter,
        ids: Ids,
        *,
        compact_at: float,
        compact_messages: int,
        min_room: int,
    ) -> None:
        self._llama = llama
        self._server = server
        self._writer = writer
        self._ids = ids
        self._compact_at = compact_at
        self._compact_messages = compact_messages
        self._min_room = min_room

    def room(self, context_tokens: int) -> Room:
        """Give what bounds a prompt on a server with such slots."""
        return Room(
            context_tokens=context_tokens,
            compact_at=self._compact_at,
            compact_messages=self._compact_messages,
            min_room=self._min_room,
        )

    async def make_room(self, live: LiveSession, *, full: ContextFull | None = None) -> int | None:
        """See to it that the next step fits; give the tokens of its prompt, None where nobody had to count them.

        `full` is the failure by which the server said that the prompt as it is was too long.

        Raises:
            ContextFull: it does not fit, and nothing more can be done about it.
            StoreFailure: a record could not be kept.
        """
        facts = await self._server.facts_or_none()
        if facts is None:
            if full is not None:
                raise full
            return None
        room, tries = self.room(facts.context_tokens), 0
        while True:
            forced = full is not None and tries == 0
            if not forced and self._is_far_from_full(live, room):
                return None
            prompt = await self._measured(live, room, full if forced else None)
            need = Need.MUST if forced else prompt.need
            if need is Need.NONE or (need is Need.WANTED and tries > 0):
                return prompt.tokens
            if not await self._made_smaller(live, prompt, need, tries):
                if need is Need.WANTED:
                    return prompt.tokens
                raise full or _full(live, prompt)
            tries += 1

    async def by_hand(self, live: LiveSession) -> ByHand:
        """Summarise an idle session's oldest part because someone asks for it: so much that half is left (C1)."""
        if live.baseline.compaction is Compaction.OFF:
            return _nothing("Nothing was summarised: compaction is off in this session.")
        facts = await self._server.facts_or_none()
        if facts is None:
            return _nothing("Nothing was summarised: llama-server can't be reached. Try again when it is there.")
        prompt = await self._measured(live, self.room(facts.context_tokens), None)
        cuttable = _cuttable(live, prompt.scale)
        cut = cuttable.cut(prompt.tokens // 2)
        if cut is None:
            return _nothing("Nothing was summarised: there is nothing that could be.")
        summary = await self._summarised(live, prompt, cut)
        if summary is None:
            return _nothing("Nothing was summarised: no summary came, or one that was hardly shorter than the text.")
        freed = summary.tokens_before - summary.tokens_after
        return ByHand(summary=summary, seq=live.last_seq, detail=f"{freed} tokens of the context were freed.")

    async def count(self, live: LiveSession, messages: tuple[JsonObject, ...]) -> int | None:
        """Count the tokens of these messages as this session's prompt; None when the server does not say."""
        try:
            return await self._llama.count_tokens(measured_prompt(live.baseline, messages, live.toolset))
        except ContextFull as full:
            return full.prompt_tokens or self._server.context_tokens
        except ModelFailure:
            return None

    def _is_far_from_full(self, live: LiveSession, room: Room) -> bool:
        most = most_tokens(live.baseline, live.messages, live.state, live.prompt_sizes.counted)
        return room.need(most, len(live.messages)) is Need.NONE

    async def _measured(self, live: LiveSession, room: Room, full: ContextFull | None) -> _Prompt:
        messages = live.messages
        told = await self.count(live, messages)
        tokens = told
        if tokens is None:
            tokens = held_tokens(live.baseline, messages, live.state, live.prompt_sizes.counted)
        if full is not None:
            # The server that refused it knows better, and the room that an answer needed is not in it.
            tokens = max(tokens, full.prompt_tokens or 0)
        scale = scale_of(tokens, messages, tool_tokens=live.baseline.tools.tokens)
        return _Prompt(room=room, tokens=tokens, counted=told is not None, messages=messages, scale=scale)

    async def _made_smaller(self, live: LiveSession, prompt: _Prompt, need: Need, tries: int) -> bool:
        """Try one thing; False when there is nothing left to try."""
        if live.baseline.compaction is Compaction.OFF:
            return False
        if live.state.fruitless_summaries < MOST_FRUITLESS:
            cut = self._worthwhile(live, prompt, need, tries)
            if cut is not None:
                fruitful = await self._summarised(live, prompt, cut) is not None
                # What only wants to be smaller tries again with the next step.
                return fruitful or need is Need.MUST
        return need is Need.MUST and await self._shortened(live, prompt)

    def _worthwhile(self, live: LiveSession, prompt: _Prompt, need: Need, tries: int) -> Cut | None:
        room, cuttable = prompt.room, _cuttable(live, prompt.scale)
        head_tokens = prompt.scale.tokens(live.projection.head) + live.baseline.tools.tokens
        cut = cuttable.cut(room.kept_tokens(head_tokens), room.kept_messages)
        if need is Need.MUST and (cut is None or tries > 0):
            # What would be kept otherwise leaves too little room: as little is kept as may be.
            cut = cuttable.cut(0)
        if cut is None or not is_fruitful(prompt.tokens, prompt.tokens - cuttable.most_gain(cut)):
            return None
        return cut

    async def _summarised(self, live: LiveSession, prompt: _Prompt, cut: Cut) -> Summary | None:
        """Have a summary written and keep it if it is worth it; else only what it cost (T14)."""
        projection = live.projection
        room = replace(prompt.room, covered_tokens=_cuttable(live, prompt.scale).most_gain(cut))
        earlier = projection.summary
        data_class, untrusted = labels_of(cut.covered, earlier, begun_with=projection.begun_with)
        told = list(passages(cut.covered))
        fence = self._fence("\n".join(map(str, told))) if untrusted else None
        try:
            written = await self._writer.write(
                live, told, earlier="" if earlier is None else earlier.text, fence=fence, room=room, scale=prompt.scale
            )
        except NoSummary as none:
            log.info("compaction.no_summary", session=live.id, turn=live.state.turn, kind=none.kind)
            await live.append(wasted(live.state.step, none.spent))
            return None
        text = stored_text(projection.first_question, written.text, context_tokens=room.context_tokens)
        summary = Summary(
            covers=cut.covers,
            text=text,
            shortened=_still_shortened(cut, earlier),
            tokens_before=prompt.tokens,
            tokens_after=0,
            data_class=data_class,
            untrusted=untrusted,
            fence=self._fence(text, fence) if untrusted else None,
            usage=written.spent,
        )
        summary = await self._weighed(live, prompt, summary)
        if not is_fruitful(summary.tokens_before, summary.tokens_after):
            await live.append(wasted(live.state.step, written.spent))
            return None
        await self._keep(live, summary)
        return summary

    async def _shortened(self, live: LiveSession, prompt: _Prompt) -> bool:
        """Shorten the oldest results, as many as must be; False when there is none."""
        projection = live.projection
        calls = to_shorten(projection.blocks, prompt.tokens - prompt.room.threshold, prompt.scale)
        if not calls:
            return False
        earlier = projection.summary or Summary(covers=0, text="", tokens_before=0, tokens_after=0)
        summary = Summary(
            covers=earlier.covers,
            text=earlier.text,
            shortened=(*earlier.shortened, *calls),
            tokens_before=prompt.tokens,
            tokens_after=0,
            data_class=earlier.data_class,
            untrusted=earlier.untrusted,
            fence=earlier.fence,
        )
        await self._keep(live, await self._weighed(live, prompt, summary))
        return True

    async def _weighed(self, live: LiveSession, prompt: _Prompt, summary: Summary) -> Summary:
        messages = live.projection.with_summary(summary)
        after = await self.count(live, messages)
        if after is None:
            after = live.baseline.tools.tokens + prompt.scale.tokens(messages)
        return replace(summary, tokens_after=after)

    async def _keep(self, live: LiveSession, summary: Summary) -> None:
        await live.append(summary)
        log.info(
            "compaction.done",
            session=live.id,
            turn=live.state.turn,
            covers=summary.covers,
            tokens_before=summary.tokens_before,
            tokens_after=summary.tokens_after,
        )

    def _fence(self, text: str, drawn: str | None = None) -> str:
        """Give a fence that the text does not hold: the one that was drawn, if it still fits (P6)."""
        fence = drawn or self._ids.fence()
        while fence in text:
            fence = self._ids.fence()
        return fence


def _cuttable(live: LiveSession, scale: Scale) -> Cuttable:
    projection = live.projection
    return Cuttable(
        blocks=projection.blocks,
        covered_seq=0 if projection.summary is None else projection.summary.covers,
        last_seq=live.last_seq,
        in_turn=projection.in_turn,
        scale=scale,
    )


def _still_shortened(cut: Cut, earlier: Summary | None) -> tuple[int, ...]:
    kept = {result.call for block in cut.kept for result in block.results}
    return () if earlier is None else tuple(call for call in earlier.shortened if call in kept)


def _nothing(detail: str) -> ByHand:
    return ByHand(summary=None, seq=None, detail=detail)


def _full(live: LiveSession, prompt: _Prompt) -> ContextFull:
    why = "compaction is off" if live.baseline.compaction is Compaction.OFF else "nothing more can be left out of it"
    room = prompt.room
    return ContextFull(
        f"the context is full: the prompt has {prompt.tokens} tokens, an answer needs {room.min_room} (min_room), and "
        f"the context has {room.context_tokens}, which llama-server's --ctx-size sets; {why}",
        prompt_tokens=prompt.tokens,
        context_tokens=room.context_tokens,
    )
