// @ts-check
/** What records change in a turn, and in the session that it belongs to. */

import { plus, usageOf } from "../usage.js";
import { changeCall, decisionOf } from "./call.js";
import { adopt, ownTurn, waitOrGoOn } from "./family.js";
import { addUsage, forgetText, settle, stepOf } from "./step.js";

/**
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Notice} Notice
 * @typedef {import("./shapes.js").Turn} Turn
 * @typedef {import("./shapes.js").View} View
 * @typedef {import("../draft.js").Draft<View>} SessionDraft
 * @typedef {{draft: SessionDraft, view: View, turn: Turn, event: Event}} Place an own view and an own turn
 */

const CLASSES = ["public", "internal", "secret"];

/** @type {Record<string, (place: Place) => void>} */
export const OF_A_TURN = {
  turn_queued({ turn, event }) {
    turn.state = "queued";
    turn.content = event.content;
    turn.options = event.options;
    turn.queuedAt = event.time;
  },
  user({ draft, view, turn, event }) {
    takeUp(draft, view, turn.id);
    turn.state = "running";
    turn.content = event.content;
    turn.options = event.options;
    turn.startedAt = event.time;
    view.running = turn.id;
  },
  assistant({ draft, view, turn, event }) {
    settle(draft, stepOf(draft, turn, event.step), event);
    const toolCalls = event.tool_calls.length;
    if (toolCalls > 0) turn.iterations += 1;
    spend(view, turn, { toolCalls, completions: 0 });
  },
  usage({ draft, view, turn, event }) {
    spend(view, turn, usageOf(event));
    const reasoningTokens = event.reasoning_tokens;
    if (event.thinking_capped) notice(draft, turn, event, { reasoningTokens }, "thinking_capped");
    if (event.discarded) return;
    const settled = turn.steps.some((step) => step.number === event.step && step.settled);
    if (!settled) return;
    const step = stepOf(draft, turn, event.step);
    addUsage(step, event);
    // What isn't in the prompt fills no context.
    if (step.calls.length > 0 || step.content.trim()) view.usedTokens = event.prompt_tokens + event.completion_tokens;
  },
  attempt({ draft, turn, event }) {
    const step = stepOf(draft, turn, event.step);
    forgetText(step);
    step.attempts = event.attempt;
    step.retrying = { attempt: event.attempt, reason: event.kind, delayMs: null };
    notice(draft, turn, event, { attempt: event.attempt, reason: event.kind });
  },
  cache_loss({ draft, turn, event }) {
    const loss = {
      expectedTokens: event.expected_tokens,
      cachedTokens: event.cached_tokens,
      lostTokens: event.lost_tokens,
      reason: event.reason,
    };
    if (turn.steps.some((step) => step.number === event.step)) stepOf(draft, turn, event.step).cacheLoss = loss;
    notice(draft, turn, event, loss);
  },
  tool_call_started: takeCall,
  tool_result(place) {
    const { view, turn, event } = place;
    takeCall(place);
    view.untrusted ||= event.untrusted;
    view.class = higher(view.class, event.class);
    if (!turn.pending.some((one) => one.session === view.id && one.call === event.call)) return;
    turn.pending = turn.pending.filter((one) => one.session !== view.id || one.call !== event.call);
    waitOrGoOn(turn, null);
  },
  approval_requested({ draft, view, turn, event }) {
    const asked = event.calls.map((/** @type {any} */ call) => ({ ...call, decided: null }));
    turn.pending = [...turn.pending, ...asked];
    for (const { call } of event.calls) changeNumbered(draft, turn, call, event);
    waitOrGoOn(turn, event.time);
  },
  approval_decided(place) {
    const { view, turn, event } = place;
    takeCall(place);
    const { approved, by, reason } = decisionOf(event);
    turn.pending = turn.pending.map((one) =>
      one.session === view.id && one.call === event.call ? { ...one, decided: { approved, by, reason } } : one,
    );
    waitOrGoOn(turn, null);
  },
  handoff_started(place) {
    const { draft, view, turn, event } = place;
    adopt(draft, event.child.session, { session: view.id, turn: turn.id, call: event.call });
    takeCall(place);
  },
  handoff_returned: takeCall,
  summary({ draft, view, turn, event }) {
    spend(view, turn, usageOf(event.usage));
    summarise(draft, view, event);
    const { covers, tokens_before: tokensBefore, tokens_after: tokensAfter } = event;
    notice(draft, turn, event, { covers, tokensBefore, tokensAfter });
  },
  resumed({ draft, turn, event }) {
    const last = turn.steps.at(-1);
    // What was in flight when the service stopped is said anew.
    if (last !== undefined && !last.settled) forgetText(stepOf(draft, turn, last.number));
    notice(draft, turn, event, { attempt: event.attempt });
  },
  turn_finished({ view, turn, event }) {
    turn.state = "finished";
    turn.outcome = event.outcome;
    turn.limit = event.limit ?? null;
    turn.truncated = event.truncated;
    turn.error = event.error ?? null;
    turn.answer = event.content;
    turn.usage = usageOf(event.usage);
    turn.finishedAt = event.time;
    turn.pending = [];
    turn.approvalSince = null;
    // The log has nothing of them, so neither has whoever comes later.
    if (turn.steps.some((step) => !step.settled)) turn.steps = turn.steps.filter((step) => step.settled);
    view.usage = usageOf(event.totals.usage);
    view.class = event.totals.class;
    view.untrusted = event.totals.untrusted_seen;
    if (view.running === turn.id) view.running = null;
  },
};

