"""Runs one turn: asks the machine what is next, does it, appends what came of it, and asks again (T1 to T14)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from service.core.errors import ErrorKind, StoreFailure
from service.core.ids import TurnId
from service.core.signals import StoreBroken
from service.core.turn import AskModel, Finish, RunBatch, next_effect
from service.core.turn_records import PartialAnswer, of_cancel, of_error
from service.turns.batch_runner import BatchRunner
from service.turns.live_session import LiveSession
from service.turns.step_runner import StepRunner

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TurnRun:
    """A turn in progress; `cancelled` is set before its task is cancelled, and tells a cancel from a shutdown."""

    live: LiveSession
    turn: TurnId
    cancelled: bool = False
    task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Cancel the turn; only the first time, so that the writing of its end is left alone."""
        if not self.cancelled and self.task is not None:
            self.cancelled = True
            self.task.cancel()

    async def ended(self) -> None:
        """Wait until the turn's task is through."""
        if self.task is not None:
            await asyncio.wait({self.task})


class TurnRunner:
    """Performs the effects that `core.turn` asks for."""

    def __init__(self, steps: StepRunner, batches: BatchRunner) -> None:
        self._steps = steps
        self._batches = batches

    async def run(self, run: TurnRun) -> None:
        """Run the session's open turn to its end.

        Raises:
            CancelledError: the service shuts down; the log stands as it is and the next start goes on (H8).
        """
        live = run.live
        try:
            await self._perform(live)
        except asyncio.CancelledError:
            if not run.cancelled:
                raise
            await self._end_cancelled(live)
        except StoreFailure as failure:
            await self._end_broken(live, ErrorKind.STORE, str(failure))
        except Exception as defect:
            # The outermost place: a defect of ours ends the turn, never the service.
            await self._end_broken(live, ErrorKind.INTERNAL, f"an internal error: {type(defect).__name__}")
            log.exception("turn.defect", session=live.id, turn=run.turn)

    async def _perform(self, live: LiveSession) -> None:
        while (effect := next_effect(live.state, live.toolset)) is not None:
            match effect:
                case AskModel():
                    await self._steps.run(live, effect)
                case RunBatch(calls=calls):
                    await self._batches.run(live, calls)
                case Finish(record=record):  # pragma: no branch - no kind is left
                    await live.append(record)

    async def _end_cancelled(self, live: LiveSession) -> None:
        effect = next_effect(live.state, live.toolset)
        if effect is None:
            # The cancel came upon the write of the turn's end.
            return
        try:
            if isinstance(effect, Finish):
                # The answer was there before the cancel: it stands.
                await live.append(effect.record)
                return
            step = live.feed.step
            partial = step.left_behind() if step is not None else PartialAnswer()
            await live.append(*of_cancel(live.state, partial))
        except StoreFailure as failure:
            await self._end_broken(live, ErrorKind.STORE, str(failure))

    async def _end_broken(self, live: LiveSession, kind: ErrorKind, message: str) -> None:
        try:
            await live.append(*of_error(live.state, kind, message))
        except Exception as failure:
            # The last word could not be written either: whoever follows is told, and the next write to this
            # session says how the turn ended (S5).
            live.feed.publish_signal(live.state.turn, StoreBroken())
            log.error("turn.end_not_written", session=live.id, turn=live.state.turn, reason=str(failure))
