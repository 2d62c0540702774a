/** A service and a browser that a test plays: what follow.js needs of both. */

import { follow } from "../../service/web/dashboard/net/follow.js";

/** A frame of a record, or of a signal. */
export const record = (pos, type = "user", fields = {}) =>
  `id: ${pos}\nevent: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
export const signal = (type, fields = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, session: null, ...fields })}\n\n`;

/** Let everything that is ready happen. */
export async function settled() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A stream that a test writes; it can be silent for ever, like a connection that is lost without a word. */
export function written() {
  let control;
  const body = new ReadableStream({ start: (given) => (control = given) });
  const encoder = new TextEncoder();
  return {
    answer: new Response(body, { status: 200 }),
    write: (text) => control.enqueue(typeof text === "string" ? encoder.encode(text) : text),
    end: () => control.close(),
    fail: () => control.error(new TypeError("network error")),
  };
}

/** A service and a browser whose clock and frames a test moves. */
export class World {
  constructor() {
    this.now = 0;
    this.timers = new Set();
    this.frames = new Set();
    this.wakers = new Set();
    this.requests = [];
    this.answers = [];
    this.batches = [];
    this.states = [];
    this.random = 0;
  }

  get surroundings() {
    const once = (all) => (call) => {
      all.add(call);
      return () => all.delete(call);
    };
    return {
      setTimeout: (call, ms) => {
        const timer = { call, at: this.now + ms };
        this.timers.add(timer);
        return timer;
      },
      clearTimeout: (timer) => this.timers.delete(timer),
      random: () => this.random,
      onFrame: once(this.frames),
      onWake: once(this.wakers),
    };
  }

  get api() {
    return {
      stream: async (path, { headers, signal: given }) => {
        this.requests.push({ path, headers, signal: given, at: this.now });
        const answer = this.answers.shift();
        if (answer === undefined) return new Promise(() => {});
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
  }

  follow(options = {}, path = "events") {
    this.following = follow(path, {
      api: this.api,
      onEvents: (events) => this.batches.push(events),
      onState: (state) => this.states.push(state),
      surroundings: this.surroundings,
      ...options,
    });
    return settled();
  }

  /** Answer the next request with a stream. */
  willStream() {
    const stream = written();
    this.answers.push(stream.answer);
    return stream;
  }

  willAnswer(status, headers = {}) {
    this.answers.push(new Response(status === 204 ? null : "{}", { status, headers }));
  }

  async pass(ms) {
    await settled();
    const end = this.now + ms;
    for (;;) {
      const next = [...this.timers].sort((one, other) => one.at - other.at)[0];
      if (next === undefined || next.at > end) break;
      this.timers.delete(next);
      this.now = next.at;
      next.call();
      await settled();
    }
    this.now = end;
    await settled();
  }

  async frame() {
    await settled();
    for (const call of [...this.frames]) {
      this.frames.delete(call);
      call();
    }
  }

  async wake() {
    for (const call of this.wakers) call();
    await settled();
  }

  get cursors() {
    return this.requests.map(({ headers }) => headers["Last-Event-ID"] ?? null);
  }

  get types() {
    return this.batches.flat().map(({ type, pos }) => [type, pos]);
  }
}
