// @ts-check
/** What the records of a reading change. */

import { plus, usageOf } from "../usage.js";
import { closeChunk, leaveOpenChunks, loseDraft, ownCell, ownPass, plan, takeGate } from "./passes.js";
import { newReply } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Reading} Reading
 * @typedef {import("../draft.js").Draft<Reading>} ReadingDraft
 */

/** @type {Record<string, (draft: ReadingDraft, event: Event) => void>} */
export const RECORDS = {
  reading_created({ root }, event) {
    root.created = event;
    root.query = event.query;
    root.options = event.options;
    root.model = event.model ?? null;
    root.createdAt = event.time;
    root.documents = event.documents.map((/** @type {any} */ one) => ({
      name: one.name,
      mediaType: one.media_type,
      bytes: one.bytes,
      sha256: one.sha256,
      chunks: null,
    }));
  },
  reading_planned(draft, event) {
    const { root } = draft;
    root.state = "running";
    root.model = event.model ?? root.model;
    root.plan = {
      contextTokens: event.context_tokens,
      chunkTokens: event.chunk_tokens,
      answerTokens: event.answer_tokens,
      template: event.template,
      fence: event.fence,
    };
    root.documents = root.documents.map((document, at) => ({ ...document, chunks: event.ends[at].length }));
    plan(draft, event);
  },
  gate(draft, event) {
    const { pass, cell } = ownPlace(draft, event);
    if (pass === null || cell === null) return;
    takeGate(draft.now, pass, event);
    if (event.exit_refused) draft.root.exitsRefused += 1;
    Object.assign(cell, newReply(), { state: "kept" });
    cell.update = event.update;
    cell.exit = event.exit;
    cell.pUpdate = event.update_probability ?? null;
    cell.pExit = event.exit_probability ?? null;
    cell.exitRefused = event.exit_refused ?? false;
    cell.draft = event.draft ?? null;
    cell.pDraft = event.draft_probability ?? null;
  },
  evidence(draft, event) {
    const pass = ownPass(draft, event.level + 1, event.document);
    if (pass === null) return;
    const { level, document, start, end, sha256 } = event;
    const chunk = pass.seen + 1;
    const cell = ownCell(draft, pass, chunk);
    if (cell !== null) cell.evidence = sha256;
    const by = { level: pass.level, document, chunk };
    draft.within(draft.root, "evidence")[sha256] = { level, document, start, end, sha256, by };
  },
  memory(draft, event) {
    const { pass, cell } = ownPlace(draft, event);
    if (pass === null || cell === null) return;
    const { level, document, chunk, text, tokens, sha256, parents, seq, time } = event;
    const memory = { level, document, chunk, text, tokens, sha256, parents, seq, time };
    pass.memory = memory;
    pass.used += 1;
    cell.state = "used";
    cell.memory = sha256;
    cell.tokens = tokens;
    draft.root.used += 1;
    draft.within(draft.root, "memories").push(memory);
    draft.within(draft.root, "memoryBySha")[sha256] = memory;
  },
  budget_exceeded(draft, event) {
    const { pass, cell } = ownPlace(draft, event);
    if (pass === null || cell === null) return;
    // Cut before it ended: there was no gate, so nothing was said of an answer.
    if (event.tokens === null) loseDraft(pass);
    Object.assign(cell, newReply(), { state: "over_budget" });
    cell.tokens = event.tokens;
  },
  parse_failed(draft, event) {
    const { pass, cell } = ownPlace(draft, event);
    if (pass === null || cell === null) return;
    loseDraft(pass);
    Object.assign(cell, newReply(), { state: "parse_failed" });
    cell.attempts = event.attempts;
    cell.reason = event.reason;
  },
  usage(draft, event) {
    const { root } = draft;
    const usage = usageOf(event.usage);
    root.usage = plus(root.usage, usage);
    root.calls += usage.completions;
    if (event.chunk === null) {
      root.drafting = null;
      return;
    }
    const { pass, cell } = ownPlace(draft, event);
    if (pass === null || cell === null) return;
    cell.usage = usage;
    cell.closed = true;
    root.seen += 1;
    closeChunk(draft, pass);
  },
  answer({ root }, event) {
    root.answer = { content: event.content, memory: event.memory, truncated: event.truncated ?? false };
    root.drafting = null;
  },
  run_end(draft, event) {
    leaveOpenChunks(draft);
    const { root } = draft;
    root.state = "finished";
    root.outcome = event.outcome;
    root.error = event.error ?? null;
    root.finalMemory = event.final_memory_sha;
    root.seen = event.chunks_seen;
    root.used = event.chunks_used;
    root.calls = event.calls;
    root.exitsRefused = event.exits_refused;
    root.usage = usageOf(event.usage);
    root.finishedAt = event.time;
    root.drafting = null;
    root.progress = null;
  },
};

function ownPlace(/** @type {ReadingDraft} */ draft, /** @type {Event} */ event) {
  const pass = ownPass(draft, event.level, event.document);
  return { pass, cell: ownCell(draft, pass, event.chunk) };
}
