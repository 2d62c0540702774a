// @ts-check
/** What the view state of a session is made of, and each part as it begins. */

import { NO_USAGE } from "../usage.js";

/**
 * @typedef {import("../usage.js").Usage} Usage
 * @typedef {Record<string, any> & {type: string, session: string|null, turn?: string|null, pos?: number|null}} Event
 *   the JSON of an event's data, with the `pos` of its id (null of a signal)
 *
 * @typedef {{reason: string, waitedMs: number}} Waiting
 * @typedef {{session: string, turn: string, call: number}} CallLink a call of some session
 * @typedef {import("./call.js").Call} Call
 *
 * @typedef {object} StepUsage
 * @property {number} promptTokens
 * @property {number} cachedTokens
 * @property {number} completionTokens
 * @property {number} reasoningTokens
 * @property {boolean} thinkingCapped
 * @property {boolean} estimated
 * @property {{prompt_ms: number, predicted_ms: number, prompt_per_second: number,
 *   predicted_per_second: number}} timings
 *
 * @typedef {object} Step
 * @property {number} number
 * @property {string} reasoning
 * @property {string} content
 * @property {number} reasoningLength in code points
 * @property {number} contentLength in code points
 * @property {boolean} settled whether the log holds it
 * @property {string|null} finishReason
 * @property {number|null} reasoningTokens
 * @property {boolean} reasoningTokensEstimated
 * @property {boolean} thinkingCapped
 * @property {{attempt: number, reason: string, delayMs: number|null}|null} retrying
 * @property {number} attempts that failed
 * @property {Call[]} calls
 * @property {{name: string, arguments: string}[]} cutCalls
 * @property {StepUsage|null} usage
 * @property {{expectedTokens: number, cachedTokens: number, lostTokens: number, reason: string}|null} cacheLoss
 * @property {string|null} settledAt
 *
 * @typedef {{kind: "attempt"|"cache_loss"|"thinking_capped"|"resumed"|"summary", seq: number, time: string,
 *   step: number|null, [field: string]: any}} Notice
 * @typedef {Record<string, any> & {session: string, turn: string, call: number,
 *   decided: {approved: boolean, by: string, reason: string|null}|null}} Pending
 *
 * @typedef {object} Turn
 * @property {string} id
 * @property {string} session
 * @property {"queued"|"running"|"awaiting_approval"|"finished"} state
 * @property {string|null} content the user's message
 * @property {Record<string, any>|null} options
 * @property {number|null} queuedPosition
 * @property {Waiting|null} waiting
 * @property {{step: number, processed: number, cached: number, total: number, timeMs: number}|null} progress
 * @property {Step[]} steps
 * @property {Pending[]} pending its own calls, and those of the child that it waits for
 * @property {Notice[]} notices
 * @property {string|null} outcome
 * @property {string|null} limit
 * @property {boolean} truncated
 * @property {{kind: string, message: string, status?: number}|null} error
 * @property {string|null} answer
 * @property {Usage} usage
 * @property {number} iterations batches of calls so far
 * @property {number} firstSeq
 * @property {number} lastSeq
 * @property {string|null} queuedAt
 * @property {string|null} startedAt
 * @property {string|null} finishedAt
 * @property {string|null} approvalSince
 *
 * @typedef {{seq: number, turn: string|null, covers: number, tokensBefore: number, tokensAfter: number, text: string,
 *   shortened: number[], class: string, untrusted: boolean, time: string}} Summary
 *
 * @typedef {object} View
 * @property {string} id
 * @property {number|null} lastPos where to resume the stream: over this session and all below it
 * @property {number} lastSeq
 * @property {Event|null} created
 * @property {Record<string, any>|null} baseline
 * @property {string|null} agent
 * @property {CallLink|null} parent
 * @property {{session: string, seq: number, hash: string}|null} fork
 * @property {boolean} deleted
 * @property {boolean} shuttingDown
 * @property {boolean} storeError
 * @property {boolean} outOfDate the store is another one: begin anew
 * @property {string|null} running
 * @property {string[]} order
 * @property {Record<string, Turn>} turns
 * @property {Record<string, View>} children
 * @property {Record<string, CallLink>} family where each session below hangs; of the root only
 * @property {Summary[]} summaries
 * @property {number} usedTokens
 * @property {Usage} usage
 * @property {string} class
 * @property {boolean} untrusted
 * @property {{queuedPosition: number|null, waiting: Waiting|null}|null} byHand a compaction by hand waits
 */

/**
 * A session of which nothing is known.
 * @param {string} id
 * @returns {View}
 */
export function emptyView(id) {
  return {
    id,
    lastPos: null,
    lastSeq: 0,
    created: null,
    baseline: null,
    agent: null,
    parent: null,
    fork: null,
    deleted: false,
    shuttingDown: false,
    storeError: false,
    outOfDate: false,
    running: null,
    order: [],
    turns: {},
    children: {},
    family: {},
    summaries: [],
    usedTokens: 0,
    usage: NO_USAGE,
    class: "public",
    untrusted: false,
    byHand: null,
  };
}

/**
 * A turn of which nothing is known.
 * @param {string} id
 * @param {string} session
 * @returns {Turn}
 */
export function newTurn(id, session) {
  return {
    id,
    session,
    state: "running",
    content: null,
    options: null,
    queuedPosition: null,
    waiting: null,
    progress: null,
    steps: [],
    pending: [],
    notices: [],
    outcome: null,
    limit: null,
    truncated: false,
    error: null,
    answer: null,
    usage: NO_USAGE,
    iterations: 0,
    firstSeq: 0,
    lastSeq: 0,
    queuedAt: null,
    startedAt: null,
    finishedAt: null,
    approvalSince: null,
  };
}

/**
 * A step of which nothing has come.
 * @param {number} number
 * @returns {Step}
 */
export function newStep(number) {
  return {
    number,
    reasoning: "",
    content: "",
    reasoningLength: 0,
    contentLength: 0,
    settled: false,
    finishReason: null,
    reasoningTokens: null,
    reasoningTokensEstimated: false,
    thinkingCapped: false,
    retrying: null,
    attempts: 0,
    calls: [],
    cutCalls: [],
    usage: null,
    cacheLoss: null,
    settledAt: null,
  };
}
