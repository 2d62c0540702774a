// @ts-check
/** Requests to the service: JSON or a `Problem`. The key goes into a header and to this page's own service alone. */

/**
 * @typedef {{headers?: Record<string, string>, signal?: AbortSignal}} Options
 * @typedef {Options & {idempotencyKey?: string}} PostOptions
 * @typedef {{getItem(name: string): string|null, setItem(name: string, value: string): void,
 *   removeItem(name: string): void}} KeyStore
 * @typedef {ReturnType<typeof createApi>} Api
 */

const KEY = "turnkeeper.key";
const JSON_TYPE = "application/json";

/** What the service refused, or why it could not be asked; the members of its problem document are members of it. */
export class Problem extends Error {
  /**
   * @param {{status: number, code: string, title: string, detail: string, retryAfterS?: number|null}} told
   * @param {Record<string, any>} [extensions]
   */
  constructor({ status, code, title, detail, retryAfterS = null }, extensions = {}) {
    super(detail || title);
    Object.assign(this, extensions);
    this.name = "Problem";
    /** 0 when there was no answer. */
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.retryAfterS = retryAfterS;
  }
}

/**
 * Make the one access to the service.
 * @param {{fetch?: typeof globalThis.fetch, storage?: KeyStore}} [surroundings] those of the browser unless told
 */
