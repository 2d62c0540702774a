// @ts-check
/** A record in one line: pure, for a table and for those who read it aloud. */

import { clip, formatNumber, visible } from "../../state/text.js";

const LINE = 140;

/** All types of a session's records, in the order in which a turn has them. */
export const TYPES = [
  "session_created",
  "turn_queued",
  "user",
  "assistant",
  "usage",
  "cache_loss",
  "attempt",
  "tool_call_started",
  "tool_result",
  "approval_requested",
  "approval_decided",
  "handoff_started",
  "handoff_returned",
  "summary",
  "resumed",
  "turn_finished",
];

/**
 * Say in one line what a record says.
 * @param {any} record as the service shows it
 * @returns {string} without line ends and hidden characters; empty of a type that is not known
 */
export function summaryOf(record) {
  const said = Object.hasOwn(LINES, record.type) ? LINES[record.type](record) : "";
  return clip(visible(clip(said, 2 * LINE), { keep: "" }), LINE);
}

/** @type {Record<string, (record: any) => string>} */
const LINES = {
  session_created: ({ agent, baseline, parent, fork }) =>
    joined([
      agent && `agent ${agent}`,
      baseline && `${counted(baseline.tools.names.length, "tool")}, thinking ${baseline.thinking}`,
      parent && `made for call ${parent.call} of ${parent.session}`,
      fork && `copied up to ${fork.seq} of ${fork.session}`,
    ]),
  turn_queued: ({ content }) => content,
  user: ({ content }) => content,
  assistant: ({ content, reasoning, tool_calls: calls, finish_reason: reason }) =>
    joined([
      calls.length > 0 && `calls ${calls.map((/** @type {any} */ call) => call.name).join(", ")}`,
      content || (calls.length === 0 && reasoning && "reasoning only"),
      !["stop", "tool_calls"].includes(reason) && `ended by ${reason}`,
    ]),
  usage: (record) =>
    joined([
      `prompt ${formatNumber(record.prompt_tokens)} (${formatNumber(record.cached_tokens)} cached)`,
      `wrote ${formatNumber(record.completion_tokens)} tokens`,
      record.reasoning_tokens > 0 && `${formatNumber(record.reasoning_tokens)} of them reasoning`,
      record.timings?.predicted_per_second && `${record.timings.predicted_per_second.toFixed(1)} tokens/s`,
      record.discarded && "discarded",
    ]),
  cache_loss: ({ lost_tokens: lost, reason }) => `${counted(lost, "token")} evaluated again: ${spaced(reason)}`,
  attempt: ({ step, attempt, kind }) => `step ${step} is tried again (${attempt}): ${spaced(kind)}`,
  tool_call_started: ({ call, name, arguments: given }) => `call ${call}: ${name} ${given}`,
  tool_result: ({ call, name, status, content, untrusted }) =>
    joined([`call ${call}: ${name} ${spaced(status)}`, untrusted && "untrusted", content]),
  approval_requested: ({ calls }) =>
    calls.map((/** @type {any} */ { call, name }) => `call ${call}: ${name}`).join(", "),
  approval_decided: ({ call, approved, by, reason, arguments: changed, signature }) =>
    joined([
      `call ${call} ${approved ? "approved" : "denied"} by ${by}`,
      changed != null && "with other arguments",
      signature && `signed as ${signature.key}`,
      reason,
    ]),
  handoff_started: ({ call, agent, child }) => `call ${call} is handed to ${agent}, in ${child.session}`,
  handoff_returned: ({ call, outcome, content }) => joined([`call ${call}: ${spaced(outcome ?? "deleted")}`, content]),
  summary: ({ covers, tokens_before: before, tokens_after: after, text }) =>
    joined([`stands for all up to ${covers}: ${formatNumber(before)} → ${formatNumber(after)} tokens`, text]),
  resumed: ({ attempt }) => `a restart went on with this turn (${attempt})`,
  turn_finished: ({ outcome, limit, error, steps, content }) =>
    joined([
      `${spaced(outcome)}${limit ? ` (${spaced(limit)})` : ""} after ${counted(steps, "step")}`,
      error && `${spaced(error.kind)}: ${error.message}`,
      content,
    ]),
};

function joined(/** @type {any[]} */ parts) {
  return parts.filter(Boolean).join(" · ");
}

function spaced(/** @type {string} */ name) {
  return String(name).replaceAll("_", " ");
}

function counted(/** @type {number} */ number, /** @type {string} */ what) {
  return `${formatNumber(number)} ${what}${number === 1 ? "" : "s"}`;
}
