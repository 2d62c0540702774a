// @ts-check
/** A stream of events that survives lost connections: it resumes behind the last record that came (H6). */

import { browser } from "./browser.js";
import { EventParser } from "./sse.js";

/**
 * @typedef {import("./browser.js").Surroundings} Surroundings
 * @typedef {Record<string, any> & {type: string, pos: number|null}} Event
 * @typedef {"connecting"|"live"|"reconnecting"|"ended"|"gone"|"unauthorized"|"forbidden"} State
 *   "unauthorized" lasts until somebody gives a key; "ended", "gone" and "forbidden" are for good
 *
 * @typedef {object} Followed
 * @property {Pick<import("./api.js").Api, "stream"> & Partial<Pick<import("./api.js").Api, "onKey">>} api
 * @property {number|null} [after] the `pos` to begin behind; null: as the service begins without one
 * @property {(events: Event[]) => void} onEvents all that came since the last frame
 * @property {(state: State) => void} [onState]
 * @property {AbortSignal} [signal] ends it
 * @property {Surroundings} [surroundings] those of the browser unless told
 */

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 5_000;
/** The service sends a comment each 15 seconds. */
const SILENCE_MS = 40_000;
/** Statuses with a meaning of their own; other refusals of the 400s are for good as well. @type {Map<number, State>} */
const FINAL = new Map([
  [204, "ended"],
  [401, "unauthorized"],
  [403, "forbidden"],
]);
const MAY_PASS = new Set([408, 425, 429]);

/**
 * Follow a stream.
 * @param {string} path relative, like `events` or `sessions/ses_1/events`
 * @param {Followed} options
 * @returns {{close(): void}}
 */
export function follow(path, options) {
  const following = new Following(path, options);
  following.start();
  return { close: () => following.close() };
}

class Following {
  #path;
  #options;
  #around;
  /** @type {number|null} */
  #cursor;
  /** @type {State|null} */
  #state = null;
  #isClosed = false;
  #failures = 0;
  /** What the service wants us to wait after this connection. @type {number|null} */
  #retryMs = null;
  /** @type {AbortController|null} */
  #connection = null;
  /** @type {unknown} */
  #silence = null;
  /** @type {unknown} */
  #pause = null;
  /** @type {Event[]} */
  #waiting = [];
  /** @type {(() => void)|null} */
  #dropFrame = null;
  /** @type {(() => void)[]} */
  #undo = [];

  constructor(/** @type {string} */ path, /** @type {Followed} */ options) {
    this.#path = path;
    this.#options = options;
    this.#around = options.surroundings ?? browser();
    this.#cursor = options.after ?? null;
  }

  start() {
    const { signal } = this.#options;
    if (signal?.aborted) return;
    const close = () => this.close();
    signal?.addEventListener("abort", close, { once: true });
    this.#undo = [() => signal?.removeEventListener("abort", close), this.#around.onWake(() => this.#hurry())];
    this.#tell("connecting");
    void this.#connect();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waiting = [];
    this.#dropFrame?.();
    for (const undo of this.#undo) undo();
    this.#around.clearTimeout(this.#silence);
    this.#around.clearTimeout(this.#pause);
    this.#connection?.abort();
  }

  async #connect() {
    const connection = new AbortController();
    this.#connection = connection;
    this.#pause = null;
    this.#retryMs = null;
    this.#listen();
    /** @type {State|null} */
    let end;
    try {
      end = await this.#read(connection.signal);
    } catch (error) {
      // A lost connection is what this module is for; what is wrong for good has a status.
      end = /** @type {any} */ (error)?.status === 404 ? "gone" : null;
    }
    // Not waited for: a connection that is already dead may never tell that it is closed.
    connection.abort();
    this.#around.clearTimeout(this.#silence);
    if (this.#isClosed) return;
    if (end === null) this.#later();
    else this.#finish(end);
  }

  /** @returns {Promise<State|null>} null: try again */
  async #read(/** @type {AbortSignal} */ signal) {
    /** @type {Record<string, string>} */
    const headers = this.#cursor === null ? {} : { "Last-Event-ID": String(this.#cursor) };
    const answer = await aborted(this.#options.api.stream(this.#path, { headers, signal }), signal);
    if (answer.status !== 200 || answer.body === null) return this.#refused(answer);
    this.#tell("live");
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await aborted(reader.read(), signal);
      if (done) return null;
      this.#listen();
      this.#failures = 0;
      for (const item of parser.feed(decoder.decode(value, { stream: true }))) {
        if ("event" in item && this.#take(item)) return "gone";
        if ("retry" in item && item.retry !== null) this.#retryMs = item.retry;
      }
    }
  }

  /** @returns {State|null} */
  #refused(/** @type {Response} */ { status, headers }) {
    const seconds = Number(headers.get("Retry-After") ?? Number.NaN);
    if (seconds >= 0) this.#retryMs = seconds * 1000;
    const final = FINAL.get(status);
    if (final !== undefined) return final;
    return status >= 400 && status < 500 && !MAY_PASS.has(status) ? "gone" : null;
  }

