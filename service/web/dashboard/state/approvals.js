// @ts-check
/** What waits for a person, over all sessions: the service's listing, kept up to date by the events of all sessions. */

import { Draft } from "./draft.js";

/**
 * @typedef {import("./session/shapes.js").Event} Event
 * @typedef {{approved: boolean|null, by: string|null, reason: string|null, how: "decided"|"expired"|"ended"}} Elsewhere
 *   `expired`: nobody decided in time; `ended`: its turn ended, or it was gone when the listing was fetched anew
 *
 * @typedef {object} Item a PENDING of the service
 * @property {string} key
 * @property {string} session
 * @property {string} turn
 * @property {number} call
 * @property {string} tool_call_id
 * @property {string} name
 * @property {string} title
 * @property {string} arguments
 * @property {string} digest
 * @property {string} reason
 * @property {string} asked_at
 * @property {string|null} expires_at
 * @property {Elsewhere|null} decidedElsewhere
 *
 * @typedef {object} Inbox
 * @property {Record<string, Item>} items
 * @property {Record<string, true>} here those that are being decided here
 * @property {Record<string, true>} settled the last ones that were settled, by their digests
 *
 * @typedef {Draft<Inbox>} InboxDraft
 */

/** So many that were settled elsewhere are shown at most, though nobody acknowledges them. */
const UNREAD_KEPT = 20;
/** So many are remembered: a listing that was on its way when they were settled shows them again. */
const SETTLED_KEPT = 500;
const EXPIRED = '"approval expired"';

/** An inbox before the first listing. @returns {Inbox} */
export function emptyInbox() {
  return { items: {}, here: {}, settled: {} };
}

/**
 * What a call is known by here.
 * @param {{session: string, call: number}} call
 */
export function keyOf(call) {
  return `${call.session}/${call.call}`;
}

/**
 * Take the listing of `GET /approvals`: what it doesn't hold any more was settled meanwhile.
 * @param {Inbox} inbox
 * @param {{items: any[]}} listing
 * @param {Inbox} [before] the inbox when the listing was asked for: what came since may be missing in it
 * @returns {Inbox}
 */
export function withListing(inbox, listing, before = inbox) {
  const draft = new Draft(inbox);
  const listed = new Set(listing.items.map(keyOf));
  for (const item of Object.values(inbox.items)) {
    const gone = { approved: null, by: null, reason: null, how: /** @type {const} */ ("ended") };
    const isOld = before.items[item.key] !== undefined;
    if (isOld && !listed.has(item.key) && item.decidedElsewhere === null) settle(draft, item.key, gone);
  }
  for (const call of listing.items) if (!draft.now.settled[call.digest]) add(draft, call);
  return draft.now;
}

/**
 * Take one event.
 * @param {Inbox} inbox
 * @param {Event} event
 * @returns {Inbox} the same when it changes nothing
 */
export function reduce(inbox, event) {
  return reduceAll(inbox, [event]);
}

/**
 * Take events that came together.
 * @param {Inbox} inbox
 * @param {Iterable<Event>} events
 * @returns {Inbox}
 */
export function reduceAll(inbox, events) {
  const draft = new Draft(inbox);
  for (const event of events) if (Object.hasOwn(CHANGES, event.type)) CHANGES[event.type](draft, event);
  return draft.now;
}

/**
 * Count what waits.
 * @param {Inbox} inbox
 */
export function count(inbox) {
  return waiting(inbox).length;
}

/**
 * Give what waits, what was asked first before the others.
 * @param {Inbox} inbox
 * @returns {Item[]}
 */
export function waiting(inbox) {
  return Object.values(inbox.items)
    .filter((item) => item.decidedElsewhere === null)
    .sort((one, other) => Date.parse(one.asked_at) - Date.parse(other.asked_at) || one.call - other.call);
}

/**
 * Take note that a decision is being sent from here: the call then leaves without a word.
 * @param {Inbox} inbox
 * @param {{session: string, call: number}} call
 * @returns {Inbox}
 */
