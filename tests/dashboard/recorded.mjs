/** The recordings, and events made by hand. */

import { readFileSync, readdirSync } from "node:fs";
import { EventParser } from "../../service/web/dashboard/net/sse.js";

const FOLDER = new URL("recordings/", import.meta.url);

/** The names of all recordings. */
export const NAMES = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".live.sse"))
  .map((file) => file.slice(0, -".live.sse".length));

/** Those of one session with those below it. */
export const OF_A_SESSION = NAMES.filter((name) => !name.startsWith("reading") && name !== "everything");
/** Those of one reading. */
export const OF_A_READING = NAMES.filter((name) => name.startsWith("reading"));

/** Read the text of a recording. */
export function textOf(name, kind) {
  return readFileSync(new URL(`${name}.${kind}.sse`, FOLDER), "utf8");
}

/** Read the events of a recording, as follow.js gives them. */
export function eventsOf(name, kind) {
  return new EventParser()
    .feed(textOf(name, kind))
    .filter((item) => "event" in item)
    .map(({ data, id, ownId, event }) => ({ type: event, ...JSON.parse(data), pos: ownId ? Number(id) : null }));
}

/** The session or reading that a recording is of. */
export function idOf(events) {
  return events[0].session ?? events[0].reading;
}

/** Freeze a view through and through: whoever changes it in place fails. */
export function frozen(value) {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(frozen);
  return value;
}

/** Take events one by one; each value on the way is frozen. */
export function following({ reduce }, start, events) {
  return events.reduce((known, event) => frozen(reduce(known, event)), frozen(start));
}

const TIME = "2026-01-01T00:00:00.000000Z";
export const USAGE = {
  prompt_tokens: 100,
  cached_tokens: 40,
  completion_tokens: 10,
  reasoning_tokens: 4,
  completions: 1,
  tool_calls: 0,
};
export const TIMINGS = { prompt_ms: 1, predicted_ms: 2, prompt_per_second: 300, predicted_per_second: 20 };

/** A log that is written by hand: each record gets the next `seq` and `pos`. */
export class Log {
  #pos = 0;
  #seqs = new Map();

  constructor(session = "ses_1", turn = "trn_1") {
    this.session = session;
    this.turn = turn;
  }

  record(type, fields = {}) {
    this.#pos += 1;
    const session = fields.session ?? this.session;
    const seq = (this.#seqs.get(session) ?? 0) + 1;
    this.#seqs.set(session, seq);
    return { type, session, turn: this.turn, time: TIME, seq, pos: this.#pos, ...fields };
  }

  signal(type, fields = {}) {
    return { type, session: this.session, turn: this.turn, pos: null, ...fields };
  }

  created(fields = {}) {
    const baseline = { system: "", tools: { names: [] }, model: null };
    return this.record("session_created", { v: 1, turn: null, agent: null, baseline, ...fields });
  }

  user(content = "Hello", fields = {}) {
    return this.record("user", { content, options: { tool_choice: "auto" }, ...fields });
  }

  assistant(step, fields = {}) {
    return this.record("assistant", {
      step,
      content: "",
      reasoning: "",
      tool_calls: [],
      finish_reason: "stop",
      ...fields,
    });
  }

  calls(step, ...numbers) {
    const made = numbers.map((call) => ({
      call,
      tool_call_id: `id_${call}`,
      model_call_id: null,
      name: "look",
      arguments: "{}",
    }));
    return this.assistant(step, { tool_calls: made, finish_reason: "tool_calls" });
  }

  usage(step, fields = {}) {
    return this.record("usage", { step, ...USAGE, thinking_capped: false, timings: TIMINGS, ...fields });
  }

  result(call, fields = {}) {
    return this.record("tool_result", {
      call,
      tool_call_id: `id_${call}`,
      name: "look",
      status: "ok",
      content: "seen",
      class: "public",
      untrusted: false,
      truncated: false,
      original_bytes: 4,
      cap: 1000,
      ...fields,
    });
  }

  pending(call, fields = {}) {
    return {
      session: this.session,
      turn: this.turn,
      call,
      tool_call_id: `id_${call}`,
      name: "look",
      title: "Look",
      arguments: "{}",
      digest: `sha256:${call}`,
      reason: "This tool always asks for an approval.",
      asked_at: TIME,
      expires_at: null,
      ...fields,
    };
  }

  asked(...calls) {
    return this.record("approval_requested", { calls: calls.map((call) => this.pending(call)) });
  }

  decided(call, approved, fields = {}) {
    return this.record("approval_decided", { call, approved, digest: `sha256:${call}`, by: "ann", ...fields });
  }

  finished(fields = {}) {
    return this.record("turn_finished", {
      outcome: "answered",
      truncated: false,
      content: "Done.",
      steps: 1,
      usage: USAGE,
      totals: { next_call: 1, class: "public", untrusted_seen: false, usage: USAGE },
      ...fields,
    });
  }
}
