// @ts-check
/** What the signals of a reading change; a signal about a chunk of which there are records changes nothing. */

import { codePoints, dropCodePoints } from "../text.js";
import { ownCell, ownPass, passPlace } from "./passes.js";
import { newReply } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Reading} Reading
 * @typedef {import("./shapes.js").Reply} Reply
 * @typedef {import("../draft.js").Draft<Reading>} ReadingDraft
 */

const MS_OF_A_SECOND = 1000;

/** @type {Record<string, (draft: ReadingDraft, event: Event) => void>} */
const OF_THE_READING = {
  queued({ root }, event) {
    root.waiting = null;
    root.queuedPosition = event.position;
  },
  waiting({ root }, event) {
    root.queuedPosition = null;
    root.waiting = { reason: event.reason, waitedMs: event.waited_ms };
  },
  progress({ root }, event) {
    root.progress = {
      seen: event.chunks_seen,
      of: event.chunks,
      tokensPerSecond: event.tokens_per_second,
      leftMs: event.left_s === null ? null : event.left_s * MS_OF_A_SECOND,
    };
  },
};

/** @type {Record<string, (reply: Reply, event: Event) => void>} */
const OF_A_REPLY = {
  chunk_started(reply) {
    Object.assign(reply, newReply());
  },
  content(reply, event) {
    // Another reply about the same chunk begins anew.
    const known = event.offset === 0 ? "" : reply.text;
    const length = event.offset === 0 ? 0 : reply.length;
    reply.text = known + dropCodePoints(event.text, Math.max(0, length - event.offset));
    reply.length = Math.max(length, event.offset + codePoints(event.text));
    reply.retrying = null;
  },
  partial(reply, event) {
    Object.assign(reply, newReply(), { text: event.content, length: codePoints(event.content) });
  },
  retrying(reply, event) {
    const retrying = { attempt: event.attempt, reason: event.reason, delayMs: event.delay_ms };
    Object.assign(reply, newReply(), { retrying });
  },
};

/** Text that comes ends all waiting for it. */
const BRINGS_TEXT = new Set(["content", "partial"]);

/**
 * Take a signal of a reading.
 * @param {ReadingDraft} draft
 * @param {Event} event
 */
export function takeSignal(draft, event) {
  if (draft.now.state === "finished") return;
  if (Object.hasOwn(OF_THE_READING, event.type)) OF_THE_READING[event.type](draft, event);
  else if (Object.hasOwn(OF_A_REPLY, event.type)) takeOfReply(draft, event);
}

function takeOfReply(/** @type {ReadingDraft} */ draft, /** @type {Event} */ event) {
  const reply = event.chunk === null ? ownDrafting(draft) : ownOpenCell(draft, event);
  if (reply === null) return;
  OF_A_REPLY[event.type](reply, event);
  if (!BRINGS_TEXT.has(event.type)) return;
  draft.root.queuedPosition = null;
  draft.root.waiting = null;
}

function ownDrafting(/** @type {ReadingDraft} */ draft) {
  if (draft.now.answer !== null) return null;
  if (draft.now.drafting === null) draft.root.drafting = draft.made(newReply());
  return draft.within(draft.root, "drafting");
}

function ownOpenCell(/** @type {ReadingDraft} */ draft, /** @type {Event} */ event) {
  const { level, document, chunk } = event;
  const known = draft.now.passes[passPlace(draft.now, level, document)]?.cells[chunk - 1];
  if (known === undefined || (known.state !== "waiting" && known.state !== "reading")) return null;
  const cell = ownCell(draft, ownPass(draft, level, document), chunk);
  if (cell !== null) cell.state = "reading";
  return cell;
}
