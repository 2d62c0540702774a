// @ts-check
/**
 * The view state of one reading: a fold of its events, live or replayed, to the same value.
 *
 * A new object only where something changed.
 */

import { Draft } from "./draft.js";
import { passPlace } from "./reading/passes.js";
import { RECORDS } from "./reading/records.js";
import { emptyView } from "./reading/shapes.js";
import { takeSignal } from "./reading/signals.js";

/**
 * @typedef {import("./reading/shapes.js").Cell} Cell
 * @typedef {import("./reading/shapes.js").Event} Event
 * @typedef {import("./reading/shapes.js").Evidence} Evidence
 * @typedef {import("./reading/shapes.js").Memory} Memory
 * @typedef {import("./reading/shapes.js").Pass} Pass
 * @typedef {import("./reading/shapes.js").Reading} Reading
 * @typedef {Draft<Reading>} ReadingDraft
 */

/** Signals about the stream. */
const OF_THE_STREAM = /** @type {const} */ ({
  resync: "outOfDate",
  shutting_down: "shuttingDown",
  store_error: "storeError",
});

/**
 * A reading before its first event.
 * @param {string} id
 * @returns {Reading}
 */
export function emptyReading(id) {
  return emptyView(id);
}

/**
 * Take one event.
 * @param {Reading} view
 * @param {Event} event
 * @returns {Reading} the same when the event changes nothing
 */
export function reduce(view, event) {
  return reduceAll(view, [event]);
}

/**
 * Take events that came together: what they change is copied once.
 * @param {Reading} view
 * @param {Iterable<Event>} events
 * @returns {Reading}
 */
export function reduceAll(view, events) {
  const draft = new Draft(view);
  for (const event of events) take(draft, event);
  return draft.now;
}

function take(/** @type {ReadingDraft} */ draft, /** @type {Event} */ event) {
  // Whatever comes behind the last words of a service that stops comes from one that runs.
  if (draft.now.shuttingDown && event.type !== "shutting_down") draft.root.shuttingDown = false;
  if (typeof event.seq === "number" && typeof event.pos === "number") takeRecord(draft, event, event.pos);
  else if (Object.hasOwn(OF_THE_STREAM, event.type)) {
    draft.root[OF_THE_STREAM[/** @type {keyof typeof OF_THE_STREAM} */ (event.type)]] = true;
  } else takeSignal(draft, event);
}

function takeRecord(/** @type {ReadingDraft} */ draft, /** @type {Event} */ event, /** @type {number} */ pos) {
  if (event.seq <= draft.now.lastSeq) return;
  const { root } = draft;
  root.lastPos = pos;
  root.lastSeq = event.seq;
  root.storeError = false;
  root.queuedPosition = null;
  root.waiting = null;
  if (Object.hasOwn(RECORDS, event.type)) RECORDS[event.type](draft, event);
}

/**
 * Take note that the stream is live again.
 * @param {Reading} view
 * @returns {Reading}
 */
export function reconnected(view) {
  return view.shuttingDown ? { ...view, shuttingDown: false } : view;
}

/**
 * Find a pass: that over one document, or at level 2 the one over all memories.
 * @param {Reading} view
 * @param {number} level
 * @param {number} document
 * @returns {Pass|null}
 */
export function passOf(view, level, document) {
  return view.passes[passPlace(view, level, document)] ?? null;
}

/**
 * Find the cell of a chunk.
 * @param {Reading} view
 * @param {{level: number, document: number, chunk: number}} place
 * @returns {Cell|null}
 */
export function cellOf(view, { level, document, chunk }) {
  return passOf(view, level, document)?.cells[chunk - 1] ?? null;
}

/**
 * Find evidence by its hash.
 * @param {Reading} view
 * @param {string} sha256
 * @returns {Evidence|null}
 */
export function evidenceOf(view, sha256) {
  return view.evidence[sha256] ?? null;
}

/**
 * Give a memory and those that it was made from, newest first, within its pass.
 * @param {Reading} view
 * @param {string} sha256
 * @returns {Memory[]}
 */
export function chainOf(view, sha256) {
  /** @type {Memory[]} */
  const chain = [];
  const seen = new Set();
  /** @type {string|undefined} */
  let next = sha256;
  while (next !== undefined && !seen.has(next)) {
    seen.add(next);
    /** @type {Memory|undefined} */
    const memory = view.memoryBySha[next];
    if (memory === undefined) break;
    chain.push(memory);
    // The evidence comes first, then the memory before, if there was one.
    next = memory.parents[1];
  }
  return chain;
}
