// @ts-check
/** What signals change in a turn; a signal about what is over changes nothing. */

import { ownTurn } from "./family.js";
import { addText, forgetText, isInFlight, isNews, setText, stepOf } from "./step.js";

/**
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Turn} Turn
 * @typedef {import("./shapes.js").View} View
 * @typedef {import("../draft.js").Draft<View>} SessionDraft
 */

/** Text that comes ends all waiting for it. */
function stopWaiting(/** @type {Turn} */ turn) {
  turn.queuedPosition = null;
  turn.waiting = null;
  turn.progress = null;
}

/** @type {Record<string, (turn: Turn, event: Event, draft: SessionDraft) => void>} */
const OF_A_TURN = {
  queued(turn, event) {
    turn.waiting = null;
    turn.queuedPosition = event.position;
  },
  waiting(turn, event) {
    turn.queuedPosition = null;
    turn.waiting = { reason: event.reason, waitedMs: event.waited_ms };
  },
};

/** @type {Record<string, (turn: Turn, event: Event, draft: SessionDraft) => void>} */
const OF_A_STEP = {
  progress(turn, event, draft) {
    stopWaiting(turn);
    turn.progress = {
      step: event.step,
      processed: event.processed,
      cached: event.cached,
      total: event.total,
      timeMs: event.time_ms,
    };
    stepOf(draft, turn, event.step).retrying = null;
  },
  reasoning: takeDelta,
  content: takeDelta,
  partial(turn, event, draft) {
    if (event.reasoning || event.content) stopWaiting(turn);
    setText(stepOf(draft, turn, event.step), /** @type {any} */ (event));
  },
  thinking_capped(turn, event, draft) {
    stepOf(draft, turn, event.step).thinkingCapped = true;
  },
  retrying(turn, event, draft) {
    const step = stepOf(draft, turn, event.step);
    forgetText(step);
    step.retrying = { attempt: event.attempt, reason: event.reason, delayMs: event.delay_ms };
    turn.progress = null;
  },
};

function takeDelta(/** @type {Turn} */ turn, /** @type {Event} */ event, /** @type {SessionDraft} */ draft) {
  stopWaiting(turn);
  addText(stepOf(draft, turn, event.step), event);
}

/**
 * Take a signal about a turn.
 * @param {SessionDraft} draft
 * @param {() => View|null} own gives the turn's session, to be changed
 * @param {View} view the same, to be read only
 * @param {Event} event
 */
export function takeTurnSignal(draft, own, view, event) {
  const kind = [OF_A_TURN, OF_A_STEP].find((changes) => Object.hasOwn(changes, event.type));
  const id = event.turn ?? null;
  if (kind === undefined) return;
  if (id === null) {
    takeByHand(own, event);
    return;
  }
  const known = view.turns[id];
  if (known !== undefined && isOver(known, event)) return;
  const session = own();
  if (session !== null) kind[event.type](ownTurn(draft, session, id), event, draft);
}

function isOver(/** @type {Turn} */ turn, /** @type {Event} */ event) {
  if (turn.state === "finished") return true;
  if (!Object.hasOwn(OF_A_STEP, event.type)) return false;
  if (!isInFlight(turn, event.step)) return true;
  return (event.type === "reasoning" || event.type === "content") && !isNews(turn, event);
}

/** A compaction by hand belongs to no turn. */
function takeByHand(/** @type {() => View|null} */ own, /** @type {Event} */ event) {
  if (!Object.hasOwn(OF_A_TURN, event.type)) return;
  const session = own();
  if (session === null) return;
  const waiting = event.type === "waiting" ? { reason: event.reason, waitedMs: event.waited_ms } : null;
  session.byHand = { queuedPosition: event.type === "queued" ? event.position : null, waiting };
}
