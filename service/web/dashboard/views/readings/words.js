// @ts-check
/** What the states, gates and ends of a reading are called, so that the strip and its details use the same words. */

import { clip, formatNumber, visible } from "../../state/text.js";

/** Of a name, where it is one of several things in a line; the list of documents has it whole. */
const NAME_SHOWN = 80;

/** What a cell says of its chunk; in the order of the legend. */
export const CELL_STATES = {
  waiting: "not read",
  reading: "being read",
  kept: "kept: nothing of use in it",
  used: "used: it changed the memory",
  over_budget: "over budget: the new memory was too long",
  parse_failed: "not understood: the reply did not parse",
  skipped: "skipped: the pass had ended before",
};

/** The same in a word or two, for names that are read out. */
const SHORT = {
  waiting: "not read",
  reading: "being read",
  kept: "kept",
  used: "used",
  over_budget: "over budget",
  parse_failed: "not understood",
  skipped: "skipped",
};

/** How one failed reading is mended, by the `kind` of its error. */
const MENDING = {
  connect: "Is llama-server up? The Server view says. Then begin the reading again.",
  load_timeout: "llama-server was loading its model for too long. Begin again when the Server view shows it ready.",
  wait_timeout: "All slots were taken for too long. Begin again when there is less to do.",
  stalled: "llama-server sent nothing for too long. Look at its log; smaller chunks take less time each.",
  context_full:
    "Begin again with a smaller memory budget or smaller chunks (see the options), or give each slot of llama-server " +
    "a larger context.",
  plan_changed:
    "The model, its template or its context is another one than at the beginning. Begin a new reading; what was read " +
    "stays below.",
  store: "The database could not be written: is the disk full? Begin again when it can.",
  crashed: "The service stopped in the middle too often. Its log says why.",
  empty_answer: "The model wrote no answer. The memory below is what it had noted.",
};
const MENDING_OTHERWISE = "The log of the service, or of llama-server, says more. Begin again when it is mended.";

/** @param {string} kind */
export function mendingOf(kind) {
  return MENDING[/** @type {keyof typeof MENDING} */ (kind)] ?? MENDING_OTHERWISE;
}

/**
 * Say how many there are: "1 chunk", "1,000 chunks".
 * @param {number} number
 * @param {string} one
 */
export function counted(number, one) {
  return `${formatNumber(number)} ${one}${number === 1 ? "" : "s"}`;
}

/**
 * Say a probability so that an almost sure one doesn't look sure.
 * @param {number} value from 0 to 1
 */
export function probability(value) {
  if (value > 0.995 && value < 1) return value > 0.9995 ? "over 0.999" : value.toFixed(3);
  return value.toFixed(2);
}

/**
 * Say what a gate says: "no 0.98".
 * @param {boolean} set
 * @param {number|null} sure
 */
export function gate(set, sure) {
  return `${set ? "yes" : "no"}${sure === null ? "" : ` ${probability(sure)}`}`;
}

/**
 * Name a document by its number in the reading, which counts from 1.
 * @param {{name: string}[]} documents
 * @param {number} number
 */
export function documentName(documents, number) {
  const document = documents[number - 1];
  return document ? clip(visible(document.name, { keep: "" }), NAME_SHOWN) : `document ${number}`;
}

/**
 * Name a pass.
 * @param {{level: number, document: number}} pass
 * @param {{name: string}[]} documents
 */
export function passName(pass, documents) {
  if (pass.level > 1) return "All documents together";
  return documents.length > 1
    ? `${pass.document}. ${documentName(documents, pass.document)}`
    : documentName(documents, 1);
}

/**
 * Name what a cell stands for.
 * @param {any} cell
 * @param {{level: number}} pass
 * @param {{name: string}[]} documents
 */
export function cellTitle(cell, pass, documents) {
  if (pass.level === 1) return `chunk ${formatNumber(cell.chunk)}`;
  return `memory of document ${cell.document}, ${documentName(documents, cell.document)}`;
}

/**
 * Say all that a cell shows, for those who hear it.
 * @param {any} cell
 * @param {{level: number}} pass
 * @param {{name: string}[]} documents
 */
export function cellName(cell, pass, documents) {
  const said = [
    SHORT[/** @type {keyof typeof SHORT} */ (cell.state)],
    cell.update === null ? null : `update ${gate(cell.update, cell.pUpdate)}`,
    cell.exit === null ? null : `exit ${gate(cell.exit, cell.pExit)}${cell.exitRefused ? ", refused" : ""}`,
    cell.start === null ? null : `bytes ${cell.start} to ${cell.end}`,
  ].filter((part) => part !== null);
  return `${cellTitle(cell, pass, documents)}: ${said.join(", ")}`;
}

/** How many cells of each state a pass has. @param {{state: string}[]} cells @returns {Record<string, number>} */
export function countStates(cells) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const { state } of cells) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