export function decidedHere(inbox, call) {
  return { ...inbox, here: { ...inbox.here, [keyOf(call)]: true } };
}

/**
 * Take note that the service did not take it.
 * @param {Inbox} inbox
 * @param {{session: string, call: number}} call
 * @returns {Inbox}
 */
export function notDecidedHere(inbox, call) {
  const { [keyOf(call)]: _, ...here } = inbox.here;
  return { ...inbox, here };
}

/**
 * Drop a call that was settled elsewhere, once somebody has read that.
 * @param {Inbox} inbox
 * @param {{session: string, call: number}} call
 * @returns {Inbox}
 */
export function acknowledged(inbox, call) {
  if (!inbox.items[keyOf(call)]?.decidedElsewhere) return inbox;
  const { [keyOf(call)]: _, ...items } = inbox.items;
  return { ...inbox, items };
}

function add(/** @type {InboxDraft} */ draft, /** @type {any} */ call) {
  const key = keyOf(call);
  if (draft.now.items[key]?.digest === call.digest) return;
  draft.within(draft.root, "items")[key] = draft.made({ ...call, key, decidedElsewhere: null });
}

function settle(/** @type {InboxDraft} */ draft, /** @type {string} */ key, /** @type {Elsewhere} */ elsewhere) {
  const item = draft.now.items[key];
  if (item === undefined || item.decidedElsewhere !== null) return;
  const root = draft.root;
  const items = draft.within(root, "items");
  remember(draft, item.digest);
  if (root.here[key]) {
    delete items[key];
    delete draft.within(root, "here")[key];
    return;
  }
  // Put behind the others, so that the oldest one that is unread goes first.
  delete items[key];
  items[key] = draft.made({ ...item, decidedElsewhere: elsewhere });
  const unread = Object.values(items).filter((one) => one.decidedElsewhere !== null);
  for (const old of unread.slice(0, Math.max(0, unread.length - UNREAD_KEPT))) delete items[old.key];
}

function remember(/** @type {InboxDraft} */ draft, /** @type {string} */ digest) {
  const settled = draft.within(draft.root, "settled");
  settled[digest] = true;
  const digests = Object.keys(settled);
  for (const old of digests.slice(0, Math.max(0, digests.length - SETTLED_KEPT))) delete settled[old];
}

/** @type {Record<string, (draft: InboxDraft, event: Event) => void>} */
const CHANGES = {
  approval_requested(draft, event) {
    for (const call of event.calls) {
      const { settled } = draft.now;
      // It is asked again, as after an approval that the port wants as well.
      if (settled[call.digest]) delete draft.within(draft.root, "settled")[call.digest];
      add(draft, call);
    }
  },
  approval_decided(draft, event) {
    const { approved, by, reason = null } = event;
    settle(draft, keyOf(/** @type {any} */ (event)), { approved, by, reason, how: "decided" });
  },
  tool_result(draft, event) {
    const key = keyOf(/** @type {any} */ (event));
    if (draft.now.items[key] === undefined) return;
    const how = event.status === "denied" && event.content.includes(EXPIRED) ? "expired" : "ended";
    settle(draft, key, { approved: null, by: null, reason: null, how });
  },
  turn_finished(draft, event) {
    const isOfTurn = (/** @type {Item} */ item) => item.session === event.session && item.turn === event.turn;
    // What somebody else has decided stays until it is read.
    drop(draft, (item) => isOfTurn(item) && (item.decidedElsewhere === null || item.decidedElsewhere.how === "ended"));
  },
  session_deleted(draft, event) {
    drop(draft, (item) => item.session === event.session);
  },
};

function drop(/** @type {InboxDraft} */ draft, /** @type {(item: Item) => boolean} */ isGone) {
  for (const item of Object.values(draft.now.items)) {
    if (!isGone(item)) continue;
    remember(draft, item.digest);
    delete draft.within(draft.root, "items")[item.key];
    if (draft.now.here[item.key]) delete draft.within(draft.root, "here")[item.key];
  }
}