  /** Take one event; true when the stream is over with it. */
  #take(/** @type {import("./sse.js").SseEvent} */ { id, ownId, event: type, data }) {
    let told;
    try {
      told = JSON.parse(data);
    } catch {
      // Nothing of ours: an unknown event is passed over.
      return false;
    }
    const pos = ownId && id !== null && /^[0-9]+$/.test(id) ? Number(id) : null;
    if (pos !== null) this.#cursor = pos;
    // The store is another one than that of the cursor; from here on it is good again.
    if (type === "resync") this.#cursor = told.last_pos;
    this.#waiting.push({ type, ...told, pos });
    this.#dropFrame ??= this.#around.onFrame(() => this.#flush());
    return type === "session_deleted" && this.#path.split(/[/?]/).includes(told.session);
  }

  #flush() {
    this.#dropFrame?.();
    this.#dropFrame = null;
    if (this.#waiting.length === 0 || this.#isClosed) return;
    const events = this.#waiting;
    this.#waiting = [];
    this.#options.onEvents(events);
  }

  /** Cut the connection when nothing comes: it may be long dead. */
  #listen() {
    this.#around.clearTimeout(this.#silence);
    const connection = this.#connection;
    this.#silence = this.#around.setTimeout(() => connection?.abort(), SILENCE_MS);
  }

  #later() {
    this.#tell("reconnecting");
    const grown = Math.min(FIRST_DELAY_MS * 2 ** this.#failures, LONGEST_DELAY_MS);
    this.#failures += 1;
    // Many pages must not come back at the same moment.
    const least = Math.max(grown, this.#retryMs ?? 0);
    const delay = least * (1 + this.#around.random() / 4);
    this.#pause = this.#around.setTimeout(() => void this.#connect(), delay);
  }

  /** The tab is looked at, or the network is back: why wait. */
  #hurry() {
    if (this.#isClosed || this.#pause === null) return;
    this.#around.clearTimeout(this.#pause);
    void this.#connect();
  }

  #finish(/** @type {State} */ state) {
    this.#flush();
    this.#tell(state);
    const { onKey } = this.#options.api;
    if (this.#isClosed) return;
    if (state === "unauthorized" && onKey) this.#waitForKey(onKey);
    else this.close();
  }

  #waitForKey(/** @type {import("./api.js").Api["onKey"]} */ onKey) {
    const stop = onKey(() => {
      stop();
      this.#tell("reconnecting");
      void this.#connect();
    });
    this.#undo.push(stop);
  }

  #tell(/** @type {State} */ state) {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState?.(state);
  }
}

/**
 * Wait no longer than until the connection is cut, though what it waits for never says so.
 * @template T
 * @param {Promise<T>} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
function aborted(wanted, signal) {
  return new Promise((resolve, reject) => {
    const cut = () => reject(new DOMException("the connection was cut", "AbortError"));
    if (signal.aborted) return cut();
    signal.addEventListener("abort", cut, { once: true });
    wanted.then(resolve, reject).finally(() => signal.removeEventListener("abort", cut));
  });
}
