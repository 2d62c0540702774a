// @ts-check
/** A session and those below it: where each hangs, and how what a child waits for is shown by its parents. */

import { emptyView, newTurn } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Turn} Turn
 * @typedef {import("./shapes.js").View} View
 * @typedef {import("../draft.js").Draft<View>} SessionDraft
 */

/**
 * Find a session, to be read only.
 * @param {View} root
 * @param {string|null} id null: the root
 * @returns {View|null}
 */
export function findSession(root, id) {
  if (id === null || id === root.id) return root;
  const link = root.family[id];
  if (link === undefined) return null;
  return findSession(root, link.session)?.children[id] ?? null;
}

/**
 * Give a session to be changed; a child that is known by its handoff alone is made.
 * @param {SessionDraft} draft
 * @param {string|null} id
 * @returns {View|null} null when it is none of this family
 */
export function ownSession(draft, id) {
  if (id === null || id === draft.now.id) return draft.root;
  const link = draft.now.family[id];
  if (link === undefined) return null;
  const parent = ownSession(draft, link.session);
  if (parent === null) return null;
  const children = draft.within(parent, "children");
  if (children[id] === undefined) children[id] = draft.made(emptyView(id));
  return draft.within(children, id);
}

/**
 * Give a turn to be changed; a new one where there is none.
 * @param {SessionDraft} draft
 * @param {View} view an own one
 * @param {string} id
 */
export function ownTurn(draft, view, id) {
  const turns = draft.within(view, "turns");
  if (turns[id] === undefined) {
    turns[id] = draft.made(newTurn(id, view.id));
    draft.within(view, "order").push(id);
  }
  return draft.within(turns, id);
}

/**
 * Take note of where a child hangs.
 * @param {SessionDraft} draft
 * @param {string} child
 * @param {import("./shapes.js").CallLink} link
 */
export function adopt(draft, child, link) {
  const isKnown = link.session === draft.now.id || draft.now.family[link.session] !== undefined;
  if (!isKnown || child === draft.now.id || draft.now.family[child] !== undefined) return;
  draft.within(draft.root, "family")[child] = { session: link.session, turn: link.turn, call: link.call };
}

/**
 * Show what a child's turn waits for in the turns above it, as the service does.
 * @param {SessionDraft} draft
 * @param {string} child
 */
export function liftApprovals(draft, child) {
  const link = draft.now.family[child];
  if (link === undefined) return;
  const below = findSession(draft.now, child);
  const open = below?.turns[below.running ?? ""];
  const above = findSession(draft.now, link.session)?.turns[link.turn];
  if (above === undefined || above.state === "finished") return;
  if (above.pending.length === 0 && !open?.pending.length) return;
  const parent = ownSession(draft, link.session);
  if (parent === null) return;
  const turn = ownTurn(draft, parent, link.turn);
  turn.pending = [...turn.pending.filter((one) => one.session === parent.id), ...(open?.pending ?? [])];
  waitOrGoOn(turn, open?.approvalSince ?? null);
  liftApprovals(draft, parent.id);
}

/**
 * Let a turn wait for people as long as anything of it is undecided, and no longer.
 * @param {Turn} turn an own one
 * @param {string|null} since when it began to wait, if it does so just now
 */
export function waitOrGoOn(turn, since) {
  if (turn.pending.some((one) => one.decided === null)) {
    turn.state = "awaiting_approval";
    turn.approvalSince ??= since;
    return;
  }
  if (turn.pending.length > 0) turn.pending = [];
  if (turn.state === "awaiting_approval") turn.state = "running";
  turn.approvalSince = null;
}
