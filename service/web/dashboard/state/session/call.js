// @ts-check
/** One call of a batch: the state of a call is its last record. */

/**
 * @typedef {import("./shapes.js").Event} Event
 *
 * @typedef {{approved: boolean, by: string, reason: string|null, arguments: string|null, time: string}} Decision
 * @typedef {{session: string, turn: string, agent: string, outcome: string|null}} Child
 *
 * @typedef {object} Call
 * @property {number} call
 * @property {string} toolCallId
 * @property {string} name
 * @property {string} arguments the model's raw text
 * @property {{name: string, arguments: string}|null} ran what was sent to the port, where that is something else
 * @property {"asked"|"pending"|"in_flight"|"closed"} state decided on, it is `asked` again until it is sent
 * @property {string|null} status
 * @property {string|null} content
 * @property {string|null} class
 * @property {boolean} untrusted
 * @property {string|null} fence
 * @property {boolean} truncated
 * @property {number} originalBytes
 * @property {number} cap
 * @property {string|null} limit the limit of the turn that kept it from running
 * @property {number|null} seq of its result
 * @property {string|null} pendingSince
 * @property {string|null} startedAt
 * @property {string|null} endedAt
 * @property {Decision|null} decision
 * @property {Child|null} child
 */

/**
 * A call as the model made it.
 * @param {Record<string, any>} made
 * @returns {Call}
 */
export function newCall(made) {
  return {
    call: made.call,
    toolCallId: made.tool_call_id,
    name: made.name,
    arguments: made.arguments,
    ran: null,
    state: "asked",
    status: null,
    content: null,
    class: null,
    untrusted: false,
    fence: null,
    truncated: false,
    originalBytes: 0,
    cap: 0,
    limit: null,
    seq: null,
    pendingSince: null,
    startedAt: null,
    endedAt: null,
    decision: null,
    child: null,
  };
}

/** @type {Record<string, (call: Call, event: Event) => void>} */
const CHANGES = {
  tool_call_started(call, event) {
    const other = event.name !== call.name || event.arguments !== call.arguments;
    call.ran = other ? { name: event.name, arguments: event.arguments } : null;
    call.state = "in_flight";
    call.startedAt = event.time;
  },
  handoff_started(call, event) {
    call.child = { ...event.child, agent: event.agent, outcome: null };
    call.state = "in_flight";
    call.startedAt = event.time;
  },
  handoff_returned(call, event) {
    if (call.child !== null) call.child = { ...call.child, outcome: event.outcome };
  },
  approval_requested(call, event) {
    call.state = "pending";
    call.pendingSince = event.time;
  },
  approval_decided(call, event) {
    call.state = "asked";
    call.decision = decisionOf(event);
  },
  tool_result(call, event) {
    call.state = "closed";
    call.status = event.status;
    call.content = event.content;
    call.class = event.class;
    call.untrusted = event.untrusted;
    call.fence = event.fence ?? null;
    call.truncated = event.truncated;
    call.originalBytes = event.original_bytes;
    call.cap = event.cap;
    call.limit = event.limit ?? null;
    call.seq = event.seq;
    call.endedAt = event.time;
  },
};

/**
 * Read what a person has decided.
 * @param {Event} event
 * @returns {Decision}
 */
export function decisionOf(event) {
  return {
    approved: event.approved,
    by: event.by,
    reason: event.reason ?? null,
    arguments: event.arguments ?? null,
    time: event.time,
  };
}

/**
 * Take a record about a call.
 * @param {Call} call an own one
 * @param {Event} event
 */
export function changeCall(call, event) {
  CHANGES[event.type](call, event);
}