/** Put a turn behind those that were taken up before it, and before those that still wait. */
function takeUp(/** @type {SessionDraft} */ draft, /** @type {View} */ view, /** @type {string} */ id) {
  const order = draft.within(view, "order");
  order.splice(order.lastIndexOf(id), 1);
  const place = order.findLastIndex((other) => view.turns[other].state !== "queued");
  order.splice(place + 1, 0, id);
}

function takeCall(/** @type {Place} */ { draft, turn, event }) {
  changeNumbered(draft, turn, event.call, event);
}

/** Only the last batch can be open. */
function changeNumbered(
  /** @type {SessionDraft} */ draft,
  /** @type {Turn} */ turn,
  /** @type {number} */ number,
  /** @type {Event} */ event,
) {
  const at = turn.steps.findLast((step) => step.calls.length > 0);
  const place = at?.calls.findIndex((call) => call.call === number) ?? -1;
  if (at === undefined || place < 0) return;
  changeCall(draft.within(draft.within(stepOf(draft, turn, at.number), "calls"), place), event);
}

function spend(/** @type {View} */ view, /** @type {Turn|null} */ turn, /** @type {object} */ spent) {
  const usage = { ...usageOf({}), ...spent };
  view.usage = plus(view.usage, usage);
  if (turn !== null) turn.usage = plus(turn.usage, usage);
}

function summarise(/** @type {SessionDraft} */ draft, /** @type {View} */ view, /** @type {Event} */ event) {
  view.usedTokens = event.tokens_after;
  draft.within(view, "summaries").push({
    seq: event.seq,
    turn: event.turn ?? null,
    covers: event.covers,
    tokensBefore: event.tokens_before,
    tokensAfter: event.tokens_after,
    text: event.text,
    shortened: event.shortened,
    class: event.class,
    untrusted: event.untrusted,
    time: event.time,
  });
}

function notice(
  /** @type {SessionDraft} */ draft,
  /** @type {Turn} */ turn,
  /** @type {Event} */ event,
  /** @type {object} */ told,
  kind = event.type,
) {
  const { seq, time, step = null } = event;
  draft.within(turn, "notices").push(/** @type {Notice} */ ({ kind, seq, time, step, ...told }));
}

function higher(/** @type {string} */ one, /** @type {string} */ other) {
  return CLASSES.indexOf(other) > CLASSES.indexOf(one) ? other : one;
}

/** @type {Record<string, (draft: SessionDraft, view: View, event: Event) => void>} */
export const OF_A_SESSION = {
  session_created(draft, view, event) {
    view.created = event;
    view.baseline = event.baseline;
    view.agent = event.agent ?? null;
    view.parent = event.parent ?? null;
    view.fork = event.fork ?? null;
    view.class = event.class ?? "public";
    view.untrusted = event.untrusted ?? false;
  },
  /** By hand: those of a turn are told above. */
  summary(draft, view, event) {
    spend(view, null, usageOf(event.usage));
    summarise(draft, view, event);
  },
};

/**
 * Take a record of a turn.
 * @param {SessionDraft} draft
 * @param {View} view an own one
 * @param {Event} event
 */
export function takeTurnRecord(draft, view, event) {
  const turn = ownTurn(draft, view, /** @type {string} */ (event.turn));
  if (turn.firstSeq === 0) turn.firstSeq = event.seq;
  turn.lastSeq = event.seq;
  // All of these are of what was before this record; whoever comes later is not told of them.
  turn.queuedPosition = null;
  turn.waiting = null;
  turn.progress = null;
  OF_A_TURN[event.type]({ draft, view, turn, event });
}
