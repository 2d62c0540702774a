// @ts-check
/** What the view state of a reading is made of, and each part as it begins. */

import { NO_USAGE } from "../usage.js";

/**
 * @typedef {import("../usage.js").Usage} Usage
 * @typedef {Record<string, any> & {type: string, reading: string, pos?: number|null}} Event
 * @typedef {{reason: string, waitedMs: number}} Waiting
 *
 * @typedef {object} Reply what the model writes now, about a chunk or as the answer
 * @property {string} text
 * @property {number} length in code points
 * @property {{attempt: number, reason: string, delayMs: number}|null} retrying
 *
 * @typedef {object} CellState
 * @property {number} chunk counted from 1 in its pass
 * @property {number} document
 * @property {number|null} start bytes of the document, or of its memory at level 2
 * @property {number|null} end
 * @property {"waiting"|"reading"|"kept"|"used"|"over_budget"|"parse_failed"|"skipped"} state
 * @property {boolean|null} update
 * @property {boolean|null} exit
 * @property {number|null} pUpdate
 * @property {number|null} pExit
 * @property {boolean} exitRefused
 * @property {string|null} draft
 * @property {number|null} pDraft
 * @property {number|null} tokens of the candidate for the memory, where they are known
 * @property {string|null} reason why it did not parse
 * @property {number|null} attempts
 * @property {string|null} memory the SHA-256 of what was written here
 * @property {string|null} evidence
 * @property {Usage|null} usage
 * @property {boolean} closed
 * @typedef {CellState & Reply} Cell
 *
 * @typedef {{level: number, document: number, chunk: number, text: string, tokens: number, sha256: string,
 *   parents: string[], seq: number, time: string}} Memory
 * @typedef {{level: number, document: number, start: number, end: number, sha256: string,
 *   by: {level: number, document: number, chunk: number}}} Evidence `by`: the chunk that it was read in
 *
 * @typedef {object} Pass one document at level 1, all memories at level 2
 * @property {string} key "level/document"
 * @property {number} level
 * @property {number} document 0 at level 2
 * @property {Cell[]} cells
 * @property {Memory|null} memory as it is now
 * @property {boolean} exited a gate that counts has ended it
 * @property {boolean} leaving what the gate of the chunk says that is not closed yet
 * @property {string|null} draft
 * @property {number} sureFor
 * @property {number} seen
 * @property {number} used
 *
 * @typedef {object} Reading
 * @property {string} id
 * @property {number|null} lastPos
 * @property {number} lastSeq
 * @property {Event|null} created
 * @property {string} query
 * @property {{name: string, mediaType: string, bytes: number, sha256: string, chunks: number|null}[]} documents
 * @property {{level: number, exit: "never"|"asked"|"measured", memory_budget: number, chunk_tokens: number|null,
 *   parallel: number|null}|null} options
 * @property {string|null} model
 * @property {{contextTokens: number, chunkTokens: number, answerTokens: number, template: string,
 *   fence: string}|null} plan
 * @property {Pass[]} passes
 * @property {Memory[]} memories
 * @property {Record<string, Evidence>} evidence
 * @property {Record<string, Memory>} memoryBySha
 * @property {Reply|null} drafting
 * @property {{content: string, memory: string, truncated: boolean}|null} answer
 * @property {{seen: number, of: number, tokensPerSecond: number|null, leftMs: number|null}|null} progress
 * @property {number|null} queuedPosition
 * @property {Waiting|null} waiting
 * @property {"queued"|"running"|"finished"} state
 * @property {"answered"|"not_found"|"failed"|"cancelled"|null} outcome
 * @property {{kind: string, message: string, status?: number}|null} error
 * @property {string|null} finalMemory
 * @property {number} seen
 * @property {number} used
 * @property {number} exitsRefused
 * @property {number} calls
 * @property {Usage} usage
 * @property {string|null} createdAt
 * @property {string|null} finishedAt
 * @property {boolean} shuttingDown
 * @property {boolean} storeError
 * @property {boolean} outOfDate
 */

/**
 * A reading of which nothing is known.
 * @param {string} id
 * @returns {Reading}
 */
export function emptyView(id) {
  return {
    id,
    lastPos: null,
    lastSeq: 0,
    created: null,
    query: "",
    documents: [],
    options: null,
    model: null,
    plan: null,
    passes: [],
    memories: [],
    evidence: {},
    memoryBySha: {},
    drafting: null,
    answer: null,
    progress: null,
    queuedPosition: null,
    waiting: null,
    state: "queued",
    outcome: null,
    error: null,
    finalMemory: null,
    seen: 0,
    used: 0,
    exitsRefused: 0,
    calls: 0,
    usage: NO_USAGE,
    createdAt: null,
    finishedAt: null,
    shuttingDown: false,
    storeError: false,
    outOfDate: false,
  };
}

/** A reply of which nothing has come. @returns {Reply} */
export function newReply() {
  return { text: "", length: 0, retrying: null };
}

/**
 * A pass that has not begun.
 * @param {number} level
 * @param {number} document
 * @param {Cell[]} cells
 * @returns {Pass}
 */
export function newPass(level, document, cells) {
  return {
    key: `${level}/${document}`,
    level,
    document,
    cells,
    memory: null,
    exited: false,
    leaving: false,
    draft: null,
    sureFor: 0,
    seen: 0,
    used: 0,
  };
}

/**
 * A chunk that was not read yet.
 * @param {number} chunk
 * @param {number} document
 * @param {number|null} start
 * @param {number|null} end
 * @returns {Cell}
 */
export function newCell(chunk, document, start, end) {
  return {
    chunk,
    document,
    start,
    end,
    state: "waiting",
    update: null,
    exit: null,
    pUpdate: null,
    pExit: null,
    exitRefused: false,
    draft: null,
    pDraft: null,
    tokens: null,
    reason: null,
    attempts: null,
    memory: null,
    evidence: null,
    usage: null,
    closed: false,
    ...newReply(),
  };
}