export function createApi({ fetch = (path, init) => globalThis.fetch(path, init), storage = sessionStore() } = {}) {
  /** @type {Set<() => void>} */
  const refused = new Set();
  /** @type {Set<() => void>} */
  const given = new Set();
  let key = storage.getItem(KEY);

  /**
   * @param {string} path
   * @param {RequestInit & {headers: Record<string, string>}} init
   * @returns {Promise<Response>}
   */
  const send = async (path, init) => {
    const sentKey = key;
    const headers = sentKey === null ? init.headers : { Authorization: `Bearer ${sentKey}`, ...init.headers };
    const address = checked(path);
    let answer;
    try {
      answer = await fetch(address, { ...init, headers, cache: "no-store", redirect: "error" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw unreachable(error);
    }
    // A request that was on its way with an older key says nothing of the one that there is now.
    if (answer.status === 401 && sentKey === key) for (const listener of [...refused]) listener();
    return answer;
  };

  /**
   * @param {string} method
   * @param {string} path
   * @param {BodyInit} [body]
   * @param {PostOptions & {type?: string}} [options]
   */
  const ask = async (method, path, body, { headers = {}, signal, idempotencyKey, type } = {}) => {
    const all = {
      Accept: JSON_TYPE,
      ...(type && { "Content-Type": type }),
      ...(idempotencyKey && { "Idempotency-Key": idempotencyKey }),
      ...headers,
    };
    const answer = await send(path, { method, headers: all, body, signal });
    if (!answer.ok) throw await problemOf(answer);
    return answer;
  };

  /**
   * @param {string} method
   * @returns {(path: string, body?: any, options?: PostOptions) => Promise<any>}
   */
  const withJson = (method) => async (path, body, options) => {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const type = body === undefined ? undefined : JSON_TYPE;
    return jsonOf(await ask(method, path, sent, { ...options, type }), options?.signal);
  };

  return {
    /**
     * @param {string} path
     * @param {Options} [options]
     * @returns {Promise<any>}
     */
    get: async (path, options) => jsonOf(await ask("GET", path, undefined, options), options?.signal),
    post: withJson("POST"),
    patch: withJson("PATCH"),
    delete: withJson("DELETE"),
    /**
     * Send a form with files.
     * @param {string} path
     * @param {FormData} form
     * @param {PostOptions} [options]
     * @returns {Promise<any>}
     */
    upload: async (path, form, options) => jsonOf(await ask("POST", path, form, options), options?.signal),
    /**
     * Get something that is no JSON, as it is.
     * @param {string} path
     * @param {Options} [options]
     */
    text: async (path, options) => textOf(await ask("GET", path, undefined, options), options?.signal),
    /**
     * Open a stream: the answer, whatever its status.
     * @param {string} path
     * @param {Options & {method?: string, body?: BodyInit}} [options]
     */
    stream: (path, { headers = {}, signal, method = "GET", body } = {}) =>
      send(path, { method, body, signal, headers: { Accept: "text/event-stream", ...headers } }),
    /**
     * Take a key for as long as this tab is open; null forgets it.
     * @param {string|null} next
     */
    setKey(next) {
      key = next;
      try {
        if (next === null) storage.removeItem(KEY);
        else storage.setItem(KEY, next);
      } catch {
        // A storage that is full or forbidden: the key lives as long as the page.
      }
      if (next !== null) for (const listener of [...given]) listener();
    },
    hasKey: () => key !== null,
    /**
     * Be told when the service wants a key, or another one; gives the function that ends it.
     * @param {() => void} listener
     */
    onUnauthorized: (listener) => heard(refused, listener),
    /**
     * Be told when somebody has given a key: what was refused before may work now; gives the function that ends it.
     * @param {() => void} listener
     */
    onKey: (listener) => heard(given, listener),
  };
}

/** @param {Set<() => void>} listeners @param {() => void} listener @returns {() => void} ends it */
function heard(listeners, listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Read a refusal.
 * @param {Response} answer
 * @returns {Promise<Problem>}
 */
export async function problemOf(answer) {
  const told = { status: answer.status, code: `http_${answer.status}`, title: answer.statusText, detail: "" };
  const retryAfterS = secondsOf(answer.headers.get("Retry-After"));
  try {
    const { status, code, title, detail, ...extensions } = await answer.json();
    if (typeof code === "string") return new Problem({ status, code, title, detail, retryAfterS }, extensions);
  } catch {
    // Not the service's own words: what stands between us and it has answered.
  }
  return new Problem({ ...told, detail: `The answer was ${answer.status} ${answer.statusText}`.trim(), retryAfterS });
}

/** @param {Response} answer @param {AbortSignal} [signal] of its request */
async function textOf(answer, signal) {
  try {
    return await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable(error);
  }
}

/** @param {Response} answer @param {AbortSignal} [signal] of its request */
async function jsonOf(answer, signal) {
  if (answer.status === 204) return null;
  const text = await textOf(answer, signal);
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    const detail = "The answer is no JSON: it does not come from the service.";
    throw new Problem({ status: answer.status, code: "no_json", title: "Unreadable answer", detail });
  }
}

function unreachable(/** @type {unknown} */ error) {
  const detail = `The service can't be reached: ${error instanceof Error ? error.message : error}`;
  return new Problem({ status: 0, code: "unreachable", title: "Unreachable", detail });
}

function secondsOf(/** @type {string|null} */ text) {
  return text !== null && /^[0-9]+$/.test(text) ? Number(text) : null;
}

/** The key must not go to anybody else, and the page may be served under a prefix. */
function checked(/** @type {string} */ path) {
  if (/^[/\\]|^[a-z][a-z0-9+.-]*:/i.test(path)) throw new TypeError(`a path of the service is relative: ${path}`);
  // The browser would go up by them: an id out of the page's address must not lead to another place of the service.
  if (/(^|\/)(\.|%2e){1,2}(\/|\?|$)/i.test(path)) {
    throw new Problem({ status: 404, code: "not_found", title: "Not found", detail: "Nothing has this address." });
  }
  return path;
}

/** The browser's store of this tab; where it is refused, the key lives as long as the page. @returns {KeyStore} */
function sessionStore() {
  try {
    return globalThis.sessionStorage;
  } catch {
    /** @type {Map<string, string>} */
    const kept = new Map();
    return {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => void kept.set(name, value),
      removeItem: (name) => void kept.delete(name),
    };
  }
}
