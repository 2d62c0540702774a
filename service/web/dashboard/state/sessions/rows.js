// @ts-check
/** One row of the list of sessions, and what changes it. */

import { clip } from "../text.js";

/**
 * @typedef {import("../session/shapes.js").Event} Event
 * @typedef {object} Row
 * @property {string} id
 * @property {string} title
 * @property {Record<string, string>} metadata
 * @property {string|null} agent
 * @property {string|null} model
 * @property {"idle"|"running"|"awaiting_approval"} state
 * @property {string} createdAt
 * @property {string} updatedAt
 * @property {{session: string, turn: string, call: number}|null} parent
 * @property {{session: string, seq: number}|null} fork
 * @property {string|null} running
 * @property {string[]} queued
 * @property {string|null} outcome of the last turn that ended
 * @property {string|null} limit
 * @property {number} pendingCount
 * @property {Record<string, true>} pending the calls that wait, as "session/call": its own and those of its children
 * @property {string|null} lastText the last message or answer, shortened
 * @property {number} lastSeq
 *
 * @typedef {object} List
 * @property {Record<string, Row>} rows
 * @property {string[]} order newest first
 * @property {Set<string>} unknown sessions that were named by an event: to be fetched
 * @property {string|null} next the cursor of the next page
 *
 * @typedef {import("../draft.js").Draft<List>} ListDraft
 */

const SHOWN_CHARACTERS = 200;

/** Add or renew a row as the service answered it. */
export function put(/** @type {ListDraft} */ draft, /** @type {any} */ resource) {
  const known = draft.now.rows[resource.id];
  // An answer that was on its way while events came: they know better.
  const isOld = known !== undefined && known.lastSeq > resource.last_seq;
  /** @type {Row} */
  const row = {
    ...(known ?? { outcome: null, limit: null, pending: {}, pendingCount: 0, lastText: null }),
    ...(isOld ? {} : stateOf(resource)),
    id: resource.id,
    title: resource.title,
    metadata: resource.metadata,
    agent: resource.agent,
    model: resource.baseline.model,
    createdAt: resource.created_at,
    parent: resource.parent,
    fork: resource.fork,
  };
  const root = draft.root;
  if (known === undefined) insert(draft.within(root, "order"), row.id);
  draft.within(root, "rows")[row.id] = draft.made(row);
  if (root.unknown.has(row.id)) root.unknown = new Set([...root.unknown].filter((id) => id !== row.id));
}

function stateOf(/** @type {any} */ resource) {
  return {
    state: resource.state,
    running: resource.running,
    queued: resource.queued,
    updatedAt: resource.updated_at,
    lastSeq: resource.last_seq,
  };
}

/** Ids are sortable by creation; new ones go to the front, pages to the end. */
function insert(/** @type {string[]} */ order, /** @type {string} */ id) {
  const place = order[0] < id ? 0 : order.findIndex((other) => other < id);
  order.splice(place < 0 ? order.length : place, 0, id);
}

/** Drop a row, and those of the sessions below it. */
export function remove(/** @type {ListDraft} */ draft, /** @type {string} */ id) {
  const { unknown, rows, order } = draft.now;
  if (unknown.has(id)) draft.root.unknown = new Set([...unknown].filter((other) => other !== id));
  if (rows[id] === undefined) return;
  const below = order.filter((other) => rows[other].parent?.session === id);
  delete draft.within(draft.root, "rows")[id];
  draft.root.order = draft.made(order.filter((other) => other !== id));
  for (const other of below) remove(draft, other);
}

/** Give a row to be changed. */
export function ownRow(/** @type {ListDraft} */ draft, /** @type {string} */ id) {
  return draft.within(draft.within(draft.root, "rows"), id);
}

/**
 * What a record changes in its session's row.
 * @type {Record<string, (draft: ListDraft, row: Row, event: Event) => void>}
 */
export const CHANGES = {
  turn_queued(_, row, event) {
    row.queued = [...row.queued, /** @type {string} */ (event.turn)];
    settleState(row);
  },
  user(_, row, event) {
    row.running = event.turn ?? null;
    row.queued = row.queued.filter((turn) => turn !== event.turn);
    row.lastText = shortened(event.content);
    settleState(row);
  },
  approval_requested(draft, row, event) {
    for (const call of event.calls) ask(draft, row.id, call);
  },
  approval_decided: answered,
  tool_result: answered,
  turn_finished(draft, row, event) {
    row.queued = row.queued.filter((turn) => turn !== event.turn);
    if (row.running === event.turn) row.running = null;
    row.outcome = event.outcome;
    row.limit = event.limit ?? null;
    if (event.content) row.lastText = shortened(event.content);
    // A queued turn that is cancelled leaves the running one waiting.
    if (row.running === null) for (const key of Object.keys(row.pending)) answer(draft, row.id, key);
    settleState(row);
  },
};

function answered(/** @type {ListDraft} */ draft, /** @type {Row} */ row, /** @type {Event} */ event) {
  answer(draft, row.id, `${row.id}/${event.call}`);
}

/** A parent waits for what its child waits for. */
export function ask(/** @type {ListDraft} */ draft, /** @type {string} */ id, /** @type {any} */ call) {
  const row = draft.now.rows[id];
  if (row === undefined) return;
  setPending(draft, id, { ...row.pending, [`${call.session}/${call.call}`]: true });
  if (row.parent !== null) ask(draft, row.parent.session, call);
}

function answer(/** @type {ListDraft} */ draft, /** @type {string} */ id, /** @type {string} */ key) {
  const row = draft.now.rows[id];
  if (row === undefined || row.pending[key] === undefined) return;
  const { [key]: _, ...rest } = row.pending;
  setPending(draft, id, rest);
  if (row.parent !== null) answer(draft, row.parent.session, key);
}

/**
 * Set the calls that a session waits for.
 * @param {ListDraft} draft
 * @param {string} id
 * @param {Record<string, true>} pending
 */
export function setPending(draft, id, pending) {
  const row = ownRow(draft, id);
  row.pending = pending;
  row.pendingCount = Object.keys(pending).length;
  settleState(row);
}

function settleState(/** @type {Row} */ row) {
  if (row.pendingCount > 0) row.state = "awaiting_approval";
  else row.state = row.running !== null || row.queued.length > 0 ? "running" : "idle";
}

function shortened(/** @type {string} */ text) {
  return clip(text, SHOWN_CHARACTERS);
}
