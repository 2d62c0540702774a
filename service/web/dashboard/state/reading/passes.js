// @ts-check
/** The passes of a reading over its chunks: which there are, where each is, and when one is through. */

import { utf8Length } from "../text.js";
import { newCell, newPass, newReply } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Cell} Cell
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Pass} Pass
 * @typedef {import("./shapes.js").Reading} Reading
 * @typedef {import("../draft.js").Draft<Reading>} ReadingDraft
 */

/** The document of the pass over the memories of all documents. */
const ALL_DOCUMENTS = 0;
/** How probable a draft answer must be, and for how many chunks in a row, to end a pass: as the service has it. */
const SURE = 0.995;
const SURE_CHUNKS = 3;

/**
 * Find the place of a pass.
 * @param {Reading} view
 * @param {number} level
 * @param {number} document
 */
export function passPlace(view, level, document) {
  return view.passes.findIndex((pass) => pass.level === level && (level > 1 || pass.document === document));
}

/**
 * Give a pass to be changed.
 * @param {ReadingDraft} draft
 * @param {number} level
 * @param {number} document
 * @returns {Pass|null}
 */
export function ownPass(draft, level, document) {
  const place = passPlace(draft.now, level, document);
  return place < 0 ? null : draft.within(draft.within(draft.root, "passes"), place);
}

/**
 * Give a cell of an own pass to be changed.
 * @param {ReadingDraft} draft
 * @param {Pass|null} pass
 * @param {number} chunk
 * @returns {Cell|null}
 */
export function ownCell(draft, pass, chunk) {
  if (pass?.cells[chunk - 1] === undefined) return null;
  return draft.within(draft.within(pass, "cells"), chunk - 1);
}

/**
 * Make the passes that are planned.
 * @param {ReadingDraft} draft
 * @param {Event} event `reading_planned`
 */
export function plan(draft, event) {
  const passes = event.ends.map((/** @type {number[]} */ ends, /** @type {number} */ at) => {
    const cells = ends.map((end, place) => draft.made(newCell(place + 1, at + 1, ends[place - 1] ?? 0, end)));
    return draft.made(newPass(1, at + 1, draft.made(cells)));
  });
  if ((draft.now.options?.level ?? 1) > 1) passes.push(draft.made(newPass(2, ALL_DOCUMENTS, [])));
  draft.root.passes = draft.made(passes);
  openNextLevel(draft);
}

/** The memories are known when the last document is through. */
function openNextLevel(/** @type {ReadingDraft} */ draft) {
  const { passes } = draft.now;
  const below = passes.filter((pass) => pass.level === 1);
  const isReady = below.every((pass) => pass.exited || pass.seen === pass.cells.length);
  const place = passPlace(draft.now, 2, ALL_DOCUMENTS);
  if (!isReady || place < 0 || passes[place].cells.length > 0) return;
  const found = below.filter((pass) => pass.memory !== null);
  const cells = found.map((pass, at) => newCell(at + 1, pass.document, 0, utf8Length(pass.memory?.text ?? "")));
  draft.within(draft.within(draft.root, "passes"), place).cells = cells;
}

/**
 * Take a gate: what it says of the end counts when its chunk is closed.
 * @param {Reading} view
 * @param {Pass} pass an own one
 * @param {Event} event
 */
export function takeGate(view, pass, event) {
  pass.leaving = view.options?.exit === "asked" && event.exit;
  const said = (event.draft ?? "").trim();
  const isSure = said !== "" && (event.draft_probability ?? 0) >= SURE;
  pass.sureFor = !isSure ? 0 : said === pass.draft ? pass.sureFor + 1 : 1;
  pass.draft = isSure ? said : null;
}

/**
 * Forget what was said of an answer.
 * @param {Pass} pass an own one
 */
export function loseDraft(pass) {
  pass.draft = null;
  pass.sureFor = 0;
}

/**
 * Close the chunk that was read last in a pass.
 * @param {ReadingDraft} draft
 * @param {Pass} pass an own one
 */
export function closeChunk(draft, pass) {
  const isMeasured = draft.now.options?.exit === "measured" && pass.sureFor >= SURE_CHUNKS;
  pass.seen += 1;
  pass.exited = (pass.leaving || isMeasured) && pass.memory !== null;
  pass.leaving = false;
  if (pass.exited) pass.cells = pass.cells.map((cell) => (cell.closed ? cell : { ...cell, state: "skipped" }));
  openNextLevel(draft);
}

/**
 * Put back the chunks that were being read when a reading ended: the log has nothing of them.
 * @param {ReadingDraft} draft
 */
export function leaveOpenChunks(draft) {
  for (const { level, document, cells } of draft.now.passes) {
    for (const { chunk, state } of cells) {
      if (state !== "reading") continue;
      Object.assign(ownCell(draft, ownPass(draft, level, document), chunk) ?? {}, newReply(), { state: "waiting" });
    }
  }
}
