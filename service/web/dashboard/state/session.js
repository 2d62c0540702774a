// @ts-check
/**
 * The view state of one session with those below it: a fold of its events, live or replayed, to the same value.
 *
 * A new object only where something changed. Signals show in a view until the record that follows them; so what is
 * left when a turn has ended is what the log holds.
 */

import { Draft } from "./draft.js";
import { adopt, findSession, liftApprovals, ownSession } from "./session/family.js";
import { OF_A_SESSION, OF_A_TURN, takeTurnRecord } from "./session/records.js";
import { emptyView } from "./session/shapes.js";
import { takeTurnSignal } from "./session/signals.js";

/**
 * @typedef {import("./session/call.js").Call} Call
 * @typedef {import("./session/shapes.js").Event} Event
 * @typedef {import("./session/shapes.js").Turn} Turn
 * @typedef {import("./session/shapes.js").View} View
 * @typedef {Draft<View>} SessionDraft
 */

/** Records by which it changes what a turn waits for. */
const ABOUT_WAITING = new Set(["approval_requested", "approval_decided", "tool_result", "turn_finished"]);

/** Signals about the stream or the session. */
const OF_THE_STREAM = /** @type {Record<string, keyof View>} */ ({
  resync: "outOfDate",
  shutting_down: "shuttingDown",
  session_deleted: "deleted",
  store_error: "storeError",
});

/**
 * A session before its first event.
 * @param {string} id
 * @returns {View}
 */
export function emptySession(id) {
  return emptyView(id);
}

/**
 * Take one event.
 * @param {View} view
 * @param {Event} event
 * @returns {View} the same when the event changes nothing
 */
export function reduce(view, event) {
  return reduceAll(view, [event]);
}

/**
 * Take events that came together: what they change is copied once.
 * @param {View} view
 * @param {Iterable<Event>} events
 * @returns {View}
 */
export function reduceAll(view, events) {
  const draft = new Draft(view);
  for (const event of events) take(draft, event);
  return draft.now;
}

function take(/** @type {SessionDraft} */ draft, /** @type {Event} */ event) {
  // Whatever comes behind the last words of a service that stops comes from one that runs.
  if (draft.now.shuttingDown && event.type !== "shutting_down") draft.root.shuttingDown = false;
  if (typeof event.seq === "number" && typeof event.pos === "number") takeRecord(draft, event, event.pos);
  else if (Object.hasOwn(OF_THE_STREAM, event.type)) takeStreamSignal(draft, event);
  else {
    const session = event.session ?? null;
    const view = findSession(draft.now, session);
    if (view !== null) takeTurnSignal(draft, () => ownSession(draft, session), view, event);
  }
}

function takeStreamSignal(/** @type {SessionDraft} */ draft, /** @type {Event} */ event) {
  const view = ownSession(draft, event.session ?? null);
  if (view !== null) /** @type {any} */ (view)[OF_THE_STREAM[event.type]] = true;
}

function takeRecord(/** @type {SessionDraft} */ draft, /** @type {Event} */ event, /** @type {number} */ pos) {
  const { type, session } = event;
  if (event.seq <= (findSession(draft.now, session)?.lastSeq ?? 0)) return;
  if (type === "session_created" && event.parent) adopt(draft, /** @type {string} */ (session), event.parent);
  const view = ownSession(draft, session);
  if (view === null) return;
  const root = draft.root;
  root.lastPos = Math.max(root.lastPos ?? 0, pos);
  view.lastPos = Math.max(view.lastPos ?? 0, pos);
  view.lastSeq = event.seq;
  view.storeError = false;
  view.byHand = null;
  if (typeof event.turn === "string") {
    if (!Object.hasOwn(OF_A_TURN, type)) return;
    takeTurnRecord(draft, view, event);
    if (ABOUT_WAITING.has(type)) liftApprovals(draft, view.id);
  } else if (Object.hasOwn(OF_A_SESSION, type)) OF_A_SESSION[type](draft, view, event);
}

/**
 * Take note that the stream is live again.
 * @param {View} view
 * @returns {View}
 */
export function reconnected(view) {
  return view.shuttingDown ? { ...view, shuttingDown: false } : view;
}

/**
 * Find a session: this one, or one below it.
 * @param {View} view
 * @param {string} id
 * @returns {View|null}
 */
export function sessionOf(view, id) {
  return findSession(view, id);
}

/**
 * Find a call of a turn by its number.
 * @param {Turn} turn
 * @param {number} call
 * @returns {Call|null}
 */
export function callOf(turn, call) {
  for (const step of turn.steps) {
    const found = step.calls.find((one) => one.call === call);
    if (found !== undefined) return found;
  }
  return null;
}

/**
 * Say whether a turn goes on.
 * @param {Turn} turn
 */
export function isOpen(turn) {
  return turn.state !== "finished";
}
