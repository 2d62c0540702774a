// @ts-check
/** The list of all sessions, newest first: pages of the service, kept up to date by the events of all sessions. */

import { Draft } from "./draft.js";
import { CHANGES, ask, ownRow, put, remove, setPending } from "./sessions/rows.js";

/**
 * @typedef {import("./session/shapes.js").Event} Event
 * @typedef {import("./sessions/rows.js").Row} Row
 * @typedef {import("./sessions/rows.js").List} List
 * @typedef {Draft<List>} ListDraft
 */

/** A list before the first page. @returns {List} */
export function emptyList() {
  return { rows: {}, order: [], unknown: new Set(), next: null };
}

/**
 * Add a page of `GET /sessions`.
 * @param {List} list
 * @param {{items: any[], next: string|null}} page
 * @returns {List}
 */
export function withPage(list, page) {
  const draft = new Draft(list);
  for (const resource of page.items) put(draft, resource);
  draft.root.next = page.next;
  return draft.now;
}

/**
 * Add or renew one session as the service answered it.
 * @param {List} list
 * @param {any} resource
 * @returns {List}
 */
export function withSession(list, resource) {
  const draft = new Draft(list);
  put(draft, resource);
  return draft.now;
}

/**
 * Forget a session, and those below it.
 * @param {List} list
 * @param {string} id
 * @returns {List}
 */
export function withoutSession(list, id) {
  const draft = new Draft(list);
  remove(draft, id);
  return draft.now;
}

/**
 * Take the listing of all that waits for people: pages do not tell of it.
 * @param {List} list
 * @param {{items: any[]}} listing of `GET /approvals`
 * @returns {List}
 */
export function withApprovals(list, listing) {
  const draft = new Draft(list);
  for (const id of list.order) if (list.rows[id].pendingCount > 0) setPending(draft, id, {});
  for (const call of listing.items) ask(draft, call.session, call);
  return draft.now;
}

/**
 * Take one event of `GET /events`.
 * @param {List} list
 * @param {Event} event
 * @returns {List} the same when it changes nothing, as text does
 */
export function reduce(list, event) {
  return reduceAll(list, [event]);
}

/**
 * Take events that came together.
 * @param {List} list
 * @param {Iterable<Event>} events
 * @returns {List}
 */
export function reduceAll(list, events) {
  const draft = new Draft(list);
  for (const event of events) take(draft, event);
  return draft.now;
}

/**
 * Find rows by title, agent, model, id, metadata or last text, all words of the search in any case.
 * @param {List} list
 * @param {string} text
 * @returns {Row[]} newest first
 */
export function filtered(list, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return list.order
    .map((id) => list.rows[id])
    .filter((row) => {
      const shown = [row.title, row.agent, row.model, row.id, row.lastText, ...Object.values(row.metadata)];
      const all = shown.join("\n").toLowerCase();
      return words.every((word) => all.includes(word));
    });
}

function take(/** @type {ListDraft} */ draft, /** @type {Event} */ event) {
  const { type, session } = event;
  if (typeof session !== "string") return;
  if (type === "session_deleted") return remove(draft, session);
  if (typeof event.seq !== "number") return;
  const row = draft.now.rows[session];
  if (row === undefined) {
    if (!draft.now.unknown.has(session)) draft.root.unknown = new Set([...draft.now.unknown, session]);
    return;
  }
  if (event.seq <= row.lastSeq) return;
  const own = ownRow(draft, session);
  own.lastSeq = event.seq;
  own.updatedAt = event.time;
  if (Object.hasOwn(CHANGES, type)) CHANGES[type](draft, own, event);
}
