/** What happens in a turn, in sentences that somebody new to it understands. */

import { formatDuration, formatNumber } from "../../state/text.js";

/** Why a request waits for its first byte. */
const WAITING = {
  slot_busy: "All slots of the model server are at work for others.",
  idle: "The model server has the request and has not begun to answer.",
  loading: "The model server cannot be reached yet, or is loading its model.",
};

/**
 * Say what a turn waits for.
 * @param {{reason: string, waitedMs: number}} waiting
 */
export function waitingText({ reason, waitedMs }) {
  return `${WAITING[reason] ?? `Waiting: ${reason}.`} Waited for ${formatDuration(waitedMs)}.`;
}

/** Why what the server had kept of the conversation was of no use. */
const CACHE_LOSS = {
  compacted: "The conversation was summarised just before, so its beginning is another one now. This is expected.",
  server_restarted: "The model server was started anew, and its memory of the conversation is gone.",
  template_changed:
    "The model server now uses another chat template, so the same conversation reads differently to it.",
  template_rewrites_history: "The model's chat template writes earlier messages differently once a new one has come.",
  slot_taken: "Another conversation used the slot in between: there are more conversations than slots.",
  unknown: "The reason is not known. Often the server needed the memory for something else.",
};

/**
 * Say how much had to be read again, and why.
 * @param {{lostTokens: number, expectedTokens: number, reason: string}} loss
 */
export function cacheLossText({ lostTokens, expectedTokens, reason }) {
  return (
    `${formatNumber(lostTokens)} of ${formatNumber(expectedTokens)} tokens that should have been in the server's ` +
    `cache had to be read again, which takes time. ${CACHE_LOSS[reason] ?? reason}`
  );
}

/** What goes wrong with the model server, and what to do. */
const TROUBLE = {
  connect: ["the model server could not be reached", "Is llama-server running, and is its address right?"],
  load_timeout: [
    "the model server did not come up in time",
    "Look at its log; load_wait_ms is how long it is waited for.",
  ],
  wait_timeout: ["no slot came free in time", "Give the server more slots, or wait longer (busy_wait_ms)."],
  stalled: ["the model server stopped sending", "Look at its log. Retry; the conversation is kept."],
  stream_closed: ["the connection to the model server broke", "Retry; if it happens again, look at the server's log."],
  protocol: ["the model server sent something that can't be read", "Is it a llama-server of a recent build?"],
  upstream_http: [
    "the model server refused the request",
    "Its words are above: often a setting of the session or of the server does not suit it.",
  ],
  upstream_error: ["the model server reported an error", "What it said is above. Often a retry helps."],
  context_full: ["the context of the model is full", "Begin a new session, or give the server a larger --ctx-size."],
  empty_answer: ["the model answered with nothing", "Say it in other words, or retry."],
  thinking_cap: ["the model did not stop thinking", "Raise thinking_tokens, or make a session with thinking off."],
  tool_port: ["the tool port failed", "Is it running? The server view tells more."],
  store: ["what happened could not be stored", "Is the disk full? The next message works again when it is not."],
  crashed: ["the service stopped in the middle of it, more than once", "Retry. If it stops again, look at its log."],
  internal: ["something in the service broke", "Its log tells what. Retry; the conversation is kept."],
};

/** Name a trouble. @param {string} kind */
export function troubleName(kind) {
  return TROUBLE[kind]?.[0] ?? kind.replaceAll("_", " ");
}

/** Say what to do about a trouble. @param {string} kind */
export function troubleAdvice(kind) {
  return TROUBLE[kind]?.[1] ?? "Retry; the conversation is kept.";
}

/** What a limit bounds, and the setting that changes it. */
const LIMITS = {
  tool_iterations: ["the greatest number of rounds of tool calls was reached", "tool_iterations"],
  repeated_call: ["the model made the same call again and again", "repeat_detection"],
  denied_repeatedly: ["the model asked again for what was denied", "denied_repeats"],
  max_tokens: ["the answer was cut at its greatest length", "max_tokens"],
  turn_time: ["the time of a turn was over", "turn_time_s"],
};

/**
 * Say which limit was reached, and the name of the setting.
 * @param {string} limit
 */
export function limitText(limit) {
  const [what, setting] = LIMITS[limit] ?? [limit.replaceAll("_", " "), limit];
  return { what, setting };
}

/** What the status of a call means. */
export const STATUS = {
  ok: "The tool ran and gave this.",
  failed: "The tool failed; the model was told so.",
  denied: "A person denied this call; it did not run.",
  repeated: "The same call was made before in this turn; it did not run again.",
  unknown_tool: "There is no tool of this name; the model was told which there are.",
  bad_arguments: "The arguments are not what the tool takes; the model was told why.",
  cancelled: "The turn was stopped while the call ran; it may have taken effect.",
  interrupted: "The service stopped while the call ran; nobody knows whether it took effect.",
  not_run: "The call was not sent to the tool.",
};

/** What the class of a result means. */
export const CLASSES = {
  public: "Public: anybody may know this.",
  internal: "Internal: the tool says that this is not for outside.",
  secret: "Secret: the tool says that hardly anybody may know this.",
};

export const UNTRUSTED =
  "Untrusted: text from outside that may hold instructions to the model. From here on, tools that act outside ask a " +
  "person first.";

/** What this makes is told wherever it is done. */
export const FORK = "This makes a copy of the conversation up to here; the original stays.";
