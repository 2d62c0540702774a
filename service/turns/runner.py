"""Runs one turn: asks the machine what is next, does it, appends what came of it, and asks again (T1 to T14)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial

import structlog
from structlog.contextvars import bind_contextvars

from service.core.errors import ErrorKind, StoreFailure
from service.core.ids import TurnId
from service.core.records import Record
from service.core.signals import StoreBroken
from service.core.turn import AskModel, AwaitDecision, Finish, RequestApproval, RunBatch, next_effect
from service.core.turn_records import PartialAnswer, of_cancel, of_error, of_time_up
from service.core.turn_state import TurnState
from service.ports import Clock, Tracer
from service.ports.tracer import TurnBegun
from service.turns.approvals import Approvals
from service.turns.batch_runner import BatchRunner
from service.turns.handoffs import Handoffs
from service.turns.live_session import LiveSession
from service.turns.step_runner import StepRunner

log = structlog.get_logger(__name__)

Ending = Callable[[TurnState, PartialAnswer], tuple[Record, ...]]
"""Gives the records that end a turn at once, in whatever state it is."""


@dataclass(slots=True)
class TurnRun:
    """A turn in progress; `cancelled` is set before its task is cancelled, and tells a cancel from a shutdown.

    `ending` is set as soon as it is sure that the turn ends, for whatever reason.
    """

    live: LiveSession
    turn: TurnId
    begun: bool = False
    cancelled: bool = False
    ending: bool = False
    task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Cancel the turn; only the first time, and not once it ends: the writing of its end is left alone."""
        if not self.cancelled and not self.ending and self.task is not None:
            self.cancelled = True
            # A task that is cancelled before its first step never takes it, and nobody would end the turn.
            if self.begun:
                self.task.cancel()

    async def ended(self, within_s: float | None = None) -> None:
        """Wait until the turn's task is through, or no longer than that."""
        if self.task is not None:
            await asyncio.wait({self.task}, timeout=within_s)


class _TimeUp(Exception):
    """The turn's time is up, and what was in flight has been cancelled."""


class TurnRunner:
    """Performs the effects that `core.turn` asks for."""

    def __init__(
        self,
        steps: StepRunner,
        batches: BatchRunner,
        approvals: Approvals,
        handoffs: Handoffs,
        tracer: Tracer,
        clock: Clock,
    ) -> None:
        self._steps = steps
        self._batches = batches
        self._approvals = approvals
        self._handoffs = handoffs
        self._tracer = tracer
        self._clock = clock

    async def run(self, run: TurnRun) -> None:
        """Run the session's open turn to its end.

        Raises:
            CancelledError: the service shuts down; the log stands as it is and the next start goes on (H8).
        """
        live = run.live
        run.begun = True
        # In the context of this turn's task alone, and of those that it starts.
        bind_contextvars(session=live.id, turn=run.turn)
        with self._tracer.turn(_begun(live, run.turn)) as live.span:
            if run.cancelled:
                await self._end_now(run, of_cancel)
                return
            try:
                await self._perform(live)
            except asyncio.CancelledError:
                if not run.cancelled:
                    raise
                await self._end_now(run, of_cancel)
            except _TimeUp:
                await self._end_now(run, of_time_up)
            except StoreFailure as failure:
                await self._end_broken(run, ErrorKind.STORE, str(failure))
            except Exception as defect:
                # The outermost place: a defect of ours ends the turn, never the service.
                await self._end_broken(run, ErrorKind.INTERNAL, f"an internal error: {type(defect).__name__}")
                log.exception("turn.defect", session=live.id, turn=run.turn)

    async def _perform(self, live: LiveSession) -> None:
        while (effect := next_effect(live.state, live.toolset)) is not None:
            match effect:
                case AskModel():
                    await self._in_time(live, partial(self._steps.run, live, effect))
                case RunBatch(calls=calls):
                    await self._in_time(live, partial(self._batches.run, live, calls))
                case RequestApproval(calls=calls):
                    await self._approvals.request(live, calls)
                case AwaitDecision(until=until):
                    # A turn's time stands still while it waits for people (T12).
                    assert live.span is not None  # the turn runs
                    with live.span.waits():
                        await self._approvals.wait(live, until)
                case Finish(record=record):  # pragma: no branch - no kind is left
                    await live.append(record)

    async def _in_time(self, live: LiveSession, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Do it, but no longer than the turn may take (T12)."""
        left_s = await self._handoffs.time_left_s(live)
        if left_s is None:
            await work()
            return
        if left_s <= 0:
            raise _TimeUp
        doing = asyncio.create_task(work(), name=f"effect of {live.state.turn}")
        timer = asyncio.create_task(self._until_time_up(live), name=f"time of {live.state.turn}")
        try:
            await asyncio.wait({doing, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            doing.cancel()
            # What the cancel interrupts has its own way out, and an append its own end; both are short.
            await asyncio.gather(doing, timer, return_exceptions=True)
        if doing.cancelled():
            raise _TimeUp
        await doing

    async def _until_time_up(self, live: LiveSession) -> None:
        while True:
            # A child that waits for people, or has waited, gives its parent that time.
            left_s = await self._handoffs.time_left_s(live)
            if left_s is None or left_s <= 0:
                return
            await self._clock.sleep(left_s)

    async def _end_now(self, run: TurnRun, ending: Ending) -> None:
        # No await before: a cancel that comes from now on would leave the turn without its end.
        run.ending, live = True, run.live
        try:
            await self._handoffs.cancel_child(live)
            effect = next_effect(live.state, live.toolset)
            if effect is None:
                # It came upon the write of the turn's end.
                return
            if isinstance(effect, Finish):
                # The answer was there before: it stands.
                await live.append(effect.record)
                return
            step = live.feed.step
            partial = step.left_behind() if step is not None else PartialAnswer()
            await live.append(*ending(live.state, partial))
        except StoreFailure as failure:
            await self._end_broken(run, ErrorKind.STORE, str(failure))
        except Exception as defect:
            await self._end_broken(run, ErrorKind.INTERNAL, f"an internal error: {type(defect).__name__}")
            log.exception("turn.defect", session=live.id, turn=live.state.turn)

    async def _end_broken(self, run: TurnRun, kind: ErrorKind, message: str) -> None:
        run.ending, live = True, run.live
        try:
            await self._handoffs.cancel_child(live)
            await live.append(*of_error(live.state, kind, message))
        except Exception as failure:
            # The last word could not be written either: whoever follows is told, and the next write to this
            # session says how the turn ended (S5).
            live.feed.publish_signal(live.state.turn, StoreBroken())
            log.error("turn.end_not_written", session=live.id, turn=live.state.turn, reason=str(failure))


def _begun(live: LiveSession, turn: TurnId) -> TurnBegun:
    return TurnBegun(
        session=live.id,
        turn=turn,
        agent=live.row.agent,
        model=live.baseline.model,
        resumed=not live.times.from_its_start,
    )
